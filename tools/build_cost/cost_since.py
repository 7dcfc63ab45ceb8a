"""Computes the additional cost of a later commit over a recorded one.

Both commits were built once, perhaps on different machines. An action of the
later commit is

  unchanged  the record has it, with the same digest of its inputs
  changed    the record has it, with another digest
  new        the record does not have it

Recorded actions that the later commit does not have are gone. The cost of a
list of actions, in seconds of the recorded machine, is

  scale * (changed + new) - recorded (changed + gone)

where scale = recorded / later seconds of the unchanged actions. Build actions
and test actions are two lists, each with its own scale. If a list has too few
unchanged actions, both lists of the script share a scale.
"""

import collections

from tools.build_cost import action_record

# Fewer or shorter actions do not measure the speed of a machine.
_FEWEST = 10
_FEWEST_SECONDS = 10.0

# Counts of actions; cost in seconds. shared: the scale is that of both lists.
ListCost = collections.namedtuple(
    'ListCost', 'unchanged changed new gone scale shared cost')
# recorded_seconds: of all recorded actions of the script.
ScriptCost = collections.namedtuple(
    'ScriptCost', 'script build test recorded_seconds')


class CannotScale(Exception):
  """There are too few unchanged actions."""


def total(script_cost):
  """Returns the cost of a script, in seconds."""
  return script_cost.build.cost + script_cost.test.cost


def share(script_cost):
  """Returns the cost of a script as a part of its recorded seconds."""
  return total(script_cost) / script_cost.recorded_seconds


class Comparison:
  """Classifies the actions of one list."""

  def __init__(self, recorded, later):
    self._recorded = {action.key: action for action in recorded}
    self._later = {action.key: action for action in later}
    common = self._recorded.keys() & self._later.keys()
    self.unchanged = {key for key in common
                      if _same(self._recorded[key], self._later[key])}
    self.changed = common - self.unchanged
    self.new = self._later.keys() - common
    self.gone = self._recorded.keys() - common

  def unchanged_seconds(self):
    """Returns (recorded seconds, later seconds)."""
    return (_sum(self._recorded, self.unchanged),
            _sum(self._later, self.unchanged))

  def cost(self, scale):
    return (scale * _sum(self._later, self.changed | self.new)
            - _sum(self._recorded, self.changed | self.gone))

  def needs_scale(self):
    return bool(self.changed or self.new)


def _same(recorded, later):
  return recorded.digest == later.digest != '?'


def _sum(actions, keys):
  return sum(actions[key].seconds for key in keys)


def _scale(comparisons):
  """Returns recorded / later seconds; None if too few are unchanged."""
  count = sum(len(one.unchanged) for one in comparisons)
  seconds = [one.unchanged_seconds() for one in comparisons]
  recorded, later = (sum(column) for column in zip(*seconds))
  if count < _FEWEST or min(recorded, later) < _FEWEST_SECONDS:
    return None
  return recorded / later


def _list_cost(script, one, both):
  own = _scale([one])
  scale = own if own is not None else _scale(both)
  if scale is None:
    if one.needs_scale():
      raise CannotScale(_too_few(script, both))
    scale = 1.0
  return ListCost(len(one.unchanged), len(one.changed), len(one.new),
                  len(one.gone), scale, own is None, one.cost(scale))


def _too_few(script, comparisons):
  count = sum(len(one.unchanged) for one in comparisons)
  return (f'{script}: only {count} actions have unchanged inputs; at least '
          f'{_FEWEST} that take {_FEWEST_SECONDS:.0f} s are needed to compare '
          'the speed of the two machines. Use the record of a later commit, '
          'or record the earlier one again on this machine.')


def _split(actions, script):
  """Returns (build actions, test actions) of a script."""
  own = [action for action in actions if action.script == script]
  return ([action for action in own if not action_record.is_test(action)],
          [action for action in own if action_record.is_test(action)])


def compare(script, recorded, later):
  """Returns the ScriptCost of the later actions."""
  before, after = _split(recorded, script), _split(later, script)
  both = [Comparison(*lists) for lists in zip(before, after)]
  costs = [_list_cost(script, one, both) for one in both]
  return ScriptCost(script, *costs,
                    sum(action.seconds for action in before[0] + before[1]))


def scripts(recorded, later):
  """Returns the scripts that both have, in alphabetical order."""
  return sorted({action.script for action in recorded}
                & {action.script for action in later})


def describe(cost):
  """Returns lines of text."""
  return [f'{cost.script}:', _describe_list('build actions', cost.build),
          _describe_list('test actions', cost.test),
          f'  sum: {total(cost):+.1f} s, {share(cost):+.2%} of the recorded '
          f'{cost.recorded_seconds:.0f} s']


def _describe_list(name, cost):
  if not (cost.unchanged or cost.changed or cost.new or cost.gone):
    return f'  {name}: none'
  source = ' (build and test actions)' if cost.shared else ''
  return (f'  {name}: {cost.unchanged} unchanged, {cost.changed} changed, '
          f'{cost.new} new, {cost.gone} gone; scale {cost.scale:.3f}{source}; '
          f'{cost.cost:+.1f} s')
