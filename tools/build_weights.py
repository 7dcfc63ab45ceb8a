"""Estimates the remaining time of a Bazel build from its finished actions.

The order of actions differs from build to build, and their costs differ by a
factor of a thousand, so their number is a poor estimate. `Weights` holds the
seconds of each action of a recorded build. A `WeightedEstimate` adds up the
weights of the actions that have not finished, and measures how many seconds
this build needs per second of weight. That pace covers slower machines, other
work on the machine, and actions whose outputs are in the disk cache.
"""

import collections
import gzip
import math
import os
import re

# The actions per processor that .bazelrc allows, and those that ran on average
# in the recorded builds.
_JOBS_PER_CPU = 1.5
_RUNNING_PER_CPU = 1.4
# The measured pace is averaged with this many seconds at the expected pace.
# Their influence decreases during the build.
_PRIOR_S = 15.0
_PRIOR_FADES = 0.2
# The pace follows the machine: old measurements count less.
_MEMORY_S = 600.0
# The work done by running actions is at most this share of the finished work.
_RUNNING_MOST = 0.4
# At least this share of the weight is assumed to be executed, not cached: the
# times of a fast machine look like those of cached actions.
_LEAST_EXECUTED = 0.6
# If the work of an interval in the first minute is this many times the expected
# one, its actions are cached, as after an interrupted build. The cached actions
# have ended at the next pause, and the pace is measured from then on. After a
# later burst, more cached actions may follow.
_BURST = 8
_BURST_S = 5.0
_BURST_UNTIL_S = 60.0
_PAUSE_S = 2.0
# The seconds of an action if the record has no action of its kind.
_UNKNOWN_S = 0.05
# The instruction set of the machine selects the kernels to compile.
_INSTRUCTION_SET = re.compile(r'_isa_v\d+')


class Weights:
  """Seconds of the actions of a recorded build, by primary output."""

  def __init__(self, seconds):
    self.seconds = seconds
    of_kind = collections.defaultdict(list)
    for output, took in seconds.items():
      of_kind[_kind(output)].append(took)
    # An output without extension is a program or an internal list of Bazel.
    of_kind.pop('', None)
    self._means = {kind: sum(all_) / len(all_)
                   for kind, all_ in of_kind.items()}

  @classmethod
  def read(cls, path, build):
    """Returns None if the file can't be read, or has no build of that name."""
    return cls.of_rows(read_rows(path), build)

  @classmethod
  def of_rows(cls, rows, build):
    seconds = {output: took for name, took, output in rows if name == build}
    return cls(seconds) if seconds else None

  def of_new(self, output):
    """Returns the weight of an action that the record lacks."""
    return self._means.get(_kind(output), _UNKNOWN_S)


def read_rows(path):
  """Returns [(build, seconds, output)] of a file; [] if it can't be read."""
  try:
    with gzip.open(path, 'rt', encoding='utf-8') as file:
      rows = [line.rstrip('\n').split('\t') for line in file]
    return [(build, float(seconds), output) for build, seconds, output in rows]
  except (OSError, EOFError, ValueError):
    return []


