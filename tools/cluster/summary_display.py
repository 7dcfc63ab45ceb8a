"""Shows one line per task instead of everything that the tasks write.

The line of a task is its progress or the last line of its standard output;
until it writes any, the last line of its log. Warnings, errors and all else on
standard error are shown in full.
"""

import re

from tools.cluster.display import Display

# For example "2026-11-29 13:01:03.236 I /job:ps/replica:0/task:0] ".
_INFO = re.compile(r'\d{4}-\d\d-\d\d [\d:.]+ I [^]]*\] ')


class SummaryDisplay(Display):
  """On a terminal, the lines change in place and stay at the end.

  Elsewhere, the line of the task `leader` is written every ten seconds, and the
  last line of standard output of every task at the end.
  """

  plain_s = 10.0

  def __init__(self, names, leader, out, err, **options):
    super().__init__(names, out, err, **options)
    self._leader = leader
    self._output = {}  # task -> last line of standard output

  def live(self, name, text):
    if text:
      self._output[name] = text
      self._show(name, text)

  def lines(self, name, texts, is_error=False):
    for text in texts:
      if not is_error:
        self.live(name, text)
        continue
      info = _INFO.match(text)
      if not info:
        self._write_lines(name, [text], is_error=True)
      elif name not in self._output:
        self._show(name, text[info.end():])

  def close(self):
    """Leaves the last line of each task."""
    last = {**self._live, **self._output} if self.is_live else self._output
    self._live.clear()
    for name in self._names:
      if last.get(name):
        self._write_lines(name, [last[name]])
    super().close()

  def _show(self, name, text):
    if self.is_live or name == self._leader:
      super().live(name, text)
