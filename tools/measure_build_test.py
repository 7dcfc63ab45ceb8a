"""In which order commits are built, and what is made of the times."""

import contextlib
import io
import os
import subprocess
import tempfile
import unittest

from tools import measure_build
from tools import xml_unittest
from tools.measure_build import Cost


class MeasureTest(unittest.TestCase):

  def test_builds_alternate_and_none_is_always_the_first(self):
    built, said = [], []

    def build(checkout):
      built.append(checkout)
      return Cost(len(built), 10 * len(built))

    costs = measure_build.measure(['a', 'b'], 3, build, said.append)
    self.assertEqual(''.join(built), 'abbaab')
    self.assertEqual([[c.seconds for c in of_one] for of_one in costs],
                     [[1, 4, 5], [2, 3, 6]])
    self.assertEqual(said[1], 'round 1, second: 2 s, 20 processor s')

  def test_the_ratio_is_of_medians_second_to_first(self):
    lines = list(measure_build.report(
        ['old', 'new'],
        [[Cost(100, 180), Cost(900, 200), Cost(110, 190)],
         [Cost(50, 38), Cost(55, 76), Cost(56, 100)]]))
    self.assertEqual(lines, [
        'old: 110 s, 190 processor s', 'new: 55 s, 76 processor s',
        'ratio: 0.500 of the time, 0.400 of the processor time'])

  def test_a_build_that_fails_has_no_time(self):
    def build(_):
      raise measure_build.Failed('bazel ended with 1')

    with self.assertRaisesRegex(measure_build.Failed, 'ended with 1'):
      measure_build.measure(['a', 'b'], 1, build, lambda _: None)


class ParseTest(unittest.TestCase):

  def test_what_can_not_be_measured_is_refused(self):
    for arguments in (['a'], ['--rounds=0', 'a', 'b'],
                      ['--what=docs', 'a', 'b']):
      with self.assertRaises(SystemExit), contextlib.redirect_stderr(
          io.StringIO()):
        measure_build.main(arguments)


class WorktreeTest(unittest.TestCase):

  def git(self, *arguments):
    subprocess.run(
        ['git', '-c', 'user.name=a', '-c', 'user.email=a@b', *arguments],
        cwd=self.top, check=True, stdout=subprocess.DEVNULL)

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.top = folder.name
    self.git('init', '--quiet')
    for text in ('old', 'new'):
      with open(os.path.join(self.top, 'file'), 'w', encoding='utf-8') as file:
        file.write(text)
      self.git('add', 'file')
      self.git('commit', '--quiet', '-m', text)

  def test_it_holds_the_commit_and_goes_again(self):
    with self.assertRaises(KeyError):
      with measure_build.worktree(self.top, 'HEAD~1') as path:
        with open(os.path.join(path, 'file'), encoding='utf-8') as file:
          self.assertEqual(file.read(), 'old')
        raise KeyError  # as Ctrl-C would
    self.assertFalse(os.path.exists(path))
    listed = subprocess.run(['git', 'worktree', 'list'], cwd=self.top,
                            check=True, text=True, stdout=subprocess.PIPE)
    self.assertEqual(len(listed.stdout.splitlines()), 1)


class ProcessorSecondsTest(unittest.TestCase):

  def test_children_that_ended_count(self):
    before = measure_build._processor_seconds(os.getpid())
    subprocess.run(['python3', '-c', 'sum(range(5_000_000))'], check=True)
    self.assertGreater(measure_build._processor_seconds(os.getpid()), before)


if __name__ == '__main__':
  xml_unittest.main()
