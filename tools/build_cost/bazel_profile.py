"""Reads how long each action took from a profile that Bazel wrote.

Bazel writes one span ("action processing") per action. It also covers the
search in the disk cache, the set-up of a sandbox and the time that an action
waits for a core. Therefore the seconds of an action are the sum of the spans
inside it, on the same thread, that cover exactly the process:

  subprocess.run                       in a sandbox (links, genrules, tests)
  "Remote execution process wall time" without a sandbox (compilations)

The second name is Bazel's; the process runs on this machine. Actions without
a process (Bazel writes a file itself, or finds the output in a cache) are
left out.

Bazel must run with --noslim_profile, or it merges short spans, and with
--experimental_profile_include_target_label. With
--experimental_profile_include_primary_output, actions are named by their
primary output; without it, by the target and the progress message.
"""

import bisect
import collections
import gzip
import json

_ACTION = 'action processing'
_LOCAL_PROCESS = 'Remote execution process wall time'
_SANDBOXED_PROCESS = 'subprocess.run'
_MICROSECONDS = 1e6

# key: the primary output, or "TARGET: MESSAGE"; is_test: it runs a test.
TimedAction = collections.namedtuple('TimedAction', 'key seconds is_test')


class BadProfile(Exception):
  """The file is not a profile, or Bazel did not finish it."""


def read(path):
  """Returns the actions of the gzipped profile at `path`."""
  try:
    with gzip.open(path, 'rt', encoding='utf-8') as file:
      return actions(json.load(file)['traceEvents'])
  except (OSError, EOFError, ValueError, KeyError) as error:
    raise BadProfile(
        f'{path}: not a complete Bazel profile ({error}); it is written by '
        'bazel build --profile=FILE.gz and complete when Bazel has ended'
    ) from error


def actions(events):
  """Returns the actions that ran a process; those with equal keys are added."""
  spans = _ActionSpans(events)
  seconds, tests = collections.Counter(), {}
  for event in filter(_is_process, events):
    action = spans.around(event)
    if action is not None:
      key = _key(action)
      seconds[key] += event['dur'] / _MICROSECONDS
      tests[key] = _is_test(action)
  return [TimedAction(key, total, tests[key])
          for key, total in seconds.items()]


class _ActionSpans:
  """Finds the action that a span belongs to: on its thread, around it."""

  def __init__(self, events):
    self._spans = collections.defaultdict(list)
    for event in events:
      if event.get('cat') == _ACTION:
        self._spans[event['tid']].append(event)
    for spans in self._spans.values():
      spans.sort(key=lambda span: span['ts'])
    self._starts = {thread: [span['ts'] for span in spans]
                    for thread, spans in self._spans.items()}

  def around(self, event):
    """Returns None if no action spans the event."""
    thread = event['tid']
    at = bisect.bisect_right(self._starts.get(thread, []), event['ts']) - 1
    if at < 0:
      return None
    action = self._spans[thread][at]
    return action if event['ts'] <= action['ts'] + action['dur'] else None


def _is_process(event):
  return (event.get('cat') == _LOCAL_PROCESS
          or event.get('name') == _SANDBOXED_PROCESS)


def _is_test(action):
  return action['name'].startswith('Testing ')


def _key(action):
  arguments = action.get('args', {})
  output = action.get('out') or arguments.get('out')
  return output or f'{arguments.get("target", "?")}: {action["name"]}'


def total_seconds(timed_actions, is_test):
  """Returns the seconds of the test actions, or of all others."""
  return sum(action.seconds for action in timed_actions
             if action.is_test == is_test)


def summary(path, timed_actions):
  """Returns a line with the sums of a profile."""
  tests = sum(action.is_test for action in timed_actions)
  return (f'{path}: {total_seconds(timed_actions, False):.1f} s in '
          f'{len(timed_actions) - tests} build actions, '
          f'{total_seconds(timed_actions, True):.1f} s in {tests} test actions')
