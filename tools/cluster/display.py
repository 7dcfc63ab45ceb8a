"""Shows the output of the tasks, with the name of the task before each line.

On a terminal, the unfinished lines of tasks (their progress) are below all
other lines, one for each task, and change in place. Otherwise, such a line is
written every few seconds if it has changed.
"""

import os
import time

from tools.cluster.line_reader import without_escapes

_COLOURS = (36, 33, 32, 35, 34, 96, 93, 92, 95, 94)
_REDRAW_S = 0.1


class Sink:
  """An output stream of the launcher."""

  def __init__(self, descriptor):
    self._descriptor = descriptor
    self.is_terminal = (os.isatty(descriptor)
                        and os.environ.get('TERM', 'dumb') != 'dumb')
    self.is_coloured = self.is_terminal and 'NO_COLOR' not in os.environ
    self.is_broken = False  # the reader has closed it

  def width(self):
    try:
      return os.get_terminal_size(self._descriptor).columns or 80
    except OSError:
      return 80

  def write(self, text):
    data = text.encode('utf-8', 'replace')
    try:
      while data:
        data = data[os.write(self._descriptor, data):]
    except OSError:
      self.is_broken = True


class Display:
  """Shows lines: standard output of tasks on `out`, all others on `err`."""

  plain_s = 5.0  # between two progress lines of a task, without a terminal

  def __init__(self, names, out, err, now=time.monotonic):
    self._out = out
    self._err = err
    self._now = now
    self._names = list(names)
    self._column = max(map(len, self._names), default=0)
    self._live = {}  # name -> text
    self._drawn = 0  # progress lines on the terminal; the cursor is after them
    self._changed = False
    self._last = {}  # name -> when progress was last written; '' on a terminal

  @property
  def is_broken(self):
    """True if the readers have closed a stream."""
    return self._out.is_broken or self._err.is_broken

  @property
  def is_live(self):
    """True if progress is shown in place."""
    return self._out.is_terminal

  def prefix(self, name, sink, column=None):
    text = f'{name:<{column or self._column}} |'
    if sink.is_coloured and name in self._names:
      colour = _COLOURS[self._names.index(name) % len(_COLOURS)]
      text = f'\x1b[{colour}m{text}\x1b[0m'
    return text + ' '

  def text_width(self, column=None):
    """Returns the number of columns beside a prefix."""
    taken = 1 + (column or self._column) + len(' | ')
    return max(self._out.width() - taken, 10)

  def lines(self, name, texts, is_error=False):
    """Writes complete lines of a task."""
    self._write_lines(name, texts, is_error)

  def _write_lines(self, name, texts, is_error=False):
    sink = self._err if is_error else self._out
    prefix = self.prefix(name, sink)
    self._write(sink, ''.join(f'{prefix}{text}\n' for text in texts))

  def say(self, text):
    """Writes a message of the launcher itself."""
    self._write(self._err, f'local_cluster: {text}\n')

  def print(self, text):
    """Writes requested output of the launcher to standard output."""
    self._write(self._out, text)

  def live(self, name, text):
    """Sets the unfinished line of a task; empty: there is none."""
    if text != self._live.get(name, ''):
      self._live[name] = text
      self._changed = True

  def refresh(self):
    """Shows changes if they are due; returns the seconds until they are."""
    if not self._changed:
      return None
    if self._out.is_terminal:
      return self._refresh_terminal()
    return self._refresh_plain()

  def close(self):
    """Removes the progress lines."""
    self._live.clear()
    self._write(self._out, '')

  def _refresh_terminal(self):
    wait = self._last.get('', float('-inf')) + _REDRAW_S - self._now()
    if wait > 0:
      return wait
    self._last[''] = self._now()
    self._write(self._out, '')
    return None

  def _refresh_plain(self):
    """Writes a line for each task whose progress is due."""
    waits = []
    for name, text in self._live.items():
      wait = self._last.setdefault(name, self._now()) + self.plain_s - self._now()
      if wait > 0:
        waits.append(wait)
      elif text:
        self._last[name] = self._now()
        self._live[name] = ''
        self._write_lines(name, [without_escapes(text)])
    self._changed = bool(waits)
    return min(waits, default=None)

  def _write(self, sink, text):
    """Writes lines above the progress lines, which are drawn again."""
    if not (self._out.is_terminal and sink.is_terminal):
      if text:
        sink.write(text)
      return
    self._out.write(self._erasure() + text + self._drawing())
    self._changed = False

  def _erasure(self):
    up = '\x1b[A' * (self._drawn - 1)
    return f'\r{up}\x1b[J' if self._drawn else ''

  def _drawing(self):
    live = sorted(name for name, text in self._live.items() if text)
    # The prefix is as narrow as these names allow: progress lines are long.
    column = max(map(len, live), default=0)
    width = self.text_width(column)
    self._drawn = len(live)
    return '\n'.join(self.prefix(name, self._out, column) +
                     without_escapes(self._live[name])[:width]
                     for name in live)
