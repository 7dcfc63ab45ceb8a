"""Tests that processes with the mark are killed, even in other sessions."""

import os
import select
import subprocess
import unittest
import unittest.mock

from tools import xml_unittest
from tools.cluster import guard

_DEADLINE_S = 60


def _start(environment, *command):
  """Returns a process that already runs the command."""
  return subprocess.Popen(  # pylint: disable=consider-using-with
      command, env={**os.environ, **environment}, stdout=subprocess.PIPE)


class GuardTest(unittest.TestCase):

  def start(self, guarded, command):
    process = _start(guarded.environment(), 'sh', '-c', command)
    self.addCleanup(process.communicate)
    self.addCleanup(process.kill)
    return process

  def test_remaining_processes_are_killed(self):
    guarded = guard.Guard()
    process = self.start(guarded, 'setsid sleep 1000 & echo; wait')
    process.stdout.readline()
    guarded.close()
    # Its output ends when all processes with its stream have ended.
    self.assertTrue(select.select([process.stdout], [], [], _DEADLINE_S)[0])
    self.assertEqual(process.stdout.read(), b'')
    self.assertEqual(process.wait(_DEADLINE_S), -9)

  def test_other_processes_are_not_killed(self):
    one, other = guard.Guard(), guard.Guard()
    process = self.start(one, 'echo; exec sleep 1000')
    process.stdout.readline()
    other.close()
    self.assertIsNone(process.poll())
    one.close()
    self.assertEqual(process.wait(_DEADLINE_S), -9)

  def test_nested_launchers_pass_both_marks(self):
    outer = guard.Guard()
    with unittest.mock.patch.dict(os.environ, outer.environment()):
      inner = guard.Guard()
      process = self.start(inner, 'echo; exec sleep 1000')
    process.stdout.readline()
    outer.close()
    self.assertEqual(process.wait(_DEADLINE_S), -9)
    inner.close()


if __name__ == '__main__':
  xml_unittest.main()
