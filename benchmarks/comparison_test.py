"""Tests of Comparison and its text: medians, spread, ratios, goals."""

import unittest

from benchmarks import comparison
from benchmarks import comparison_text
from benchmarks import one_run
from benchmarks import workloads
from tools import xml_unittest

_NAME = 'group/work'


def _run(others=0.0, **metrics):
  """metrics: name=(value, unit)."""
  return one_run.Run(
      {'results': {name: {'median': value, 'unit': unit}
                   for name, (value, unit) in metrics.items()}},
      '', 1.0, others)


class ComparisonTest(unittest.TestCase):

  def setUp(self):
    self.result = comparison.Comparison()

  def add(self, side, unit, *values, workload=_NAME, metric='x'):
    """Adds one run for each round; None is a run that failed."""
    for number, value in enumerate(values, 1):
      run = (one_run.Run(None, 'broken', 1.0, 0.0) if value is None else
             _run(**{metric: (value, unit)}))
      self.result.add(workload, side, number, run)

  def test_figure_is_median_and_spread_of_runs(self):
    self.add('weft', 'us', 5, 90, 7)
    self.assertEqual(self.result.figure(_NAME, 'weft', 'x'), (7, 5, 90))
    self.assertIsNone(self.result.figure(_NAME, 'tensorflow', 'x'))

  def test_less_time_and_higher_rates_are_better(self):
    self.result.add(_NAME, 'weft', 1, _run(x=(10, 'us'), rate=(30, 'GB/s')))
    self.result.add(_NAME, 'tensorflow', 1,
                    _run(x=(40, 'us'), rate=(10, 'GB/s')))
    self.assertEqual(self.result.times_better(_NAME, 'x').median, 4)
    self.assertEqual(self.result.times_better(_NAME, 'rate').median, 3)

  def test_other_units_are_not_compared(self):
    self.add('weft', 'count', 3)
    self.add('tensorflow', 'count', 6)
    self.assertIsNone(self.result.times_better(_NAME, 'x'))

  def test_ratios_are_taken_within_rounds(self):
    # The machine was ten times slower in the second round.
    self.add('weft', 'us', 10, 100, 10)
    self.add('tensorflow', 'us', 20, 300, 40)
    self.assertEqual(self.result.times_better(_NAME, 'x'), (3, 2, 4))

  def test_within_goal_bounds_difference_of_means(self):
    goal = workloads.Goal(_NAME, 'x', workloads.WITHIN, 0.005, '',
                          workloads.TF)
    self.assertIsNone(self.result.met(goal))
    self.add('tensorflow', 'fraction', 0.90, 0.92)
    self.add('weft', 'fraction', 0.914, 0.914)
    self.assertAlmostEqual(self.result.reached(goal).median, 0.004)
    self.assertTrue(self.result.met(goal))
    for far in (0.88, 0.94):
      self.add('weft', 'fraction', 0.914, far)
      self.assertFalse(self.result.met(goal), far)

  def test_round_without_one_side_has_no_ratio(self):
    self.add('weft', 'us', 10, None, 10)
    self.add('tensorflow', 'us', None, 300, 40)
    self.assertEqual(self.result.times_better(_NAME, 'x'), (4, 4, 4))
    self.assertEqual(self.result.failures,
                     [(_NAME, 'weft', 2, 'broken'),
                      (_NAME, 'tensorflow', 1, 'broken')])

  def test_times_are_converted_to_tensorflows_unit(self):
    self.add('weft', 'us', 500)
    self.add('tensorflow', 'ms', 2)
    self.assertEqual(self.result.unit(_NAME, 'x'), 'ms')
    self.assertEqual(self.result.figure(_NAME, 'weft', 'x').median, 0.5)
    self.assertEqual(self.result.times_better(_NAME, 'x').median, 4)

  def test_incompatible_units_are_not_compared(self):
    self.add('weft', 'us', 500)
    self.add('tensorflow', 'GB/s', 2)
    self.assertIsNone(self.result.figure(_NAME, 'weft', 'x'))
    self.assertIsNone(self.result.times_better(_NAME, 'x'))

  def test_metrics_of_both_sides_are_in_wefts_order(self):
    self.result.add(_NAME, 'weft', 1, _run(b=(1, 's'), a=(1, 's')))
    self.result.add(_NAME, 'tensorflow', 1, _run(c=(1, 's'), a=(1, 's')))
    self.assertEqual(self.result.metrics(_NAME), ['b', 'a', 'c'])

  def goal(self, relation, bound, to=None):
    return workloads.Goal(_NAME, 'x', relation, bound, 'us', to)

  def test_goals_of_weft_alone(self):
    self.add('weft', 'us', 10, 20, 30)
    at_most, at_least = workloads.AT_MOST, workloads.AT_LEAST
    self.assertTrue(self.result.met(self.goal(at_most, 20)))
    self.assertFalse(self.result.met(self.goal(at_most, 19)))
    self.assertTrue(self.result.met(self.goal(at_least, 20)))
    self.assertFalse(self.result.met(self.goal(at_least, 21)))

  def test_goals_relative_to_tensorflow(self):
    self.add('weft', 'us', 10)
    goal = self.goal(workloads.AT_LEAST, 5, workloads.TF)
    self.assertIsNone(self.result.met(goal), 'there is no run of TensorFlow')
    self.add('tensorflow', 'us', 50)
    self.assertTrue(self.result.met(goal))

  def test_goals_relative_to_limit_use_rounds(self):
    self.add('weft', 'us', 125, 3000)
    self.add('weft', 'ms', 0.25, 1.0, workload='limit', metric='bare')
    goal = self.goal(workloads.AT_MOST, 1.5, ('limit', 'bare'))
    self.assertEqual(self.result.reached(goal), (1.75, 0.5, 3))
    self.assertFalse(self.result.met(goal))

  def test_limit_of_other_unit_is_not_judged(self):
    self.add('weft', 'us', 30)
    self.add('weft', 'GB/s', 2, workload='limit', metric='bare')
    goal = self.goal(workloads.AT_MOST, 1.5, ('limit', 'bare'))
    self.assertIsNone(self.result.met(goal))

  def test_table_has_figures_ratios_and_load(self):
    self.result.add(_NAME, 'weft', 1, _run(x=(1234.5, 'us')))
    self.result.add(_NAME, 'weft', 2, _run(x=(1000, 'us')))
    self.result.add(_NAME, 'tensorflow', 1, _run(x=(2469, 'us')))
    self.result.add(_NAME, 'tensorflow', 2, _run(0.75, x=(2000, 'us')))
    goals = [self.goal(workloads.AT_LEAST, 5, workloads.TF),
             self.goal(workloads.AT_MOST, 2000),
             self.goal(workloads.AT_MOST, 1, ('limit', 'bare'))]
    lines = comparison_text.markdown(self.result, [_NAME], goals)
    self.assertIn(
        '| work | x | 2,234 us (2,000 to 2,469) '
        '| 1,117 us (1,000 to 1,234) | 2 × |', lines)
    self.assertIn('Processors that others used meanwhile, at most: work 0.75.',
                  lines)
    self.assertIn('| work | x | 2 × TensorFlow | ≥ 5 × TensorFlow | missed |',
                  lines)
    self.assertIn('| work | x | 1,117 us (1,000 to 1,234) | ≤ 2,000 us | met |',
                  lines)
    self.assertIn('| work | x |  | ≤ 1 × bare | not measured |', lines)

  def test_json_has_figures_and_runs(self):
    self.add('weft', 'us', 10, None)
    self.add('tensorflow', 'us', 20, 30)
    goals = [self.goal(workloads.AT_LEAST, 2, workloads.TF)]
    out = comparison_text.as_json(self.result, [_NAME], goals)
    metric = out['workloads'][_NAME]['metrics']['x']
    self.assertEqual(metric['tensorflow'], {'median': 25, 'low': 20,
                                            'high': 30})
    self.assertEqual(metric['times_better']['median'], 2)
    self.assertEqual(list(out['workloads'][_NAME]['runs']['tensorflow']),
                     [1, 2])
    self.assertTrue(out['goals'][0]['met'])
    self.assertEqual(out['failures'], [{
        'workload': _NAME, 'side': 'weft', 'round': 2, 'error': 'broken'}])

  def test_goals_name_existing_workloads(self):
    names = {w.name for w in workloads.WORKLOADS}
    self.assertEqual(len(names), len(workloads.WORKLOADS))
    for goal in workloads.GOALS:
      self.assertIn(goal.workload, names)
      if goal.to not in (None, workloads.TF):
        self.assertIn(goal.to[0], names)


if __name__ == '__main__':
  xml_unittest.main()
