"""Reads the finished actions from the events that a running Bazel writes.

With `--build_event_json_file=FILE --build_event_publish_all_actions`, Bazel
appends one line per action that it has executed, and flushes the file every
quarter of a second. An action whose outputs come from the disk cache counts as
executed. An action that was up to date in the output base has no event.
"""

import collections
import json
import os

_FILE_OPTION = '--build_event_json_file='
_ALL_ACTIONS = '--build_event_publish_all_actions'
_COMMANDS = ('build', 'test')
# Prefixes of the parsed lines.
_ACTION = b'{"id":{"actionCompleted"'
_WORKSPACE = b'{"id":{"workspace"'

# An action has ended; output: the path of its primary output.
Finished = collections.namedtuple('Finished', 'output')
# Paths of outputs are relative to this folder.
ExecutionRoot = collections.namedtuple('ExecutionRoot', 'path')


def named_file(command):
  """Returns the file of events that a command of Bazel names, or None."""
  names = [word[len(_FILE_OPTION):] for word in command
           if word.startswith(_FILE_OPTION)]
  return names[-1] if names else None


def publishing(command, path):
  """Returns the command with options to write all events, by default to `path`.

  Returns None for a command other than `bazel build` and `bazel test`.
  """
  at = next((at for at, word in enumerate(command)
             if at and not word.startswith('-')), 0)
  if os.path.basename(command[0]) != 'bazel' or command[at] not in _COMMANDS:
    return None
  options = [_ALL_ACTIONS]
  if not named_file(command):
    options.append(_FILE_OPTION + path)
  return [*command[:at + 1], *options, *command[at + 1:]]


class Events:
  """Follows a file of events while Bazel writes it.

  Must be created before Bazel starts: the contents of the file at that time
  belong to an earlier build. Bazel empties the file before it writes.
  """

  def __init__(self, path):
    self._path = path
    self._earlier = self._state()  # until Bazel has emptied the file
    self._position = 0
    self._rest = b''  # a line that is not complete yet

  def _state(self):
    """Returns the size and last change of the file, or None without one."""
    try:
      status = os.stat(self._path)
    except OSError:
      return None
    return status.st_size, status.st_mtime_ns

  def read(self):
    """Returns the new events: a list of Finished and ExecutionRoot."""
    *lines, self._rest = (self._rest + self._read_bytes()).split(b'\n')
    return [event for event in map(_parse, lines) if event]

  def _read_bytes(self):
    """Returns no bytes if the file can't be read."""
    if self._earlier and self._state() == self._earlier:
      return b''
    self._earlier = None
    try:
      with open(self._path, 'rb') as file:
        file.seek(self._position)
        data = file.read()
    except OSError:
      return b''
    self._position += len(data)
    return data


def _parse(line):
  """Returns None for other events and for text that is not an event."""
  try:
    if line.startswith(_ACTION):
      return Finished(
          json.loads(line)['id']['actionCompleted']['primaryOutput'])
    if line.startswith(_WORKSPACE):
      return ExecutionRoot(
          json.loads(line)['workspaceInfo']['localExecRoot'])
  except (ValueError, KeyError, TypeError):
    pass
  return None
