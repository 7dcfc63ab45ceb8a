"""Writes the output of each task to a file."""

import os

from tools.cluster.line_reader import without_escapes


class NoLogs:
  """Discards the output."""

  def write(self, name, lines):
    """Does nothing."""

  def close(self):
    """Does nothing."""


class LogFolder:
  """The files FOLDER/ps_0.log, ...; raises OSError if one cannot be made."""

  def __init__(self, folder, names):
    os.makedirs(folder, exist_ok=True)
    self._files = {}
    for name in names:
      path = os.path.join(folder, name.replace(':', '_') + '.log')
      self._files[name] = open(  # pylint: disable=consider-using-with
          path, 'w', encoding='utf-8')

  def write(self, name, lines):
    file = self._files[name]
    file.writelines(without_escapes(line) + '\n' for line in lines)
    file.flush()

  def close(self):
    for file in self._files.values():
      file.close()
