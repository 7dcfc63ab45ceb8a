"""Tests the launcher on a terminal: progress in place, and Ctrl-C."""

import contextlib
import os
import pty
import select
import sys
import tempfile
import time
import unittest

from tools import xml_unittest
from tools.cluster import launcher_under_test

_PROGRAM = '''
import sys
for step in range(3):
  print(f"\\rstep {step} of {sys.argv[1]}", end="", flush=True)
print()
print("terminal" if sys.stdout.isatty() else "none")
'''


class TerminalTest(unittest.TestCase):

  def setUp(self):
    super().setUp()
    folder = self.enterContext(tempfile.TemporaryDirectory())
    self.services = launcher_under_test.fake_services(folder)

  def start(self, *program):
    """Returns the launcher's process and the terminal that it runs on."""
    process, terminal = pty.fork()
    if not process:
      os.environ['TERM'] = 'xterm'
      os.execv(sys.executable, [
          sys.executable, launcher_under_test.LAUNCHER,
          f'--services_dir={self.services}', '--workers=2', '--', *program])
    self.addCleanup(os.close, terminal)
    return process, terminal

  def read_until(self, terminal, text=None):
    """Returns the output until `text` comes, or until the end."""
    found = b''
    deadline = time.monotonic() + launcher_under_test.DEADLINE_S
    while text is None or text not in found:
      left = deadline - time.monotonic()
      self.assertTrue(select.select([terminal], [], [], left)[0], found)
      data = b''
      with contextlib.suppress(OSError):  # all writers have closed it
        data = os.read(terminal, 65536)
      if not data:
        break
      found += data
    return found

  def test_programs_write_to_a_terminal(self):
    process, terminal = self.start(sys.executable, '-c', _PROGRAM, '{task_index}')
    shown = self.read_until(terminal).decode()
    self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), 0)
    for index in (0, 1):
      self.assertRegex(shown, rf'worker:{index} \|\x1b\[0m step 2 of {index}\r\n')
      self.assertRegex(shown, rf'worker:{index} \|\x1b\[0m terminal\r\n')

  def test_keys_stop_the_launcher(self):
    for key, code in ((b'\x03', 130), (b'\x1c', 131)):
      with self.subTest(key):
        process, terminal = self.start('sh', '-c', 'echo running; sleep 1000')
        self.read_until(terminal, b'running')
        os.write(terminal, key)
        self.read_until(terminal)
        self.assertEqual(
            os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), code)

  def test_closed_terminal_stops_the_launcher(self):
    process, terminal = pty.fork()
    if not process:
      os.execv(sys.executable, [
          sys.executable, launcher_under_test.LAUNCHER,
          f'--services_dir={self.services}', '--', 'sleep', '1000'])
    self.read_until(terminal, b'ready')
    os.close(terminal)
    self.assertEqual(
        os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]), 129)


if __name__ == '__main__':
  xml_unittest.main()
