"""Tests the weights of actions and the estimate based on them."""

import gzip
import os
import tempfile
import unittest

from tools import xml_unittest
from tools.build_weights import WeightedEstimate, Weights


def estimate(seconds, cpus=2):
  return WeightedEstimate(Weights(seconds), cpus)


class WeightsTest(unittest.TestCase):

  def read(self, data, build='x'):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'weights.tsv.gz')
      with open(path, 'wb') as file:
        file.write(data)
      return Weights.read(path, build)

  def test_builds_are_separate(self):
    data = gzip.compress(b'x\t2.5\ta.o\ny\t7\tb.o\n')
    self.assertEqual(self.read(data).seconds, {'a.o': 2.5})
    self.assertIsNone(self.read(data, 'z'))

  def test_damaged_files_have_no_weights(self):
    for data in (b'', b'x\t2.5\ta.o\n', gzip.compress(b'x\ta.o\n'),
                 gzip.compress(b'x\tmuch\ta.o\n'),
                 gzip.compress(b'x\t2\ta.o\n')[:-9]):
      self.assertIsNone(self.read(data))
    self.assertIsNone(Weights.read('/no/such/file', 'x'))

  def test_new_actions_have_the_mean_of_their_kind(self):
    weights = Weights({'a.o': 2.0, 'b.o': 4.0, 'c.log': 9.0, 'program': 5.0})
    self.assertEqual(weights.of_new('d.o'), 3.0)
    self.assertLess(weights.of_new('d.runfiles/MANIFEST'), 0.1)
    self.assertLess(weights.of_new('d.params'), 0.1)


class WeightedEstimateTest(unittest.TestCase):

  def test_estimate_needs_a_finished_action(self):
    build = estimate({'a.o': 2.0})
    build.finish('other.params', 10.0)
    self.assertFalse(build.is_known)
    build.finish('a.o', 12.0)
    self.assertTrue(build.is_known)

  def finish(self, build, count, seconds):
    """Finishes `count` actions, one every `seconds` s; returns the time."""
    for number in range(count):
      build.finish(f'{number}.o', 1000.0 + number * seconds)
    return 1000.0 + (count - 1) * seconds

  def test_rest_has_the_measured_pace(self):
    build = estimate({f'{number}.o': 2.0 for number in range(1000)})
    now = self.finish(build, 500, 2.0)
    self.assertAlmostEqual(build.left(now), 1000, delta=20)
    self.assertAlmostEqual(build.left(now + 50), build.left(now) - 50)

  def test_costs_count_rather_than_numbers(self):
    build = estimate({**{f'{number}.o': 1.0 for number in range(500)},
                      'large.o': 500.0})
    now = self.finish(build, 499, 1.0)
    self.assertGreater(build.left(now), 200)

  def test_present_outputs_need_not_be_made(self):
    build = estimate({f'{number}.o': 1.0 for number in range(1000)})
    build.find_present(lambda output: int(output.partition('.')[0]) >= 600)
    now = self.finish(build, 300, 1.0)
    self.assertAlmostEqual(build.left(now), 300, delta=15)

  def test_repeated_present_outputs_count(self):
    build = estimate({f'{number}.o': 1.0 for number in range(1000)})
    build.find_present(lambda output: True)
    now = self.finish(build, 500, 1.0)
    build.count(500)
    self.assertAlmostEqual(build.left(now), 500, delta=20)

  def test_instruction_sets_have_the_same_weight(self):
    build = estimate({'x_isa_v4/x_isa.o': 8.0, 'a.o': 1.0})
    build.finish('x_isa_v3/x_isa.o', 1000.0)
    self.assertTrue(build.is_known)
    self.assertLess(build.left(1000.0), 1.0)

  def test_programs_are_not_taken_for_cached(self):
    build = estimate({**{f'{number}.o': 1.0 for number in range(500)},
                      'program': 280.0})
    now = self.finish(build, 500, 0.01)
    self.assertGreater(build.left(now), 90)


if __name__ == '__main__':
  xml_unittest.main()
