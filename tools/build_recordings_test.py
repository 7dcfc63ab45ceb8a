"""Tests the model that derives recordings of builds from a recorded one."""

import contextlib
import gzip
import io
import json
import os
import tempfile
import unittest

from tools import build_recordings
from tools import build_weights
from tools import xml_unittest


class BuildRecordingsTest(unittest.TestCase):

  def test_three_jobs_share_two_processors(self):
    ends = build_recordings.run([2, 2, 2, 2])
    self.assertEqual([round(end - ends[0], 3) for end in ends], [0, 0, 0, 2])
    self.assertAlmostEqual(ends[0] - build_recordings.run([0.5])[0], 2.5)

  def test_first_half_is_cached_after_an_interrupt(self):
    work = build_recordings.resumed([5, 6, 7, 8], [(0, 1), (1, 9), (2, 2), (3, 9)])
    self.assertEqual([seconds < 1 for seconds in work],
                     [True, True, True, False])

  def test_totals_are_those_of_the_recording(self):
    rows = build_recordings.recording([6, 7, 12], [(5, 1, 9), (10, 3, 20)])
    self.assertEqual(rows, [(5, 0, 9), (10, 2, 20), (12, 3, 20)])

  def test_lines_become_rarer(self):
    times = list(build_recordings.times(1000))
    self.assertEqual(times[:3], [5, 10, 15])
    self.assertLess(len(times), 40)

  def test_slow_machine_needs_longer(self):
    self.assertEqual(
        [(round(end, 1), output) for end, output in build_recordings.run_named(
            [(2, 'a'), (3, 'b')], lambda now: 2 if now < 5 else 1)],
        [(7.5, 'a'), (8.5, 'b')])


class CommandTest(unittest.TestCase):

  def setUp(self):
    super().setUp()
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = folder.name
    self.profile = self.path('profile.gz')
    with gzip.open(self.profile, 'wt') as file:
      json.dump({'traceEvents': [
          {'cat': 'action processing', 'name': 'Compiling a.cc', 'ts': 4e6,
           'dur': 1e6, 'tid': 1, 'out': 'a.o'},
          {'cat': 'other', 'name': 'x', 'ts': 4e6, 'dur': 9e9, 'tid': 1},
          {'cat': 'general information', 'name': 'subprocess.run', 'ts': 5e6,
           'dur': 2.5e6, 'tid': 2},
          {'cat': 'action processing', 'name': 'Linking b', 'ts': 4e6,
           'dur': 6e6, 'tid': 2, 'out': 'b'}]}, file)

  def path(self, name):
    return os.path.join(self.folder, name)

  def run_command(self, *arguments):
    self.assertEqual(build_recordings.main(list(arguments)), 0)

  def test_resumed_build_is_written(self):
    build_recordings.write(self.path('x_quiet.txt'), [(5, 1, 2), (10, 2, 2)])
    self.run_command('resumed', self.path('x_quiet.txt'), self.profile,
                     self.folder)
    rows = build_recordings.read_recording(self.path('x_resumed.txt'))
    self.assertEqual(rows[-1][1:], (2, 2))

  def test_actions_are_written(self):
    self.run_command('actions', 'x', self.profile, self.folder)
    with gzip.open(self.path('x_actions.tsv.gz'), 'rt') as file:
      self.assertEqual(file.read(), '4.0\t1.0\ta.o\n4.0\t6.0\tb\n')

  def test_weights_of_one_build_are_replaced(self):
    path = self.path('weights.tsv.gz')
    build_recordings.write_rows(path, [('x', 1, 'old'), ('y', 1, 'other')])
    for _ in range(2):
      self.run_command('weights', 'x', self.profile, path)
      self.assertEqual(build_weights.read_rows(path),
                       [('x', 2.5, 'b'), ('y', 1.0, 'other')])

  def test_wrong_arguments_are_refused(self):
    with contextlib.redirect_stderr(io.StringIO()) as shown:
      self.assertEqual(build_recordings.main(['resumed', 'x']), 2)
    self.assertIn('usage: ', shown.getvalue())


if __name__ == '__main__':
  xml_unittest.main()
