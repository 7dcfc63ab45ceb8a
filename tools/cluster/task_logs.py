"""Keeps what each task writes in a file of its own."""

import os

from tools.cluster.line_reader import without_escapes


class NoLogs:
  """Keeps nothing."""

  def write(self, name, lines):
    """Does nothing."""

  def close(self):
    """Does nothing."""


class LogFolder:
  """Files FOLDER/ps_0.log, ... OSError: a file could not be made."""

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
