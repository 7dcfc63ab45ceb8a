#!/usr/bin/python3
"""Runs Bazel and shows its progress with the remaining time.

usage: bazel_progress.py [--log=FILE] [--record=FILE] NAME bazel build TARGET...

  --log=FILE     append Bazel's output to FILE instead of showing it
  --record=FILE  write "SECONDS DONE TOTAL" to FILE for each line of progress

One line replaces Bazel's lines of progress. On a terminal it changes in place;
elsewhere it is written after 30 s, 1, 2 and 4 min and then every 4 min. Bazel's
other output passes through, or goes to the log. The exit code is Bazel's.

The remaining time is estimated from the recorded costs of the remaining
actions (build_weights.py). tools/build_weights.tsv.gz holds the costs for some
build names; for these builds, Bazel writes events for finished actions.

Other builds are compared with an earlier build of that NAME
(build_estimate.py). Profiles of builds on this machine are stored in
~/.cache/weft-build-times.json. A first build uses tools/build_profiles.json.
"""

import argparse
import contextlib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

if __name__ == '__main__':  # run as a script: `tools` is in the checkout
  sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# pylint: disable=wrong-import-position
from tools import build_events
from tools.build_estimate import Estimate, Profile, Profiles
from tools.build_weights import WeightedEstimate, Weights
# pylint: enable=wrong-import-position

_TIMES = '~/.cache/weft-build-times.json'
_FOLDER = os.path.dirname(os.path.abspath(__file__))
_SHIPPED = os.path.join(_FOLDER, 'build_profiles.json')
_WEIGHTS = os.path.join(_FOLDER, 'build_weights.tsv.gz')
# Without a terminal: the time of the first line, and the longest interval.
_PLAIN_S = 30.0
_LONGEST_GAP_S = 240.0
# No estimate is shown earlier: Bazel has just begun to discover actions.
_UNKNOWN_S = 10.0
# A build becomes a profile if it is at least this large and mostly not cached.
_FEWEST_ACTIONS = 100
_SHORTEST_S = 60.0
_LEAST_SHARE = 0.7  # of the actions of the profile so far
_MOST_CACHED = 0.1

_PROGRESS = re.compile(r'\[([\d,]+) / ([\d,]+)\] ?(.*)')
_PREPARING = re.compile(r'(Loading|Analyzing):')
# Bazel's server has analyzed these targets before. If it has also built them,
# it considers only changed files.
_REBUILDING = re.compile(r'INFO: Analyzed .*\b0 targets configured\)')
_PROCESSES = re.compile(r'INFO: ([\d,]+) process(?:es)?[:.]')
_CACHE_HITS = re.compile(r'([\d,]+) (?:remote|disk) cache hit')
_ESCAPES = re.compile(r'\x1b\[[0-9;]*[A-Za-z]')


def _number(text):
  return int(text.replace(',', ''))


class Progress:
  """One line of Bazel: `done` of `total` actions; `now` is the current one."""

  def __init__(self, done, total, now):
    self.done = done
    self.total = total
    self.now = now

  @classmethod
  def parse(cls, line):
    """Returns None for any other line."""
    found = _PROGRESS.match(line)
    if not found:
      return None
    done, total = (_number(number) for number in found.groups()[:2])
    return cls(done, max(done, total), found.group(3).split(';')[0].strip())


def executed(line):
  """Returns the executed, uncached actions in Bazel's summary line, or None."""
  found = _PROCESSES.match(line)
  if not found:
    return None
  hits = _CACHE_HITS.search(line)
  return _number(found.group(1)) - (_number(hits.group(1)) if hits else 0)


def duration(seconds):
  """Returns 'about 40 s', 'about 2.5 min', 'about 12 min'."""
  if seconds < 90:
    return f'about {max(10, round(seconds / 10) * 10)} s'
  if seconds < 570:
    return f'about {round(seconds / 30) / 2:g} min'
  return f'about {round(seconds / 60)} min'


