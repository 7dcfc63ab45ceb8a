"""Lines out of what a process writes, and the line it is still writing.

Programs show progress by writing over the line they are on: a carriage return,
and the text anew. Such a line is "live" until its line feed comes.
"""

import re

# A line of this many bytes is cut, so that a process can't fill our memory.
_LONGEST = 64 * 1024
_ESCAPES = re.compile(r'\x1b\[[0-9;?]*[ -/]*[@-~]')
_MOVEMENTS = re.compile(r'\x1b\[[0-9;?]*[ -/]*[@-ln-~]')  # all but colours


def without_escapes(text):
  """`text` without colours."""
  return _ESCAPES.sub('', text)


def _visible(line):
  """What is seen of a line that was written over."""
  for part in reversed(line.split(b'\r')):
    if part:
      return _MOVEMENTS.sub('', part.decode('utf-8', 'replace'))
  return ''


class LineReader:
  """One stream of one process."""

  def __init__(self):
    self._open = b''

  @property
  def live(self):
    """The text of the line that has no end yet."""
    return _visible(self._open)

  def feed(self, data):
    """Takes what was read; returns the texts of the lines that it ended."""
    *ended, self._open = (self._open + data).split(b'\n')
    lines = [_visible(line) for line in ended]
    if len(self._open) > _LONGEST:
      self._open = self._open[self._open.rstrip(b'\r').rfind(b'\r') + 1:]
    if len(self._open) > _LONGEST:
      lines.append(self.live)
      self._open = b''
    return lines

  def end(self):
    """The stream has ended; returns what its last line lacks a line feed of."""
    rest, self._open = self.live, b''
    return [rest] if rest else []
