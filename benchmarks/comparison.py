"""The figures of a comparison: medians, spread, ratios, goals.

A figure of a metric is the median over the runs. A ratio is taken between the
runs of one round, which are close in time; the result is the median of these
ratios. A slow minute of the machine thus affects both sides of a ratio.
"""

import collections
import statistics

from benchmarks import workloads

SIDES = ('tensorflow', 'weft')

# Summarizes the values of one metric over the rounds.
Spread = collections.namedtuple('Spread', 'median low high')

# Units of time, in microseconds.
_TIMES = {'s': 1e6, 'ms': 1e3, 'us': 1.0}


def _spread(values):
  values = list(values)
  if not values:
    return None
  return Spread(statistics.median(values), min(values), max(values))


def _better(unit):
  """Returns 1 if more is better, -1 if less is better, 0 if neither is."""
  if unit.endswith('/s'):
    return 1
  return -1 if unit in _TIMES or unit in ('ns/op', 'MiB') else 0


def _convert(value, unit, wanted):
  """Returns the value in the unit `wanted`; None: the units do not fit."""
  if unit == wanted:
    return value
  if unit in _TIMES and wanted in _TIMES:
    return value * _TIMES[unit] / _TIMES[wanted]
  return None


class Comparison:
  """The runs of each workload and side, and the figures of them."""

  def __init__(self):
    # (workload, side) -> {round: the program's JSON object}
    self._results = collections.defaultdict(dict)
    # workload -> the largest load of other processes during one of its runs
    self._others = collections.defaultdict(float)
    self.failures = []  # (workload, side, round, reason)

  def add(self, workload, side, number, run):
    """Adds a run of round `number`."""
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
    """Returns TensorFlow's unit of the metric, or else Weft's."""
    for side in SIDES:
      for result in self._results[workload, side].values():
        if metric in result['results']:
          return result['results'][metric]['unit']
    return ''

  def metrics(self, workload):
    """Returns the names, in the order of Weft's program."""
    names = {}
    for side in reversed(SIDES):
      for result in self._results[workload, side].values():
        names.update(dict.fromkeys(result['results']))
    return list(names)

  def _by_round(self, workload, side, metric):
    """Returns {round: value}, in unit()."""
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
    """Returns a Spread, or None if no run has the metric."""
    return _spread(self._by_round(workload, side, metric).values())

  def _ratios(self, above, below):
    return _spread(above[n] / below[n] for n in above
                   if n in below and below[n] != 0)

  def times_better(self, workload, metric):
    """Returns how many times better Weft is; None: it is unknown."""
    better = _better(self.unit(workload, metric))
    if better == 0:
      return None
    weft = self._by_round(workload, 'weft', metric)
    tensorflow = self._by_round(workload, 'tensorflow', metric)
    return (self._ratios(weft, tensorflow) if better > 0 else
            self._ratios(tensorflow, weft))

  def _limit_ratio(self, goal):
    """Returns the ratio of a metric of Weft to another one, in one unit."""
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
    """Returns Weft's mean over all rounds minus TensorFlow's."""
    weft, tensorflow = (self._by_round(workload, side, metric).values()
                        for side in ('weft', 'tensorflow'))
    if not weft or not tensorflow:
      return None
    return _spread([statistics.mean(weft) - statistics.mean(tensorflow)])

  def reached(self, goal):
    """Returns the Spread that the goal bounds, or None without runs."""
    if goal.relation == workloads.WITHIN:
      return self._difference(goal.workload, goal.metric)
    if goal.to == workloads.TF:
      return self.times_better(goal.workload, goal.metric)
    if goal.to is None:
      return self.figure(goal.workload, 'weft', goal.metric)
    return self._limit_ratio(goal)

  def met(self, goal):
    """Returns whether the goal is met; None without runs."""
    reached = self.reached(goal)
    if reached is None:
      return None
    if goal.relation == workloads.WITHIN:
      return abs(reached.median) <= goal.bound
    if goal.relation == workloads.AT_MOST:
      return reached.median <= goal.bound
    return reached.median >= goal.bound