class WeightedEstimate:
  """The remaining time of a build whose actions have recorded weights."""

  def __init__(self, weights, cpus):
    self._weights = weights
    self._left = dict(weights.seconds)  # of actions that have not finished
    self._programs = {output for output in self._left if not _kind(output)}
    self._present = set()  # outputs that an earlier build left behind
    self._executed = self._up_to_date = 0  # actions
    self._repeated = 0  # executed actions whose outputs were present
    # On average, half of the work of running actions is done.
    self._running = _JOBS_PER_CPU * cpus / 2 * _typical(self._left.values())
    self._pace = _Pace(1 / (_RUNNING_PER_CPU * cpus), self._running)

  @property
  def is_known(self):
    """Returns true if an action of the record has finished."""
    return len(self._left) < len(self._weights.seconds)

  def find_present(self, exists):
    """Must be called before actions finish; `exists` tests a primary output."""
    self._present = set(filter(exists, self._left))

  def finish(self, output, now):
    """Records that an action was executed, or taken from the disk cache."""
    output = self._recorded(output)
    self._executed += 1
    self._repeated += output in self._present
    weight = self._left.pop(output, None)
    self._pace.add(
        self._weights.of_new(output) if weight is None else weight, now)

  def count(self, done):
    """Records that Bazel has done `done` actions, including up-to-date ones."""
    self._up_to_date = max(0, done - self._executed)

  def left(self, now):
    """Returns the seconds left at `now`; an action must have finished."""
    rest, links = self._rest()
    rest -= min(self._running * self._pace.running_share(), rest / 2)
    pace = self._pace.seconds()
    # The disk cache has no programs (.bazelrc), however fast it is otherwise.
    return max(0.0, rest * pace + links * max(pace, self._pace.expected)
               - (now - self._pace.now))

  def _recorded(self, output):
    """Returns the output of the record that corresponds to `output`.

    Kernels for another instruction set correspond to those of the record.
    """
    family = _INSTRUCTION_SET.sub('', output)
    if output in self._left or family == output:
      return output
    return next((known for known in self._left
                 if _INSTRUCTION_SET.sub('', known) == family), output)

  def _rest(self):
    """Returns the weights of the actions to execute: (others, programs)."""
    skipped = self._share_up_to_date()
    rest = links = 0.0
    for output, seconds in self._left.items():
      if output in self._present:
        seconds *= 1 - skipped
      if output in self._programs:
        links += seconds
      else:
        rest += seconds
    return rest, links

  def _share_up_to_date(self):
    """Returns the share of actions with present outputs that need not run."""
    # Before the first action has finished: all.
    return (self._up_to_date + 1) / (self._up_to_date + self._repeated + 1)


class _Pace:
  """Measures the seconds per second of weight."""

  def __init__(self, expected, running):
    """`running`: the finished part of the weight of running actions."""
    self.expected = expected
    self.now = 0.0  # when the last action finished
    self._running = running
    self._first = None  # when the first action finished
    self._burst = -math.inf  # the last time with a burst

  def add(self, weight, now):
    """Records that an action has finished."""
    if self._first is None:
      self._first = now
      self._begin(now)
    passed, self.now = now - self.now, now
    kept = math.exp(-passed / _MEMORY_S)
    self._took = self._took * kept + passed
    self._work = self._work * kept + weight
    if now - self._first < _BURST_UNTIL_S:
      self._notice_burst(weight, now)

  def seconds(self):
    age = self.now - self._began
    # At the start of the measurement, no action was in progress.
    most = min(_RUNNING_MOST * self._work, age / self.expected / 2)
    running = math.exp(-age / _MEMORY_S) * min(
        most, self._running * self.running_share())
    prior = max(0.0, _PRIOR_S - age * _PRIOR_FADES)
    return (self._took + prior) / max(
        self._work + running + prior / self.expected, 1e-3)

  def running_share(self):
    """Returns the factor for running actions; it is lower if many are cached.

    Cached actions finish at once, so all started ones have finished; some of
    the executed actions that were started still run. If a share q is executed,
    the finished weight is too low by half of the running weight, but too high
    by the cached actions among the started ones: by (1 - q) / q times as much.
    The difference is 2 - 1 / q.
    """
    executed = self._took / max(self._work, 1.0) / self.expected
    return 2 - 1 / max(_LEAST_EXECUTED, min(1.0, executed))

  def _begin(self, now):
    self._began = self.now = now
    self._took = self._work = 0.0
    self._begin_interval(now)

  def _begin_interval(self, now):
    self._interval, self._in_interval = now, 0.0

  def _notice_burst(self, weight, now):
    self._in_interval += weight
    passed = now - self._interval
    if self._in_interval * self.expected > _BURST * max(passed, _BURST_S):
      self._burst = now
    if now - self._burst <= _PAUSE_S:
      self._burst = now
      self._begin(now)
    elif passed >= _BURST_S:
      self._begin_interval(now)


def _kind(output):
  """Returns '.o', '.log' (of a test) and so on; '' for a program."""
  return os.path.splitext(output)[1]


def _typical(weights):
  """Returns the average weight of a running action."""
  return sum(weight * weight for weight in weights) / max(sum(weights), 1e-9)