def describe(progress, actions, seconds, elapsed):
  """Returns the line to show.

  `actions` estimates the number of all actions, `seconds` the remaining time.
  """
  total, left = f'{progress.total}', ''
  if elapsed >= _UNKNOWN_S:
    left = f', {duration(seconds)} left'
    if actions > progress.total:
      total = f'about {actions}'
  return (f'{progress.done} of {total} actions, {int(elapsed) // 60}:'
          f'{int(elapsed) % 60:02} elapsed{left}  {progress.now}')


class Line:
  """The line of progress on stderr."""

  def __init__(self, stream, width, clock):
    """`width`: columns of the terminal, or None if `stream` is not one."""
    self._stream = stream
    self._width = width
    self._clock = clock
    self._shown = False  # a line without a line end is on the terminal
    self._began = clock()
    self._due = self._began + _PLAIN_S

  def show(self, text):
    if self._width:
      self._stream.write('\r\x1b[K' + text[:self._width - 1])
      self._shown = True
    elif self._clock() >= self._due:
      elapsed = self._clock() - self._began
      self._due += min(elapsed, _LONGEST_GAP_S)
      self._stream.write(text + '\n')
    self._stream.flush()

  def write(self, text):
    """Writes a line that is not replaced later."""
    self.clear()
    self._stream.write(text + '\n')
    self._stream.flush()

  def clear(self):
    if self._shown:
      self._stream.write('\r\x1b[K')
      self._shown = False


class Build:
  """One build: reads Bazel's lines, shows its progress, keeps its profile."""

  def __init__(self, name, profiles, line, clock, cpus, log=None, record=None,
               weights=None, events=None):
    """`log` and `record` are text files. The optional arguments may be None."""
    self._name = name
    self._profiles = profiles
    self._line = line
    self._clock = clock
    self._cpus = cpus
    self._log = log
    self._record = record
    self._began = clock()
    self._known = profiles.get(name)
    self._estimate = Estimate(self._known or Profile.unknown(cpus), cpus,
                              self._began)
    self._events = events
    self._weighted = WeightedEstimate(weights, cpus) if weights else None
    self._samples = []
    self._progress = None  # the last one
    self._executed = 0

  def read(self, text):
    text = _ESCAPES.sub('', text).rstrip()
    if self._log:
      self._log.write(text + '\n')
      self._log.flush()
    progress = Progress.parse(text)
    if progress:
      self._advance(progress)
    elif _PREPARING.match(text):
      self._line.show(text)
    elif text:
      self._note(text)

  def _note(self, text):
    if _REBUILDING.match(text) and self._profiles.is_from_here(self._name):
      self._estimate = Estimate(Profile.unknown(self._cpus), self._cpus,
                                self._began)
      self._weighted = None
    self._executed = executed(text) or self._executed
    if not self._log:
      self._line.write(text)

  def _advance(self, progress):
    elapsed = self._clock() - self._began
    self._progress = progress
    self._samples.append((round(elapsed, 1), progress.done, progress.total))
    if self._record:
      self._record.write('{} {} {}\n'.format(*self._samples[-1]))
    self._estimate.add(progress.done, progress.total, self._clock())
    self._read_events()
    if self._weighted:
      self._weighted.count(progress.done)
    self._show()

  def tick(self):
    """Must be called about once per second; Bazel's lines are rarer."""
    self._read_events()
    if self._progress:
      self._show()

  def _show(self):
    now = self._clock()
    self._line.show(describe(self._progress, self._estimate.actions,
                             self._left(now), now - self._began))

  def _left(self, now):
    """Returns the remaining seconds; the weights describe a whole build."""
    if (self._weighted and self._weighted.is_known
        and self._estimate.is_whole):
      return self._weighted.left(now)
    return self._estimate.left(now)

  def _read_events(self):
    if not self._weighted or not self._events:
      return
    for event in self._events.read():
      if isinstance(event, build_events.Finished):
        self._weighted.finish(event.output, self._clock())
      else:
        self._weighted.find_present(
            lambda output, root=event.path: os.path.exists(
                os.path.join(root, output)))

  def end(self, code):
    """Handles the end of Bazel with this exit code."""
    self._line.clear()
    elapsed = self._clock() - self._began
    if code or not self._samples or elapsed < _SHORTEST_S:
      return
    # The last line of progress may come long before the end.
    actions = max(self._samples[-1][2], self._executed)
    if self._is_profile(actions):
      self._profiles.set(self._name, Profile.of_recording(
          [*self._samples, (round(elapsed, 1), actions, actions)], self._cpus))

  def _is_profile(self, actions):
    fewest = _LEAST_SHARE * self._known.actions if self._known else 0
    return (actions >= max(_FEWEST_ACTIONS, fewest)
            and self._executed >= (1 - _MOST_CACHED) * actions)


