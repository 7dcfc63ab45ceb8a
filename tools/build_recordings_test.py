"""The model that derives recordings of builds from a recorded one."""

import gzip
import json
import os
import tempfile
import unittest

from tools import build_recordings
from tools import xml_unittest


class BuildRecordingsTest(unittest.TestCase):

  def test_three_jobs_share_two_processors(self):
    ends = build_recordings.run([2, 2, 2, 2])
    self.assertEqual([round(end - ends[0], 3) for end in ends], [0, 0, 0, 2])
    self.assertAlmostEqual(ends[0] - build_recordings.run([0.5])[0], 2.5)

  def test_interrupted_build_has_its_first_half_cached(self):
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

  def test_recordings_are_written(self):
    with tempfile.TemporaryDirectory() as folder:
      source = os.path.join(folder, 'x_quiet.txt')
      profile = os.path.join(folder, 'profile.gz')
      build_recordings.write(source, [(5, 1, 2), (10, 2, 2)])
      with gzip.open(profile, 'wt') as file:
        json.dump({'traceEvents': [
            {'cat': 'action processing', 'ts': 4e6, 'dur': 1e6},
            {'cat': 'other', 'ts': 4e6, 'dur': 9e9},
            {'cat': 'action processing', 'ts': 4e6, 'dur': 6e6}]}, file)
      self.assertEqual(build_recordings.main([source, profile, folder]), 0)
      rows = build_recordings.read_recording(f'{folder}/x_resumed.txt')
      self.assertEqual(rows[-1][1:], (2, 2))


if __name__ == '__main__':
  xml_unittest.main()
