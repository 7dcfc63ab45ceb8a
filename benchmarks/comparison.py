"""What runs of both sides come to: medians, spread, ratios, goals.

A figure of a metric is the median over the runs. A ratio is taken between runs
of one round, which are close in time, and then the median of these; so a slow
minute of the machine falls on both sides of it.
"""

import collections
import statistics

from benchmarks import workloads

SIDES = ('tensorflow', 'weft')

# Of values of one metric over the rounds.
Spread = collections.namedtuple('Spread', 'median low high')

# Units of time, in microseconds.
_TIMES = {'s': 1e6, 'ms': 1e3, 'us': 1.0}


def _spread(values):
  values = list(values)
  if not values:
    return None
  return Spread(statistics.median(values), min(values), max(values))


def _better(unit):
  """1: more is better; -1: less is; 0: neither."""
  if unit.endswith('/s'):
    return 1
  return -1 if unit in _TIMES or unit in ('ns/op', 'MiB') else 0


def _convert(value, unit, wanted):
  """None where that can't be done."""
  if unit == wanted:
    return value
  if unit in _TIMES and wanted in _TIMES:
    return value * _TIMES[unit] / _TIMES[wanted]
  return None


class Comparison:
  """Runs, by workload and side, and what they come to."""

  def __init__(self):
    # (workload, side) -> {round: the program's JSON object}
    self._results = collections.defaultdict(dict)
    # workload -> the largest load of others beside one of its runs
    self._others = collections.defaultdict(float)
    self.failures = []  # (workload, side, round, why)

  def add(self, workload, side, number, run):
    """One run, of round `number`."""
    self._others[workload] = max(self._others[workload], run.others)
    if run.result is None:
      self.failures.append((workload, side, number, run.error))
    else:
      self._results[workload, side][number] = run.result

  def others(self, workload):
    return self._others[workload]

  def results(self, workload, side):
    return self._results[workload, side]

  def unit(self, workload, metric):
    """TensorFlow's, where it has the metric."""
    for side in SIDES:
      for result in self._results[workload, side].values():
        if metric in result['results']:
          return result['results'][metric]['unit']
    return ''

  def metrics(self, workload):
    """Names, in the order of Weft's program."""
    names = {}
    for side in reversed(SIDES):
      for result in self._results[workload, side].values():
        names.update(dict.fromkeys(result['results']))
    return list(names)

  def _by_round(self, workload, side, metric):
    """{round: value}, in unit()."""
    unit = self.unit(workload, metric)
    values = {}
    for number, result in self._results[workload, side].items():
      entry = result['results'].get(metric)
      if entry is not None:
        value = _convert(entry['median'], entry['unit'], unit)
        if value is not None:
          values[number] = value
    return values

  def figure(self, workload, side, metric):
    """Spread; None where no run has it."""
    return _spread(self._by_round(workload, side, metric).values())

  def _ratios(self, above, below):
    return _spread(above[n] / below[n] for n in above
                   if n in below and below[n] != 0)

  def times_better(self, workload, metric):
    """How many times better Weft is than TensorFlow; None: can't be said."""
    better = _better(self.unit(workload, metric))
    if better == 0:
      return None
    weft = self._by_round(workload, 'weft', metric)
    tensorflow = self._by_round(workload, 'tensorflow', metric)
    return (self._ratios(weft, tensorflow) if better > 0 else
            self._ratios(tensorflow, weft))

  def _limit_ratio(self, goal):
    """Weft's metric to Weft's other one, both in seconds if they are times."""
    other_workload, other_metric = goal.to
    unit = self.unit(goal.workload, goal.metric)
    limit_unit = self.unit(other_workload, other_metric)
    above = self._by_round(goal.workload, 'weft', goal.metric)
    below = {n: _convert(v, limit_unit, unit) for n, v in
             self._by_round(other_workload, 'weft', other_metric).items()}
    if None in below.values():
      return None
    return self._ratios(above, below)

  def _difference(self, workload, metric):
    """Of the means of all rounds, Weft's less TensorFlow's."""
    weft, tensorflow = (self._by_round(workload, side, metric).values()
                        for side in ('weft', 'tensorflow'))
    if not weft or not tensorflow:
      return None
    return _spread([statistics.mean(weft) - statistics.mean(tensorflow)])

  def reached(self, goal):
    """Spread of what the goal bounds; None where there is nothing."""
    if goal.relation == workloads.WITHIN:
      return self._difference(goal.workload, goal.metric)
    if goal.to == workloads.TF:
      return self.times_better(goal.workload, goal.metric)
    if goal.to is None:
      return self.figure(goal.workload, 'weft', goal.metric)
    return self._limit_ratio(goal)

  def met(self, goal):
    """None where there is nothing to judge."""
    reached = self.reached(goal)
    if reached is None:
      return None
    if goal.relation == workloads.WITHIN:
      return abs(reached.median) <= goal.bound
    if goal.relation == workloads.AT_MOST:
      return reached.median <= goal.bound
    return reached.median >= goal.bound