def _width():
  if not sys.stderr.isatty() or os.environ.get('TERM', 'dumb') == 'dumb':
    return None
  try:
    return os.get_terminal_size(2).columns or 80
  except OSError:
    return 80


def _parse(arguments):
  """Returns the options; exits with an error on stderr."""
  parser = argparse.ArgumentParser(
      usage=__doc__.split('\n\n')[1].partition(': ')[2], allow_abbrev=False)
  parser.add_argument('--log')
  parser.add_argument('--record')
  parser.add_argument('name')
  parser.add_argument('command', nargs=argparse.REMAINDER)
  options = parser.parse_args(arguments)
  if not options.command:
    parser.error('no command to run')
  return options


def _read_lines(stream, read, tick):
  """Calls `read` with each line and `tick` about once per second."""
  rest = b''
  while True:
    if not select.select([stream], [], [], 1.0)[0]:
      tick()
      continue
    data = os.read(stream.fileno(), 65536)
    if not data:
      break
    *lines, rest = (rest + data).split(b'\n')
    for line in lines:
      read(line.decode('utf-8', 'replace'))
    tick()
  if rest:
    read(rest.decode('utf-8', 'replace'))


# The exit code that a shell reports.
_NOT_FOUND = 127


def _run(command, build):
  """Passes the lines of stderr to `build`; returns the exit code."""
  if not shutil.which(command[0]):
    print(f'bazel_progress: there is no program {command[0]}', file=sys.stderr)
    return _NOT_FOUND
  # Ctrl-C reaches Bazel too, which then shuts down: read until its end.
  signal.signal(signal.SIGINT, signal.SIG_IGN)
  with subprocess.Popen(
      command, stderr=subprocess.PIPE,
      preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as bazel:
    _read_lines(bazel.stderr, build.read, build.tick)
  return bazel.returncode


def _publish_events(command, weights, files):
  """Returns the command to run, and its Events, or None if they are unused."""
  if not weights:
    return command, None
  try:
    folder = files.enter_context(tempfile.TemporaryDirectory())
  except OSError:
    return command, None
  path = build_events.named_file(command) or os.path.join(folder, 'events.json')
  publishing = build_events.publishing(command, path)
  return (publishing, build_events.Events(path)) if publishing else (command,
                                                                     None)


def main(arguments):
  """Returns the exit code."""
  options = _parse(arguments)
  with contextlib.ExitStack() as files:
    try:
      log, record = (
          path and files.enter_context(open(path, mode, encoding='utf-8'))
          for path, mode in ((options.log, 'a'), (options.record, 'w')))
    except OSError as error:
      print(f'bazel_progress: {error}', file=sys.stderr)
      return 2
    weights = Weights.read(_WEIGHTS, options.name)
    command, events = _publish_events(options.command, weights, files)
    build = Build(
        options.name, Profiles(os.path.expanduser(_TIMES), _SHIPPED),
        Line(sys.stderr, _width(), time.monotonic), time.monotonic,
        os.cpu_count() or 1, log, record, weights, events)
    code = _run(command, build)
    build.end(code)
  return code if code >= 0 else 128 - code


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
