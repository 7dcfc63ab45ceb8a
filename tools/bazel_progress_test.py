"""What a person sees of a long build, from the lines that Bazel writes."""

import io
import os
import subprocess
import sys
import tempfile
import unittest

from tools import bazel_progress
from tools import xml_unittest


class HandClock:

  def __init__(self):
    self.now = 1000.0

  def __call__(self):
    return self.now


class ProgressTest(unittest.TestCase):

  def test_a_line_of_bazel(self):
    progress = bazel_progress.Progress.parse(
        '[1,234 / 2,345] Compiling libs/graph/graph.cc; 5s linux-sandbox ... '
        '(2 actions, 1 running)')
    self.assertEqual((progress.done, progress.total, progress.now),
                     (1234, 2345, 'Compiling libs/graph/graph.cc'))

  def test_other_lines(self):
    for line in ('INFO: Build completed successfully, 3 total actions', '',
                 '[12] x', 'FAIL: //libs/graph:graph_test'):
      self.assertIsNone(bazel_progress.Progress.parse(line))

  def test_durations(self):
    for seconds, text in ((0, 'about 10 s'), (44, 'about 40 s'),
                          (89, 'about 90 s'), (100, 'about 2 min'),
                          (3600, 'about 60 min')):
      self.assertEqual(bazel_progress.duration(seconds), text)


class BuildTest(unittest.TestCase):

  def setUp(self):
    super().setUp()
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.path = os.path.join(folder.name, 'new', 'times.json')
    self.clock = HandClock()
    self.out = io.StringIO()

  def build(self, width=None, cpus=2):
    self.out.truncate(0)
    self.out.seek(0)
    return bazel_progress.Build(
        'quickstart', bazel_progress.Times(self.path),
        bazel_progress.Line(self.out, width, self.clock), self.clock, cpus)

  def run_whole(self, actions, seconds, code=0):
    build = self.build()
    self.clock.now += seconds
    build.read(f'[{actions} / {actions}] done')
    build.end(code)

  def test_the_first_build_goes_by_the_number_of_processors(self):
    self.build().read('[0 / 300] Compiling a.cc; 1s\n')
    self.assertEqual(self.out.getvalue(),
                     '0 of 300 steps, 0:00 gone, about 10 min left  '
                     'Compiling a.cc\n')

  def test_later_ones_by_what_the_last_took(self):
    self.run_whole(actions=400, seconds=400)
    self.build().read('[0 / 300] Compiling a.cc')
    self.assertIn('about 5 min left', self.out.getvalue())

  def test_the_estimate_turns_to_what_is_measured(self):
    build = self.build()
    self.clock.now += 100
    build.read('[200 / 400] Compiling a.cc')  # 0.5 s each where 2 were expected
    self.assertIn('1:40 gone, about 4 min left', self.out.getvalue())

  def test_what_failed_was_short_or_cached_is_not_remembered(self):
    self.run_whole(actions=400, seconds=400, code=1)
    self.run_whole(actions=50, seconds=400)
    self.run_whole(actions=400, seconds=20)
    self.assertFalse(os.path.exists(self.path))

  def test_a_damaged_memory_is_none(self):
    os.makedirs(os.path.dirname(self.path))
    for text in ('', '[]', '{"quickstart": "x"}', '{"quickstart": -1}'):
      with open(self.path, 'w', encoding='utf-8') as file:
        file.write(text)
      self.build().read('[0 / 300] Compiling a.cc')
      self.assertIn('about 10 min left', self.out.getvalue())

  def test_elsewhere_than_on_a_terminal_a_line_each_half_minute(self):
    build = self.build()
    for _ in range(61):
      build.read('[1 / 300] Compiling a.cc')
      self.clock.now += 1
    self.assertEqual(self.out.getvalue().count('\n'), 3)

  def test_a_terminal_has_one_line_that_changes(self):
    build = self.build(width=40)
    build.read('[1 / 300] Compiling a_rather_long_name_of_a_file.cc')
    build.read('[2 / 300] Compiling b.cc')
    build.read('WARNING: look')
    build.end(0)
    lines = self.out.getvalue().split('\r\x1b[K')
    self.assertEqual([len(lines[1]), lines[3]], [39, 'WARNING: look\n'])
    self.assertNotIn('\n', lines[1] + lines[2])

  def test_colours_of_bazel_do_not_hide_progress(self):
    self.build().read('\x1b[32m[5 / 300]\x1b[0m Compiling a.cc')
    self.assertIn('5 of 300 steps', self.out.getvalue())


class ProgramTest(unittest.TestCase):

  def run_program(self, script):
    with tempfile.TemporaryDirectory() as home:
      return subprocess.run(
          [sys.executable, bazel_progress.__file__, 'x', 'sh', '-c', script],
          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
          env={**os.environ, 'HOME': home}, check=False, timeout=60)

  def test_streams_and_exit_code_are_bazels(self):
    ended = self.run_program(
        'echo out; echo "[1 / 2] Compiling a.cc; 1s" >&2; echo why >&2; exit 3')
    self.assertEqual((ended.returncode, ended.stdout), (3, 'out\n'))
    self.assertRegex(ended.stderr, '^1 of 2 steps, .*a.cc\nwhy\n$')

  def test_a_signal_is_told_as_a_shell_does(self):
    self.assertEqual(self.run_program('kill -TERM $$').returncode, 143)


if __name__ == '__main__':
  xml_unittest.main()
