#!/usr/bin/python3
"""Derives recordings of builds, for tests, and the weights of actions.

usage: build_recordings.py resumed RECORDING PROFILE FOLDER
       build_recordings.py weights NAME PROFILE FILE
       build_recordings.py actions NAME PROFILE FOLDER

  PROFILE    the output of bazel build --profile (gzip), with the options
             --noslim_profile --experimental_profile_include_primary_output
  RECORDING  the output of bazel_progress.py --record for the same build
  NAME       the name of the build in bazel_progress.py

`resumed` writes FOLDER/NAME_resumed.txt: a model runs the actions of the
profile again, in the order of their start, with three jobs on two processors.
The half of the actions that ended first is in the cache, as after an
interrupted build.

`weights` replaces the weights of NAME in FILE (tools/build_weights.tsv.gz).

`actions` writes FOLDER/NAME_actions.tsv.gz: start, seconds and primary output
of each action.
"""

import bisect
import gzip
import json
import os
import sys

if __name__ == '__main__':  # run as a script: `tools` is in the checkout
  sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# pylint: disable=wrong-import-position
from tools import build_weights
from tools.build_cost import bazel_profile
# pylint: enable=wrong-import-position

_JOBS = 3
_PROCESSORS = 2
_START_S = 3.5  # until the first action
_CACHED_S = 0.03  # an action that is in the cache
# The interval between Bazel's lines of progress is 5 s at first (.bazelrc), and
# increases with the elapsed time.
_EVERY_S = 5.0
_GROWTH = 0.15


def read_recording(path):
  """Returns [(seconds, done, total)]."""
  with open(path, encoding='utf-8') as file:
    rows = (line.split() for line in file)
    return [(float(seconds), int(done), int(total))
            for seconds, done, total in rows]


def read_actions(path):
  """Returns [(start, seconds)] of the actions of a profile."""
  return [(start, seconds) for start, seconds, _ in read_named_actions(path)]


def read_named_actions(path):
  """Returns [(start, seconds, primary output)] of the actions of a profile."""
  with gzip.open(path, 'rt', encoding='utf-8') as file:
    events = json.load(file)['traceEvents']
  return sorted((event['ts'] / 1e6, event['dur'] / 1e6, event.get('out', ''))
                for event in events
                if event.get('cat') == 'action processing')


def run(work):
  """Returns the end of each action; `work` is their processor seconds."""
  return [end for end, _ in run_named((seconds, '') for seconds in work)]


def run_named(actions, slowness=lambda now: 1.0):
  """Returns [(end, output)] of actions: (processor seconds, output).

  `slowness`: the factor by which the machine is slower at a given time.
  """
  now, running, ends = _START_S, [], []
  waiting = list(reversed(list(actions)))
  while waiting or running:
    while waiting and len(running) < _JOBS:
      running.append(waiting.pop())
    step = min(running)[0]
    now += step * max(1.0, len(running) / _PROCESSORS) * slowness(now)
    ends += [(now, output) for left, output in running if left <= step]
    running = [(left - step, output) for left, output in running if left > step]
  return ends


def processor_seconds(actions):
  """Returns the durations, scaled to keep the processors busy all the time."""
  end = max(start + seconds for start, seconds in actions)
  share = (end - _START_S) * _PROCESSORS / sum(s for _, s in actions)
  return [seconds * share for _, seconds in actions]


def resumed(work, actions):
  ends = [start + seconds for start, seconds in actions]
  interrupted = sorted(ends)[len(ends) // 2]
  return [_CACHED_S if end <= interrupted else seconds
          for end, seconds in zip(ends, work)]


def recording(ends, recorded):
  """Returns lines of progress, with the totals of `recorded` at that count."""
  counts = [done for _, done, _ in recorded]
  rows = []
  for now in times(ends[-1]):
    done = bisect.bisect_right(ends, now)
    at = min(bisect.bisect_left(counts, done), len(counts) - 1)
    rows.append((now, done, max(done, recorded[at][2])))
  return rows


def times(end):
  """Yields the times at which Bazel writes a line of progress, and the end."""
  now = _EVERY_S
  while now < end:
    yield now
    now += max(_EVERY_S, _GROWTH * now)
  yield end


def write(path, rows):
  with open(path, 'w', encoding='utf-8') as file:
    file.writelines(f'{now:.1f} {done} {total}\n' for now, done, total in rows)


def write_rows(path, rows):
  """Writes a compressed table; equal tables give equal files."""
  text = ''.join('\t'.join(map(str, row)) + '\n' for row in rows)
  with open(path, 'wb') as file:
    file.write(gzip.compress(text.encode(), mtime=0))


def write_resumed(source, profile, folder):
  name = os.path.basename(source).partition('_')[0].partition('.')[0]
  recorded, actions = read_recording(source), read_actions(profile)
  work = processor_seconds(actions)
  write(os.path.join(folder, f'{name}_resumed.txt'),
        recording(run(resumed(work, actions)), recorded))


def write_weights(name, profile, path):
  others = [row for row in build_weights.read_rows(path) if row[0] != name]
  own = [(name, round(action.seconds, 2), action.key)
         for action in bazel_profile.read(profile)]
  write_rows(path, sorted(others + own, key=lambda row: (row[0], row[2])))


def write_actions(name, profile, folder):
  write_rows(os.path.join(folder, f'{name}_actions.tsv.gz'),
             ((round(start, 2), round(seconds, 2), output)
              for start, seconds, output in read_named_actions(profile)))


_COMMANDS = {'resumed': write_resumed, 'weights': write_weights,
             'actions': write_actions}


def main(arguments):
  if len(arguments) != 4 or arguments[0] not in _COMMANDS:
    print(__doc__.split('\n\n')[1], file=sys.stderr)
    return 2
  _COMMANDS[arguments[0]](*arguments[1:])
  return 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
