"""Tests comparisons with a record, and tables of figures."""

import unittest

from tools import xml_unittest
from tools.build_cost import cost_since
from tools.build_cost import figures
from tools.build_cost.action_record import Action
from tools.build_cost.figures import ChangeFigures
from tools.build_cost.figures import ScriptFigures


def build(key, seconds, digest='same', script='test'):
  return Action(script, 'CppCompile', key, seconds, digest)


def run(key, seconds, digest='same'):
  return Action('test', 'TestRunner', key, seconds, digest)


def unchanged(make, seconds):
  """Twenty actions."""
  return [make(f'{make.__name__}{number}', seconds) for number in range(20)]


class CompareTest(unittest.TestCase):

  def compare(self, recorded, later):
    return cost_since.compare('test', recorded, later)

  def test_actions_are_classified_by_key_and_digest(self):
    cost = self.compare(
        unchanged(build, 2.0) + [build('c', 1.0, 'old'), build('g', 1.0)],
        unchanged(build, 2.0) + [build('c', 1.0, 'new'), build('n', 1.0),
                                 build('n2', 1.0)]).build
    self.assertEqual((cost.unchanged, cost.changed, cost.new, cost.gone),
                     (20, 1, 2, 1))

  def test_cost_is_new_and_changed_less_recorded(self):
    cost = self.compare(
        unchanged(build, 2.0) + [build('c', 5.0, 'old'), build('g', 3.0)],
        unchanged(build, 2.0) + [build('c', 6.0, 'new'), build('n', 10.0)])
    self.assertAlmostEqual(cost.build.cost, 6 + 10 - 5 - 3)
    self.assertAlmostEqual(cost_since.total(cost), 8)
    self.assertAlmostEqual(cost_since.share(cost), 8 / 48)

  def test_slower_machine_is_scaled_by_unchanged_actions(self):
    cost = self.compare(
        unchanged(build, 2.0), unchanged(build, 4.0) + [build('n', 10.0)])
    self.assertAlmostEqual(cost.build.scale, 0.5)
    self.assertAlmostEqual(cost.build.cost, 5.0)

  def test_each_list_has_its_own_scale(self):
    cost = self.compare(
        unchanged(build, 2.0) + unchanged(run, 3.0),
        unchanged(build, 4.0) + unchanged(run, 3.0) + [
            build('nb', 1.0), run('nt', 1.0)])
    self.assertAlmostEqual(cost.build.cost, 0.5)
    self.assertAlmostEqual(cost.test.cost, 1.0)
    self.assertFalse(cost.test.shared)

  def test_list_without_unchanged_actions_shares_the_scale(self):
    cost = self.compare(
        unchanged(build, 2.0) + [run('t', 3.0, 'old')],
        unchanged(build, 4.0) + [run('t', 8.0, 'new')])
    self.assertTrue(cost.test.shared)
    self.assertAlmostEqual(cost.test.cost, 0.5 * 8 - 3)

  def test_too_few_unchanged_actions_are_an_error(self):
    for same in ([build('a', 100.0)], unchanged(build, 0.1)):
      with self.assertRaisesRegex(cost_since.CannotScale, 'record'):
        self.compare(same, same + [build('n', 1.0)])

  def test_gone_actions_need_no_scale(self):
    cost = self.compare([build('g', 7.0)], [])
    self.assertAlmostEqual(cost_since.total(cost), -7)

  def test_unknown_digest_counts_as_changed(self):
    later = unchanged(build, 2.0) + [build('u', 1.0, '?')]
    self.assertEqual(self.compare(later, later).build.changed, 1)

  def test_other_scripts_do_not_count(self):
    other = build('x', 9.0, script='quickstart')
    same = unchanged(build, 2.0)
    self.assertEqual(self.compare(same, same + [other]).build.cost, 0)
    self.assertEqual(cost_since.scripts(same, same + [other]), ['test'])

  def test_description_names_lists_and_share(self):
    same = unchanged(build, 2.0)
    lines = cost_since.describe(self.compare(same, same + [build('n', 4.0)]))
    self.assertEqual(lines, [
        'test:',
        '  build actions: 20 unchanged, 0 changed, 1 new, 0 gone; '
        'scale 1.000; +4.0 s',
        '  test actions: none',
        '  sum: +4.0 s, +10.00% of the recorded 40 s'])


def script_figures(**changed):
  return ScriptFigures(**{
      **dict(script='test', wall_seconds=100.4, processor_seconds=180,
             bazel_seconds=20, build_seconds=150, test_seconds=30,
             output_root_bytes=3e9, disk_cache_bytes=1e9, other_bytes=5e6,
             lines=70, last_line='9 passed, 0 failed'), **changed})


class FiguresTest(unittest.TestCase):

  def test_script_table_is_markdown(self):
    lines = figures.script_table([('1234abcd', script_figures())])
    self.assertEqual(lines[1], '|' + 12 * '---|')
    self.assertEqual(lines[2], '| 1234abcd | test | 100 | 180 | 20 | 150 | 30 '
                               '| 4005 | 3000 | 1000 | 5 | 70 |')

  def test_change_table_is_markdown(self):
    lines = figures.change_table(
        [('1234abcd', ChangeFigures('header', 'a.h', 12.34, 20))])
    self.assertEqual(lines[2], '| 1234abcd | header | `a.h` | 12.3 | 20.0 |')

  def test_ratios_are_second_to_first(self):
    lines = list(figures.ratio_lines(
        [script_figures(wall_seconds=100)],
        [script_figures(wall_seconds=50, processor_seconds=90, lines=35)]))
    self.assertEqual(lines, [
        'test, second / first: wall 0.500, processor 0.500, disk 1.000, '
        'lines 0.500'])

  def test_table_reads_as_written(self):
    text = '\n'.join(['# Title', ''] + figures.script_table(
        [('1234abcd', script_figures())]))
    recorded = figures.Recorded(text)
    self.assertEqual(recorded.processor_seconds('1234abcd', 'test'), 180)

  def test_missing_row_names_the_row_to_add(self):
    with self.assertRaisesRegex(figures.MissingFigures,
                                'build.md has no figures of abc, test'):
      figures.Recorded('').processor_seconds('abc', 'test')


class LimitTest(unittest.TestCase):

  def limit(self, processor_seconds, share):
    recorded = figures.Recorded('\n'.join(figures.script_table([
        ('d40eca7c', script_figures(processor_seconds=1000)),
        ('abc', script_figures(processor_seconds=processor_seconds))])))
    return figures.test_limit(recorded, 'abc', share)

  def test_share_raises_the_recorded_processor_seconds(self):
    limit = self.limit(800, 0.05)
    self.assertAlmostEqual(limit.expected, 840)
    self.assertAlmostEqual(limit.limit, 850)

  def test_description_says_whether_it_is_kept(self):
    self.assertIn('840 processor s expected, within the limit of 850',
                  figures.describe_limit(self.limit(800, 0.05)))
    self.assertIn('above', figures.describe_limit(self.limit(800, 0.07)))


if __name__ == '__main__':
  xml_unittest.main()
