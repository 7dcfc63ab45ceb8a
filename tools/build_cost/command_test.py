"""Tests of the command measure_build."""

import contextlib
import io
import os
import tempfile
import unittest

from tools import xml_unittest
from tools.build_cost import action_record
from tools.build_cost import command
from tools.build_cost import commit_run
from tools.build_cost import figures
from tools.build_cost.action_record import Action


class ParseTest(unittest.TestCase):

  def test_both_scripts_by_default(self):
    options = command.parse([])
    self.assertEqual((options.what, options.no_incremental, options.commits),
                     ('both', False, []))

  def test_wrong_options_are_refused(self):
    for arguments in (['a', 'b', 'c'], ['--what=docs'], ['--profiles=x'],
                      ['--since=a', 'b', 'c'], ['--since=a', '--record'],
                      ['--rounds=2']):
      with self.assertRaises(SystemExit), contextlib.redirect_stderr(
          io.StringIO()):
        command.parse(arguments)


class FakeGit:

  def short(self, commit):
    return {'HEAD': '1234abcd', 'old': 'd40eca7c'}.get(commit, commit)


def script_figures(script, seconds):
  return figures.ScriptFigures(script, seconds, 2 * seconds, 1, 5, 5, 1e6, 1e6,
                               1e6, 10, '9 passed, 0 failed')


def actions(count):
  return [Action('test', 'CppCompile', f'out/{number}', 2.0, 'same')
          for number in range(count)]


class CommandTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.top = folder.name
    self.records = os.path.join(self.top, 'benchmarks', 'build')
    os.makedirs(self.records)
    self.lines, self.measured = [], []

  def measure(self, commit, options):
    del options
    self.measured.append(commit)
    change = figures.ChangeFigures('test', 'a_test.cc', 5.0, 6.0)
    return commit_run.CommitResult(
        commit, [script_figures('test', 100 * len(self.measured))], [change],
        actions(22))

  def run_command(self, *arguments):
    return command.Command(
        self.top, FakeGit(), self.measure, self.lines.append).run(
            command.parse(arguments))

  def write_figures(self, *rows):
    path = os.path.join(self.top, 'benchmarks', 'build.md')
    with open(path, 'w', encoding='utf-8') as file:
      file.write('\n'.join(figures.script_table(rows)))

  def test_head_is_measured_by_default(self):
    self.assertEqual(self.run_command(), 0)
    self.assertEqual(self.measured, ['1234abcd'])
    self.assertEqual(self.lines[0], '1234abcd, test: 9 passed, 0 failed')
    self.assertIn('| 1234abcd | test | `a_test.cc` | 5.0 | 6.0 |', self.lines)

  def test_two_commits_are_compared(self):
    self.run_command('old', 'HEAD')
    self.assertEqual(self.measured, ['d40eca7c', '1234abcd'])
    self.assertIn('test, second / first: wall 2.000, processor 2.000, '
                  'disk 1.000, lines 1.000', self.lines)
    self.assertIn('one test changed, second / first: wall 1.000, '
                  'processor 1.000', self.lines)

  def test_record_is_written(self):
    self.run_command('--record')
    self.assertCountEqual(action_record.read(self.records, '1234abcd'),
                          actions(22))

  def test_since_prints_cost_and_limit(self):
    self.write_figures(('d40eca7c', script_figures('test', 1000)),
                       ('abc', script_figures('test', 700)))
    action_record.write(self.records, 'abc', actions(20))
    self.assertEqual(self.run_command('--since=abc'), 0)
    self.assertEqual(self.measured, ['1234abcd'])
    self.assertIn('  sum: +4.0 s, +10.00% of the recorded 40 s', self.lines)
    self.assertIn('1540 processor s expected, within', self.lines[-1])

  def test_since_exits_with_1_above_the_limit(self):
    self.write_figures(('d40eca7c', script_figures('test', 1000)),
                       ('abc', script_figures('test', 800)))
    action_record.write(self.records, 'abc', actions(20))
    self.assertEqual(self.run_command('--since=abc'), 1)

  def test_since_reads_profiles_that_were_kept(self):
    self.write_figures(('d40eca7c', script_figures('test', 1000)),
                       ('abc', script_figures('test', 700)))
    action_record.write(self.records, 'abc', actions(20))
    kept = os.path.join(self.top, 'kept')
    action_record.write(os.path.join(kept, 'later'), 'later', actions(21))
    self.run_command('--since=abc', f'--profiles={kept}', 'later')
    self.assertEqual(self.measured, [])
    self.assertIn('  sum: +2.0 s, +5.00% of the recorded 40 s', self.lines)

  def test_since_needs_a_record(self):
    with self.assertRaisesRegex(action_record.BadRecord, 'no record of abc'):
      self.run_command('--since=abc')
    self.assertEqual(self.measured, [])


class MainTest(unittest.TestCase):

  def test_error_is_printed(self):
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
      self.assertEqual(command.main(['--sum-profile=/no/such/file']), 2)
    self.assertIn('measure_build: /no/such/file', errors.getvalue())


class KeepTest(unittest.TestCase):

  def test_logs_of_each_script_are_kept(self):
    with tempfile.TemporaryDirectory() as folder:
      logs = os.path.join(folder, 'test', 'logs')
      os.makedirs(logs)
      with open(os.path.join(logs, 'output.txt'), 'w', encoding='utf-8'):
        pass
      kept = os.path.join(folder, 'kept')
      command.keep_logs(folder, kept)
      self.assertEqual(os.listdir(kept), ['test'])
      self.assertEqual(os.listdir(os.path.join(kept, 'test')), ['output.txt'])


if __name__ == '__main__':
  xml_unittest.main()
