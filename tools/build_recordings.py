#!/usr/bin/python3
"""Derives the recording of an interrupted build from a whole one, for tests.

usage: build_recordings.py RECORDING PROFILE FOLDER

  RECORDING  what bazel_progress.py --record wrote
  PROFILE    what bazel build --profile wrote in the same build (gzip)
  FOLDER     gets NAME_resumed.txt

A model runs the actions of the profile again, in the order of their start, with
three jobs on two processors. Half of the actions are in the cache, those that
ended first, as after an interrupted build.
"""

import bisect
import gzip
import json
import os
import sys

_JOBS = 3
_PROCESSORS = 2
_START_S = 3.5  # until the first action
_CACHED_S = 0.03  # an action that is in the cache
# Bazel's lines of progress: the interval is 5 s at first (.bazelrc), then it
# grows with the elapsed time.
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
  with gzip.open(path, 'rt', encoding='utf-8') as file:
    events = json.load(file)['traceEvents']
  return sorted((event['ts'] / 1e6, event['dur'] / 1e6) for event in events
                if event.get('cat') == 'action processing')


def run(work):
  """Returns when actions of so many processor seconds end."""
  now, running, ends = _START_S, [], []
  waiting = list(reversed(work))
  while waiting or running:
    while waiting and len(running) < _JOBS:
      running.append(waiting.pop())
    step = min(running)
    now += step * max(1.0, len(running) / _PROCESSORS)
    ends += [now for left in running if left <= step]
    running = [left - step for left in running if left > step]
  return ends


def processor_seconds(actions):
  """Scales durations so that they fill the processors for the whole build."""
  end = max(start + seconds for start, seconds in actions)
  share = (end - _START_S) * _PROCESSORS / sum(s for _, s in actions)
  return [seconds * share for _, seconds in actions]


def resumed(work, actions):
  ends = [start + seconds for start, seconds in actions]
  interrupted = sorted(ends)[len(ends) // 2]
  return [_CACHED_S if end <= interrupted else seconds
          for end, seconds in zip(ends, work)]


def recording(ends, recorded):
  """Lines of progress; totals are those that `recorded` has at that count."""
  counts = [done for _, done, _ in recorded]
  rows = []
  for now in times(ends[-1]):
    done = bisect.bisect_right(ends, now)
    at = min(bisect.bisect_left(counts, done), len(counts) - 1)
    rows.append((now, done, max(done, recorded[at][2])))
  return rows


def times(end):
  """When Bazel writes a line of progress, and the end."""
  now = _EVERY_S
  while now < end:
    yield now
    now += max(_EVERY_S, _GROWTH * now)
  yield end


def write(path, rows):
  with open(path, 'w', encoding='utf-8') as file:
    file.writelines(f'{now:.1f} {done} {total}\n' for now, done, total in rows)


def main(arguments):
  if len(arguments) != 3:
    print(__doc__.split('\n\n')[1], file=sys.stderr)
    return 2
  source, profile, folder = arguments
  name = os.path.basename(source).partition('_')[0].partition('.')[0]
  recorded, actions = read_recording(source), read_actions(profile)
  work = processor_seconds(actions)
  write(os.path.join(folder, f'{name}_resumed.txt'),
        recording(run(resumed(work, actions)), recorded))
  return 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
