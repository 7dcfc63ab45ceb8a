#!/usr/bin/python3
"""Runs Bazel and says how far it is and how long it will still take.

usage: bazel_progress.py NAME bazel build TARGET...

Bazel's own lines of progress are replaced by one that also tells the time that
is left: on a terminal it changes in place, elsewhere one is written every half
minute. All else that Bazel writes passes through. The exit code is Bazel's.

The time is estimated from what an action took in the last long build of that
NAME on this machine, kept in ~/.cache/weft-build-times.json, and more and more
from what one takes now. Bazel finds further actions as it goes, so early
estimates are low.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time

_TIMES = '~/.cache/weft-build-times.json'
_PLAIN_S = 30.0
# Of a first build: processor seconds an action, measured on two cores.
_ACTION_CPU_S = 4.0
# A build of fewer actions, or one that came from the cache, tells nothing.
_FEWEST_ACTIONS = 100
_SHORTEST_S = 60.0

_PROGRESS = re.compile(r'\[([\d,]+) / ([\d,]+)\] ?(.*)')
_PREPARING = re.compile(r'(Loading|Analyzing):')
_ESCAPES = re.compile(r'\x1b\[[0-9;]*[A-Za-z]')


class Progress:
  """What one of Bazel's lines says: `done` of `total` actions, `now` at."""

  def __init__(self, done, total, now):
    self.done = done
    self.total = total
    self.now = now

  @classmethod
  def parse(cls, line):
    """None if it is another line."""
    found = _PROGRESS.match(line)
    if not found:
      return None
    done, total = (int(number.replace(',', '')) for number in found.groups()[:2])
    return cls(done, max(done, total), found.group(3).split(';')[0].strip())


class Times:
  """Seconds that an action took in the last build of a name, in a file."""

  def __init__(self, path):
    self._path = path

  def _read(self):
    try:
      with open(self._path, encoding='utf-8') as file:
        known = json.load(file)
      return known if isinstance(known, dict) else {}
    except (OSError, ValueError):
      return {}

  def get(self, name):
    """None if there was none."""
    found = self._read().get(name)
    is_time = isinstance(found, (int, float)) and 0 < found < 3600
    return found if is_time else None

  def set(self, name, seconds):
    known = {**self._read(), name: round(seconds, 3)}
    try:
      os.makedirs(os.path.dirname(self._path), exist_ok=True)
      with open(self._path, 'w', encoding='utf-8') as file:
        json.dump(known, file)
    except OSError:
      pass  # the next estimate is worse, that is all


class Estimate:
  """How long a build still takes; `expected`: seconds an action."""

  def __init__(self, expected, began):
    self._expected = expected
    self._began = began

  def seconds_an_action(self, progress, now):
    measured = (now - self._began) / max(progress.done, 1)
    share = progress.done / max(progress.total, 1)
    return self._expected * (1 - share) + measured * share

  def left(self, progress, now):
    """Seconds."""
    return ((progress.total - progress.done)
            * self.seconds_an_action(progress, now))


def duration(seconds):
  """'about 12 min', 'about 20 s'"""
  if seconds >= 90:
    return f'about {round(seconds / 60)} min'
  return f'about {max(10, round(seconds / 10) * 10)} s'


def describe(progress, left, elapsed):
  """The line that a person reads."""
  return (f'{progress.done} of {progress.total} steps, '
          f'{int(elapsed) // 60}:{int(elapsed) % 60:02} gone, '
          f'{duration(left)} left  {progress.now}')


class Line:
  """The one line of progress on stderr."""

  def __init__(self, stream, width, clock):
    """`width`: columns of the terminal; None if it is none."""
    self._stream = stream
    self._width = width
    self._clock = clock
    self._shown = False  # on the terminal, without an end of line
    self._last = None

  def show(self, text):
    if self._width:
      self._stream.write('\r\x1b[K' + text[:self._width - 1])
      self._shown = True
    elif self._last is None or self._clock() - self._last >= _PLAIN_S:
      self._last = self._clock()
      self._stream.write(text + '\n')
    self._stream.flush()

  def write(self, text):
    """A line that stays."""
    self.clear()
    self._stream.write(text + '\n')
    self._stream.flush()

  def clear(self):
    if self._shown:
      self._stream.write('\r\x1b[K')
      self._shown = False


class Build:
  """One run: reads Bazel's lines, shows progress, remembers what it took."""

  def __init__(self, name, times, line, clock, cpus):
    self._name = name
    self._times = times
    self._line = line
    self._clock = clock
    self._began = clock()
    self._estimate = Estimate(times.get(name) or _ACTION_CPU_S / cpus,
                              self._began)
    self._progress = None

  def read(self, text):
    text = _ESCAPES.sub('', text).rstrip()
    progress = Progress.parse(text)
    if progress:
      self._progress = progress
      now = self._clock()
      self._line.show(describe(progress, self._estimate.left(progress, now),
                               now - self._began))
    elif _PREPARING.match(text):
      self._line.show(text)
    elif text:
      self._line.write(text)

  def end(self, code):
    self._line.clear()
    elapsed = self._clock() - self._began
    if (code == 0 and self._progress and elapsed >= _SHORTEST_S
        and self._progress.done >= _FEWEST_ACTIONS):
      self._times.set(self._name, elapsed / self._progress.done)


def _width():
  if not sys.stderr.isatty() or os.environ.get('TERM', 'dumb') == 'dumb':
    return None
  try:
    return os.get_terminal_size(2).columns or 80
  except OSError:
    return 80


def main(arguments):
  """Returns the exit code."""
  if len(arguments) < 2:
    print(__doc__.split('\n\n')[1], file=sys.stderr)
    return 2
  name, command = arguments[0], arguments[1:]
  build = Build(name, Times(os.path.expanduser(_TIMES)),
                Line(sys.stderr, _width(), time.monotonic), time.monotonic,
                os.cpu_count() or 1)
  # Ctrl-C reaches Bazel too, which ends in order; its last words are wanted.
  signal.signal(signal.SIGINT, signal.SIG_IGN)
  with subprocess.Popen(
      command, stderr=subprocess.PIPE, text=True, errors='replace',
      preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as bazel:
    for text in bazel.stderr:
      build.read(text)
  code = bazel.returncode
  build.end(code)
  return code if code >= 0 else 128 - code


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
