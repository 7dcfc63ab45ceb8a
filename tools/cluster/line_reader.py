"""Splits the output of a process into lines.

Programs show progress by overwriting the present line: they write a carriage
return and the new text. Such a line is "live" until its line feed comes.
"""

import re

# Longer lines are cut, so that a process can't fill the launcher's memory.
_LONGEST = 64 * 1024
_ESCAPES = re.compile(r'\x1b\[[0-9;?]*[ -/]*[@-~]')
_MOVEMENTS = re.compile(r'\x1b\[[0-9;?]*[ -/]*[@-ln-~]')  # all but colours


def without_escapes(text):
  """Returns `text` without colours."""
  return _ESCAPES.sub('', text)


def _visible(line):
  """Returns the visible text of an overwritten line."""
  for part in reversed(line.split(b'\r')):
    if part:
      return _MOVEMENTS.sub('', part.decode('utf-8', 'replace'))
  return ''


class LineReader:
  """Reads one output stream of a process."""

  def __init__(self):
    self._open = b''

  @property
  def live(self):
    """The text of the unfinished line."""
    return _visible(self._open)

  def feed(self, data):
    """Takes new data; returns the texts of the lines that it completes."""
    *ended, self._open = (self._open + data).split(b'\n')
    lines = [_visible(line) for line in ended]
    if len(self._open) > _LONGEST:
      self._open = self._open[self._open.rstrip(b'\r').rfind(b'\r') + 1:]
    if len(self._open) > _LONGEST:
      lines.append(self.live)
      self._open = b''
    return lines

  def end(self):
    """Ends the stream; returns a last line without a line feed, if any."""
    rest, self._open = self.live, b''
    return [rest] if rest else []
