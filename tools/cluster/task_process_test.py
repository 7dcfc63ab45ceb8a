"""Tests a process, its end and its child processes."""

import contextlib
import os
import select
import signal
import sys
import unittest

from tools import xml_unittest
from tools.cluster.task_process import TaskProcess

_DEADLINE_S = 60


def _python(code, **streams):
  return TaskProcess('worker:0', [sys.executable, '-c', code], dict(os.environ),
                     **streams)


def _readable(descriptor):
  return bool(select.select([descriptor], [], [], _DEADLINE_S)[0])


class TaskProcessTest(unittest.TestCase):

  def ended(self, process):
    """Returns the output of a process until it ends by itself."""
    self.assertTrue(_readable(process))
    process.reap()
    lines = [line for stream in process.streams
             for line in stream.reader.feed(stream.read() or b'')]
    process.close()
    return lines

  def line(self, process):
    """Returns the next line of standard output."""
    while True:
      self.assertTrue(_readable(process.streams[0]))
      data = process.streams[0].read()
      self.assertTrue(data, 'the process ended without a line')
      lines = process.streams[0].reader.feed(data)
      if lines:
        return lines[0]

  def test_output_and_exit_code(self):
    process = _python('import sys; print(1); print(2, file=sys.stderr); exit(7)')
    self.assertEqual(self.ended(process), ['1', '2'])
    self.assertEqual(process.code, 7)

  def test_killed_process_has_the_code_of_a_shell(self):
    process = _python('import signal; signal.pause()')
    process.signal(signal.SIGKILL)
    self.ended(process)
    self.assertEqual(process.code, 128 + signal.SIGKILL)

  def test_missing_program_is_an_error(self):
    with self.assertRaises(OSError):
      TaskProcess('worker:0', ['/no/such/program'], {})

  def test_live_output_is_a_terminal(self):
    code = 'import sys; print(sys.stdout.isatty(), sys.stderr.isatty())'
    self.assertEqual(self.ended(_python(code, live=True)), ['True False'])
    self.assertEqual(self.ended(_python(code)), ['False False'])

  def test_remaining_children_are_killed(self):
    process = _python('import os, subprocess, sys;'
                      'print(subprocess.Popen(["sleep", "1000"]).pid, flush=True)')
    left = os.pidfd_open(int(self.line(process)))
    self.ended(process)
    self.assertTrue(_readable(left))
    os.close(left)

  def test_process_dies_with_its_parent(self):
    ours, theirs = os.pipe()
    starter = os.fork()
    if not starter:
      process = _python('import signal; print(1, flush=True); signal.pause()')
      self.line(process)
      os.write(theirs, b'%d\n' % process.pid)
      os.kill(os.getpid(), signal.SIGKILL)
    started = int(os.read(ours, 20))
    os.waitpid(starter, 0)
    with contextlib.suppress(ProcessLookupError):  # it has already ended
      with os.fdopen(os.pidfd_open(started)) as watched:
        self.assertTrue(_readable(watched))
    os.close(ours)
    os.close(theirs)


if __name__ == '__main__':
  xml_unittest.main()
