"""Formats a Comparison as Markdown tables and as one JSON object."""

from benchmarks import comparison
from benchmarks import workloads

# A load of other processes below this many processors is not reported.
_LOAD_WORTH_NOTING = 0.05


def _number(value):
  if abs(value) >= 100:
    return f'{value:,.0f}'
  return f'{value:.3g}'


def _spread(spread, unit):
  """Returns for example '12 us (11 to 14)'."""
  if spread is None:
    return ''
  text = f'{_number(spread.median)} {unit}'.strip()
  if spread.low == spread.high:
    return text
  return f'{text} ({_number(spread.low)} to {_number(spread.high)})'


def _short(name):
  """Returns the name without its group."""
  return name.partition('/')[2]


def _row(cells):
  return '| ' + ' | '.join(cells) + ' |'


def _metric_rows(result, name):
  first = _short(name)
  for metric in result.metrics(name):
    unit = result.unit(name, metric)
    yield _row([
        first, metric,
        *(_spread(result.figure(name, side, metric), unit)
          for side in comparison.SIDES),
        _spread(result.times_better(name, metric), '×')])
    first = ''


def _goal_row(result, goal):
  to = ''
  if goal.relation == workloads.WITHIN:
    to = 'of TensorFlow'
  elif goal.to == workloads.TF:
    to = '× TensorFlow'
  elif goal.to is not None:
    to = '× ' + goal.to[1]
  met = result.met(goal)
  return _row([
      _short(goal.workload), goal.metric,
      _spread(result.reached(goal), to or goal.unit),
      f'{goal.relation} {goal.bound:,} {to or goal.unit}',
      'not measured' if met is None else 'met' if met else 'missed'])


def _others(result, names):
  """Returns a line on the load of other processes; '' if there was none."""
  loads = [f'{_short(name)} {result.others(name):.2f}' for name in names
           if result.others(name) >= _LOAD_WORTH_NOTING]
  return 'Processors that others used meanwhile, at most: ' + (
      ', '.join(loads) + '.') if loads else ''


def markdown(result, names, goals):
  """Returns the lines of a table of the figures and of one of the goals."""
  lines = [_row(['workload', 'metric', 'TensorFlow', 'Weft',
                 'Weft is better']), '|---|---|---|---|---|']
  for name in names:
    lines += _metric_rows(result, name)
  others = _others(result, names)
  lines += ['', others] if others else []
  goals = [goal for goal in goals if goal.workload in names]
  if goals:
    lines += ['', _row(['workload', 'metric', 'Weft', 'goal', '']),
              '|---|---|---|---|---|']
    lines += [_goal_row(result, goal) for goal in goals]
  return lines


def _as_dict(spread):
  return None if spread is None else spread._asdict()


def as_json(result, names, goals):
  """Returns the contents of markdown() and the runs, for programs."""
  return {
      'workloads': {name: {
          'others': result.others(name),
          'metrics': {metric: {
              'unit': result.unit(name, metric),
              **{side: _as_dict(result.figure(name, side, metric))
                 for side in comparison.SIDES},
              'times_better': _as_dict(result.times_better(name, metric)),
          } for metric in result.metrics(name)},
          'runs': {side: result.results(name, side)
                   for side in comparison.SIDES},
      } for name in names},
      'goals': [{**goal._asdict(), 'reached': _as_dict(result.reached(goal)),
                 'met': result.met(goal)}
                for goal in goals if goal.workload in names],
      'failures': [dict(zip(('workload', 'side', 'round', 'error'), failure))
                   for failure in result.failures],
  }
