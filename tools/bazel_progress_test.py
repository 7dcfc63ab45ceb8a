"""What bazel_progress.py shows of a build, from the lines that Bazel writes."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from tools import bazel_progress
from tools import xml_unittest
from tools.build_estimate import Profiles


class ManualClock:

  def __init__(self):
    self.now = 1000.0

  def __call__(self):
    return self.now


class ProgressTest(unittest.TestCase):

  def test_line_of_progress_is_parsed(self):
    progress = bazel_progress.Progress.parse(
        '[1,234 / 2,345] Compiling libs/graph/graph.cc; 5s linux-sandbox ... '
        '(2 actions, 1 running)')
    self.assertEqual((progress.done, progress.total, progress.now),
                     (1234, 2345, 'Compiling libs/graph/graph.cc'))

  def test_other_lines_are_not_progress(self):
    for line in ('INFO: Build completed successfully, 3 total actions', '',
                 '[12] x', 'FAIL: //libs/graph:graph_test'):
      self.assertIsNone(bazel_progress.Progress.parse(line))

  def test_executed_actions_exclude_cache_hits(self):
    for line, count in (
        ('INFO: 610 processes: 26 internal, 584 local.', 610),
        ('INFO: 1,610 processes: 600 remote cache hit, 1,010 local.', 1010),
        ('INFO: 1 process: 1 internal.', 1),
        ('INFO: Found 8 targets...', None)):
      self.assertEqual(bazel_progress.executed(line), count)

  def test_durations_are_rounded_by_less_than_a_fifth(self):
    for seconds, text in ((0, 'about 10 s'), (44, 'about 40 s'),
                          (89, 'about 90 s'), (100, 'about 1.5 min'),
                          (290, 'about 5 min'), (3600, 'about 60 min')):
      self.assertEqual(bazel_progress.duration(seconds), text)


class BuildTestCase(unittest.TestCase):

  def setUp(self):
    super().setUp()
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.path = os.path.join(folder.name, 'new', 'times.json')
    self.shipped = os.path.join(folder.name, 'shipped.json')
    self.clock = ManualClock()
    self.out = io.StringIO()

  def build(self, width=200, cpus=2, name='quickstart', **files):
    self.out.truncate(0)
    self.out.seek(0)
    return bazel_progress.Build(
        name, Profiles(self.path, self.shipped),
        bazel_progress.Line(self.out, width, self.clock), self.clock, cpus,
        **files)

  @property
  def shown(self):
    return self.out.getvalue().rpartition('\r\x1b[K')[2]

  def run_whole(self, actions, seconds, code=0, hits=0):
    build = self.build()
    for share in (0.25, 0.5, 0.75, 1):
      self.clock.now += seconds / 4
      build.read(f'[{round(actions * share)} / {actions}] Compiling a.cc')
    build.read(f'INFO: {actions} processes: {hits} remote cache hit, 9 local.')
    build.end(code)


class EstimateTest(BuildTestCase):

  def show_after(self, seconds, line, **options):
    build = self.build(**options)
    self.clock.now += seconds
    build.read(line)
    return self.shown

  def test_unknown_build_goes_by_the_number_of_processors(self):
    line = '[12 / 300] Compiling a.cc; 1s\n'
    self.assertEqual(self.show_after(10, line),
                     '12 of 300 actions, 0:10 elapsed, about 4 min left  '
                     'Compiling a.cc')
    self.assertIn('about 80 s left', self.show_after(10, line, cpus=8))

  def test_first_seconds_have_no_estimate(self):
    self.assertEqual(self.show_after(1, '[0 / 3] x'),
                     '0 of 3 actions, 0:01 elapsed  x')

  def test_later_builds_go_by_the_last_one(self):
    self.run_whole(actions=400, seconds=800)
    self.assertIn('about 13 min left', self.show_after(10, '[5 / 400] x'))

  def test_partial_build_does_not_go_by_the_whole_one(self):
    self.run_whole(actions=400, seconds=800)
    self.assertIn('about 2.5 min left', self.show_after(10, '[5 / 80] x'))

  def test_actions_that_will_be_discovered_count(self):
    with open(self.shipped, 'w', encoding='utf-8') as file:
      json.dump({'quickstart': {'cpus': 2, 'samples': [
          [0, 0, 1], [100, 50, 200], [800, 400, 400]]}}, file)
    shown = self.show_after(100, '[50 / 200] x')
    self.assertIn('50 of about 400 actions', shown)
    self.assertIn('about 12 min left', shown)

  def test_failed_short_small_and_cached_builds_are_not_kept(self):
    self.run_whole(actions=400, seconds=400, code=1)
    self.run_whole(actions=50, seconds=400)
    self.run_whole(actions=400, seconds=20)
    self.run_whole(actions=400, seconds=400, hits=200)
    self.assertFalse(os.path.exists(self.path))

  def test_partial_build_does_not_replace_a_whole_one(self):
    self.run_whole(actions=400, seconds=400)
    self.run_whole(actions=150, seconds=400)
    self.assertEqual(Profiles(self.path, '').get('quickstart').actions, 400)

  def test_damaged_file_is_ignored(self):
    os.makedirs(os.path.dirname(self.path))
    for text in ('', '[]', '{"quickstart": 0.9}', '{"quickstart": {}}',
                 '{"quickstart": {"cpus": 2, "samples": [[0, 0, 1]]}}',
                 '{"quickstart": {"cpus": 2, "samples": [[0,5,1],[9,1,1]]}}'):
      with open(self.path, 'w', encoding='utf-8') as file:
        file.write(text)
      self.assertIn('about 4 min left', self.show_after(10, '[12 / 300] x'))


class ReplayTest(BuildTestCase):
  """Replays recorded builds: testdata/builds/README.md says which."""

  _UNITS = {'s': 1, 'min': 60}

  def setUp(self):
    super().setUp()
    self.folder = os.path.dirname(os.path.abspath(bazel_progress.__file__))
    self.shipped = os.path.join(self.folder, 'build_profiles.json')

  def shown_left(self):
    found = re.search(r'about ([\d.]+) (s|min) left', self.shown)
    self.assertTrue(found, self.shown)
    return float(found[1]) * self._UNITS[found[2]]

  def replay(self, name, before='', share=0.3):
    """Checks the estimates from the second minute on."""
    self.assertLessEqual(max(self.errors(name, before)), share)

  def errors(self, name, before=''):
    """Returns the error of each second's estimate, as a share of what is left.

    The last minute counts as one of 67 s: 20 s are always good enough.
    """
    path = os.path.join(self.folder, 'testdata', 'builds', name + '.txt')
    with open(path, encoding='utf-8') as file:
      lines = [line.split() for line in file]
    end = float(lines[-1][0])
    build = self.build(name=name.partition('_')[0])
    began = self.clock.now
    build.read(before)
    for second in range(int(end)):
      self.clock.now = began + second
      while float(lines[0][0]) <= second:
        _, done, total = lines.pop(0)
        build.read(f'[{done} / {total}] Compiling a.cc; 1s local')
      build.tick()
      left = end - second
      if second >= 60:
        yield abs(self.shown_left() - left) / max(left, 20 / 0.3)

  def test_quiet_machine(self):
    self.replay('quickstart_quiet')

  def test_busy_machine(self):
    errors = sorted(self.errors('quickstart_busy'))
    # The other work began and ended during the build.
    self.assertLessEqual(errors[len(errors) * 9 // 10], 0.3)
    self.assertLessEqual(errors[-1], 0.45)

  def test_mostly_cached_build(self):
    self.replay('quickstart_resumed')

  def test_tests(self):
    self.replay('test_quiet')

  def test_resumed_build_of_a_running_server(self):
    self.replay('quickstart_resumed', 'INFO: Analyzed 7 targets '
                '(0 packages loaded, 0 targets configured).')

  def finish_here(self):
    """As if the shipped builds had finished on this machine."""
    os.makedirs(os.path.dirname(self.path), exist_ok=True)
    shutil.copy(self.shipped, self.path)

  def test_rebuild_after_a_change(self):
    self.finish_here()
    self.replay('test_rebuild', 'INFO: Analyzed 1470 targets '
                '(0 packages loaded, 0 targets configured).', share=1)

  def test_rebuild_does_not_go_by_the_whole_build(self):
    self.finish_here()
    build = self.build()
    build.read('INFO: Analyzed 7 targets (0 packages loaded, '
               '0 targets configured).')
    self.clock.now += 10
    build.read('[5 / 30] Compiling a.cc')
    self.assertIn('5 of 30 actions', self.shown)


class LineTest(BuildTestCase):

  def test_half_hour_away_from_a_terminal_is_ten_lines(self):
    build = self.build(width=None)
    for _ in range(1800):
      self.clock.now += 1
      build.read('[1 / 300] Compiling a.cc')
    elapsed = re.findall(r'(\d+:\d\d) elapsed', self.out.getvalue())
    self.assertEqual(elapsed[:6], ['0:30', '1:00', '2:00', '4:00', '8:00',
                                   '12:00'])
    self.assertLessEqual(len(elapsed), 10)

  def test_terminal_has_one_line_that_changes(self):
    build = self.build(width=40)
    build.read('[1 / 300] Compiling a_rather_long_name_of_a_file.cc')
    build.read('[2 / 300] Compiling b.cc')
    build.read('WARNING: look')
    build.end(0)
    lines = self.out.getvalue().split('\r\x1b[K')
    self.assertEqual([len(lines[1]), lines[3]], [39, 'WARNING: look\n'])
    self.assertNotIn('\n', lines[1] + lines[2])

  def test_time_advances_without_lines_of_bazel(self):
    build = self.build()
    self.clock.now += 100
    build.read('[100 / 300] Compiling a.cc')
    self.assertIn('1:40 elapsed, about 3.5 min left', self.shown)
    self.clock.now += 60
    build.tick()
    self.assertIn('2:40 elapsed, about 2.5 min left', self.shown)

  def test_colours_of_bazel_do_not_hide_progress(self):
    self.build().read('\x1b[32m[5 / 300]\x1b[0m Compiling a.cc')
    self.assertIn('5 of 300 actions', self.shown)

  def test_log_gets_everything_and_the_terminal_only_progress(self):
    log = io.StringIO()
    build = self.build(log=log)
    build.read('[1 / 300] Compiling a.cc')
    build.read('ERROR: no')
    build.end(1)
    self.assertEqual(log.getvalue(), '[1 / 300] Compiling a.cc\nERROR: no\n')
    self.assertNotIn('ERROR', self.out.getvalue())

  def test_recording_has_a_line_per_line_of_progress(self):
    record = io.StringIO()
    build = self.build(record=record)
    self.clock.now += 5
    build.read('[1 / 300] Compiling a.cc')
    build.read('INFO: else')
    self.assertEqual(record.getvalue(), '5.0 1 300\n')


class ProgramTest(unittest.TestCase):

  def run_program(self, script, *options):
    with tempfile.TemporaryDirectory() as home:
      return subprocess.run(
          [sys.executable, bazel_progress.__file__, *options, 'x', 'sh', '-c',
           script],
          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
          env={**os.environ, 'HOME': home}, check=False, timeout=60)

  def test_streams_and_exit_code_are_those_of_bazel(self):
    ended = self.run_program(
        'echo out; echo "[1 / 2] Compiling a.cc; 1s" >&2; echo why >&2; exit 3')
    self.assertEqual((ended.returncode, ended.stdout, ended.stderr),
                     (3, 'out\n', 'why\n'))

  def test_signal_is_reported_as_a_shell_does(self):
    self.assertEqual(self.run_program('kill -TERM $$').returncode, 143)

  def test_log_is_appended_to(self):
    with tempfile.NamedTemporaryFile('w+', encoding='utf-8') as log:
      for _ in range(2):
        ended = self.run_program('echo why >&2', f'--log={log.name}')
        self.assertEqual((ended.returncode, ended.stderr), (0, ''))
      self.assertEqual(log.read(), 'why\nwhy\n')


if __name__ == '__main__':
  xml_unittest.main()
