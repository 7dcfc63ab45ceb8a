"""Tests the launcher with the real services and examples."""

import os
import signal
import tempfile
import unittest

from tools import xml_unittest
from tools.cluster.launcher_under_test import Launcher


def _runfile(path):
  return os.path.join(os.environ['TEST_SRCDIR'], os.environ['TEST_WORKSPACE'],
                      path)


class RealClusterTest(unittest.TestCase):

  def start(self, *arguments):
    launcher = Launcher(*arguments, services=_runfile('services'))
    self.addCleanup(launcher.close)
    return launcher

  def test_a_client_of_services(self):
    launcher = self.start('--ps=2', '--workers=2', '--client', '--',
                          _runfile('examples/simple_client'), '{target}', 'init')
    self.assertEqual(launcher.end(), 0, launcher.err)
    self.assertEqual(launcher.out, '1.0\n')
    self.assertEqual(launcher.left(), [])

  def test_all_kinds_of_services(self):
    launcher = self.start('--coordinator', '--ps=2', '--workers=2',
                          '--checkpoint_writers=1', '--gpus=1', '--client', '--',
                          _runfile('examples/two_tasks'), '{target}', 'init')
    self.assertEqual(launcher.end(), 0, launcher.err)
    self.assertRegex(launcher.out, r'^y = \d\.\d+ x -\d\.\d+, loss')
    self.assertIn('worker/replica:0/task:1 has joined', launcher.err)
    self.assertNotIn('while it was being stopped', launcher.err)
    self.assertEqual(launcher.left(), [])

  def test_services_export_metrics(self):
    launcher = self.start('--ps=1', '--workers=1', '--metrics', '--client', '--',
                          _runfile('examples/simple_client'), '{target}', 'init')
    self.assertEqual(launcher.end(), 0, launcher.err)
    self.assertRegex(launcher.err,
                     r'metrics: weft top 127\.0\.0\.1:\d+ 127\.0\.0\.1:\d+\n')
    self.assertIn('Metrics at http://127.0.0.1:', launcher.err)
    self.assertEqual(launcher.left(), [])

  def test_programs_that_are_tasks_export_metrics(self):
    launcher = self.start('--metrics', '--', _runfile('examples/between_graph'),
                          '--steps=5', '--metrics_port={metrics_port}')
    self.assertEqual(launcher.end(), 0, launcher.err)
    self.assertRegex(launcher.err,
                     r'metrics: weft top 127\.0\.0\.1:\d+ 127\.0\.0\.1:\d+\n')
    self.assertRegex(launcher.err,
                     r'worker:0 \| .* Metrics at http://127\.0\.0\.1:\d+/')

  def test_services_serve_and_stop_by_weft_shutdown(self):
    launcher = self.start('--ps=1', '--workers=1')
    target = launcher.wait_for('worker:0 zmq').split()[1]
    client = self.start('--workers=0', '--client', '--',
                        _runfile('examples/simple_client'), target, 'init')
    self.assertEqual(client.end(), 0, client.err)
    launcher.wait_for('Ctrl-C')
    launcher.send(signal.SIGTERM)
    self.assertEqual(launcher.end(), 0, launcher.err)
    self.assertNotIn('still runs after', launcher.err)
    self.assertNotIn('while it was being stopped', launcher.err)
    self.assertEqual(launcher.left(), [])

  # The program connects to worker:0 and counts on ps:0.
  def test_training_continues_after_restarts(self):
    with tempfile.TemporaryDirectory() as folder:
      pipe = os.path.join(folder, 'words')
      os.mkfifo(pipe)
      launcher = self.start(
          '--restart', '--restart_delay=0.1', '--client', '--', 'sh', '-c',
          'exec "$0" --target="$1" --other=/job:worker/task:0 < "$2"',
          _runfile('integration_tests/testing/failure_client'), '{target}', pipe)
      # Opened for reading too, so that this does not wait for the program.
      with os.fdopen(os.open(pipe, os.O_RDWR), 'w', buffering=1) as words:
        words.write('init\ntrain 3\n')
        launcher.wait_for('trained: OK 3 ')
        # Without a checkpoint, the counter is lost with the ps.
        os.kill(launcher.pid_of('ps', 0), signal.SIGKILL)
        launcher.wait_for('ps:0 was killed by SIGKILL; starting it again')
        words.write('train 5\n')
        launcher.wait_for('trained: OK 5 ')
        self.assertIn('train: anew begun', launcher.out)
        os.kill(launcher.pid_of('worker', 0), signal.SIGKILL)
        launcher.wait_for('worker:0 was killed by SIGKILL; starting it again')
        words.write('train 7\n')
        launcher.wait_for('trained: OK 7 ')
        self.assertIn('train: anew other', launcher.out)
    self.assertEqual(launcher.end(), 0, launcher.err)
    self.assertEqual(launcher.left(), [])


if __name__ == '__main__':
  xml_unittest.main()
