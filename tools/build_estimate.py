"""Estimates how long a Bazel build still takes.

A `Profile` describes a whole build that was recorded earlier: the number of
finished actions, and of actions that Bazel knew, over time. Two facts make it
necessary. Bazel discovers actions while it builds, so its total is up to 40 %
too low at first. Actions also differ in cost: the first 60 of the quickstart
take 15 s, the next 60 take 90 s.

An `Estimate` compares a running build with the profile. It measures how many
seconds this build needs for a second of the profile; that factor covers slower
machines, other work on the machine and cached actions alike.

The order of actions differs from build to build. Where Bazel reports which
actions have finished, build_weights.py is more accurate.
"""

import bisect
import json
import os

# The weight of the expected speed before anything is measured.
_PRIOR_S = 30.0
# The speed of the last four minutes replaces the speed of the whole build if it
# differs by this factor: a run of cached actions, or other work on the machine,
# has begun or ended.
_WINDOW_S = 240.0
_CHANGE = 2.0
# Actions of the first minute that end this many times faster than expected are
# cached, as after an interrupted build; the speed is measured after their end.
# After a later burst, more cached actions may follow.
_BURST = 8
_BURST_UNTIL_S = 60.0
# Processor seconds per action of an unknown build.
_ACTION_CPU_S = 1.7
_UNKNOWN_ACTIONS = 100
# A build with this share of the profile's actions is not a partial build.
_WHOLE = 0.8
# The number of samples in a profile.
_PROFILE_SAMPLES = 30


class Profile:
  """A recorded build: (seconds, done, total) samples; the last is its end."""

  def __init__(self, samples, cpus):
    self.samples = [tuple(sample) for sample in samples]
    self.cpus = cpus
    self._done = [done for _, done, _ in self.samples]

  @classmethod
  def unknown(cls, cpus):
    """Returns a profile for an unknown build: all actions cost the same."""
    count = _UNKNOWN_ACTIONS
    return cls([(0, 0, count), (count * _ACTION_CPU_S / cpus, count, count)],
               cpus)

  @classmethod
  def of_recording(cls, samples, cpus):
    """Returns a profile of at most 32 samples."""
    end = samples[-1]
    kept, due = [(0, 0, 1)], 0
    for sample in samples:
      if sample[0] >= due and kept[-1][1] < sample[1] < end[1]:
        kept.append(sample)
        due = sample[0] + end[0] / _PROFILE_SAMPLES
    kept.append((end[0], end[1], end[1]))
    # Most actions are discovered before the first one is done.
    kept[0] = (0, 0, kept[1][2])
    return cls(kept, cpus)

  @classmethod
  def of_json(cls, value):
    """Returns None if `value` is not a profile."""
    try:
      profile = cls([(float(seconds), int(done), int(total))
                     for seconds, done, total in value['samples']],
                    int(value['cpus']))
    except (TypeError, ValueError, KeyError):
      return None
    return profile if profile._is_valid() else None  # pylint: disable=protected-access

  def to_json(self):
    return {'cpus': self.cpus,
            'samples': [[round(seconds, 1), done, total]
                        for seconds, done, total in self.samples]}

  def _is_valid(self):
    pairs = list(zip(self.samples, self.samples[1:]))
    return (bool(pairs) and self.cpus > 0 and self.seconds > 0
            and all(a[1] < b[1] and a[0] <= b[0] for a, b in pairs)
            and all(sample[2] > 0 for sample in self.samples))

  @property
  def seconds(self):
    return self.samples[-1][0]

  @property
  def actions(self):
    return self.samples[-1][1]

  def seconds_at(self, done):
    """Returns the time at which `done` actions were done."""
    return self._interpolate(done, 0)

  def total_at(self, done):
    """Returns how many actions Bazel knew when `done` were done."""
    return self._interpolate(done, 2)

  def _interpolate(self, done, column):
    at = bisect.bisect_right(self._done, done) - 1
    at = max(0, min(at, len(self.samples) - 2))
    before, after = self.samples[at], self.samples[at + 1]
    share = (done - before[1]) / (after[1] - before[1])
    share = max(0.0, min(1.0, share))
    return before[column] + share * (after[column] - before[column])


