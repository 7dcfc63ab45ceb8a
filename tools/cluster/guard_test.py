"""Who carries the mark is found wherever it moved to, and ended."""

import os
import select
import subprocess
import unittest
import unittest.mock

from tools import xml_unittest
from tools.cluster import guard

_DEADLINE_S = 60


def _start(environment, *command):
  """A process that has become another program already."""
  return subprocess.Popen(  # pylint: disable=consider-using-with
      command, env={**os.environ, **environment}, stdout=subprocess.PIPE)


class GuardTest(unittest.TestCase):

  def start(self, guarded, command):
    process = _start(guarded.environment(), 'sh', '-c', command)
    self.addCleanup(process.communicate)
    self.addCleanup(process.kill)
    return process

  def test_it_ends_what_is_left(self):
    guarded = guard.Guard()
    process = self.start(guarded, 'setsid sleep 1000 & echo; wait')
    process.stdout.readline()
    guarded.close()
    # Its output ends when all who could write to it have.
    self.assertTrue(select.select([process.stdout], [], [], _DEADLINE_S)[0])
    self.assertEqual(process.stdout.read(), b'')
    self.assertEqual(process.wait(_DEADLINE_S), -9)

  def test_it_leaves_others_alone(self):
    one, other = guard.Guard(), guard.Guard()
    process = self.start(one, 'echo; exec sleep 1000')
    process.stdout.readline()
    other.close()
    self.assertIsNone(process.poll())
    one.close()
    self.assertEqual(process.wait(_DEADLINE_S), -9)

  def test_marks_add_up_where_launchers_start_launchers(self):
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