class Estimate:
  """The remaining time of a build that began at the time `began`."""

  def __init__(self, profile, cpus, began):
    self._profile = profile
    self._expected = profile.cpus / cpus  # seconds per second of the profile
    self._samples = [(began, 0)]  # (time, done)
    self._first = 0  # the sample at which the speed measurement starts
    self._total = 1  # the largest so far
    self._pruned = 0  # actions that turned out to be unnecessary

  def add(self, done, total, now):
    """Records that Bazel has done `done` of the `total` actions it knows."""
    self._total = max(self._total, total)
    # They count as done, so that the pace includes the speed of discovery.
    self._pruned = self._total - total
    self._samples.append((now, done + self._pruned))
    if self._is_burst():
      self._first = len(self._samples) - 1
    else:
      self._notice_change()

  @property
  def actions(self):
    """The number of actions when all are discovered."""
    return self._whole - self._pruned

  @property
  def is_whole(self):
    """Returns true if the build is about as large as the profile."""
    return self._found >= _WHOLE

  @property
  def _found(self):
    """Returns the known actions as a share of the profile's; at most 1."""
    return min(1.0, self._total / self._profile.total_at(self._samples[-1][1]))

  @property
  def _whole(self):
    return max(self._total, round(self._profile.actions * self._found))

  def left(self, now):
    """Returns the seconds left at `now`; Bazel may be silent for minutes."""
    last, done = self._samples[-1]
    rest = self._work(self._whole) - self._work(done)
    return max(0.0, rest * self._pace() - (now - last))

  def _work(self, done):
    """Returns the time of the first `done` actions in the profile."""
    scale = self._whole / self._profile.actions
    return self._profile.seconds_at(done / scale) * scale

  def _pace(self):
    """Returns the measured seconds per second of the profile."""
    (began, before), (now, done) = self._samples[self._first], self._samples[-1]
    took, work = now - began, self._work(done) - self._work(before)
    prior = max(0.0, _PRIOR_S - took / 4)
    if work + prior <= 0:
      return self._expected
    return (took + prior * self._expected) / (work + prior)

  def _is_burst(self):
    (before, before_done), (now, done) = self._samples[-2:]
    if now - self._samples[0][0] > _BURST_UNTIL_S:
      return False
    work = self._work(done) - self._work(before_done)
    return work * self._expected > _BURST * (now - before)

  def _notice_change(self):
    """Forgets a speed that the last minutes contradict."""
    now, done = self._samples[-1]
    at = bisect.bisect_right(self._samples, now - _WINDOW_S, self._first,
                             key=lambda sample: sample[0]) - 1
    if at <= self._first:
      return
    (began, first_done), (middle, middle_done) = (
        self._samples[self._first], self._samples[at])
    old = (middle - began) / max(
        self._work(middle_done) - self._work(first_done), 1e-3)
    new = (now - middle) / max(self._work(done) - self._work(middle_done), 1e-3)
    if not 1 / _CHANGE < new / max(old, 1e-3) < _CHANGE:
      self._first = at


class Profiles:
  """Profiles by the name of the build, in two JSON files.

  `path` holds those of this machine; it is written. `shipped` holds those of
  the checkout, which serve for first builds.
  """

  def __init__(self, path, shipped):
    self._path = path
    self._shipped = shipped

  def get(self, name):
    """Returns None if there is no profile."""
    for path in (self._path, self._shipped):
      profile = Profile.of_json(_read(path).get(name))
      if profile:
        return profile
    return None

  def is_from_here(self, name):
    """Returns true if a build of that name has finished on this machine."""
    return Profile.of_json(_read(self._path).get(name)) is not None

  def set(self, name, profile):
    """Ignores a file that can't be written; later estimates are then worse."""
    known = {**_read(self._path), name: profile.to_json()}
    try:
      os.makedirs(os.path.dirname(self._path), exist_ok=True)
      with open(self._path, 'w', encoding='utf-8') as file:
        json.dump(known, file)
    except OSError:
      pass


def _read(path):
  try:
    with open(path, encoding='utf-8') as file:
      known = json.load(file)
  except (OSError, ValueError):
    return {}
  return known if isinstance(known, dict) else {}
