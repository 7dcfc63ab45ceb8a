"""All processes of a cluster get SIGTERM at once, while a chief trains.

This happens when a deployment is deleted, when a Slurm job ends, and at Ctrl-C
on a process group. The chief (examples/fashion_mnist, by
MonitoredTrainingSession) saves its last step before it ends. Each process ends
with code 0, in time. A chief whose save fails ends with another code and
reports the lost steps.
"""

import json
import os
import re
import tempfile
import time
import unittest

from integration_tests.testing import programs
from tools import xml_unittest

_DEADLINE_S = 300  # ends a test that hangs
# From the signal until all processes have ended
# (docs/operations/stopping.md).
_PROMISED_S = 15
_CHIEF = ('worker', 0)


class Cluster:
  """Services and trainers; the chief saves at its first and last step only."""

  def __init__(self, root, services, flags):
    self.root = root
    self._services = services
    self._flags = ('--epochs=1000', '--hidden=32', '--save_every=100000000',
                   *flags)
    sizes = dict(services, worker=2)
    ports = iter(programs.free_ports(sum(sizes.values())))
    self._cluster = {job: [f'localhost:{next(ports)}' for _ in range(count)]
                     for job, count in sizes.items()}
    self.programs = {}

  def __enter__(self):
    for job, count in self._services.items():
      for task in range(count):
        self.programs[(job, task)] = programs.start_server(
            self._cluster, job, task, self.root)
    for task in range(2):
      config = {'cluster': self._cluster,
                'task': {'type': 'worker', 'index': task}}
      self.programs[('worker', task)] = programs.Program(
          ['sh', '-c', 'exec "$@" 2>"$LOG"', 'sh',
           programs.binary('examples/fashion_mnist'), *self._flags], 'stdout',
          env=dict(os.environ, TF_CONFIG=json.dumps(config),
                   LOG=self._log_path(task)))
    return self

  def __exit__(self, *_):
    for program in self.programs.values():
      program.kill()

  def stop_all(self):
    """Returns {(job, task): (exit code, lines since the last one read)}.

    Raises subprocess.TimeoutExpired if a process runs on for more than
    _PROMISED_S seconds.
    """
    begin = time.monotonic()
    for program in self.programs.values():
      program.popen.terminate()
    ended = {}
    for name, program in self.programs.items():
      left = begin + _PROMISED_S - time.monotonic()
      code = program.popen.wait(timeout=max(left, 0))
      output = ''
      while (line := program.lines.get(timeout=_DEADLINE_S)) is not None:
        output += line
      ended[name] = (code, output)
    print(*(self.log(task) for task in range(2)))
    print(f'all processes ended after {time.monotonic() - begin:.1f} s',
          flush=True)
    return ended

  def _log_path(self, task):
    return os.path.join(self.root, f'worker{task}.log')

  def log(self, task):
    with open(self._log_path(task), encoding='utf-8') as log:
      return log.read()

  def saved_step(self):
    folder = os.path.join(self.root, 'fashion_mnist')
    with open(os.path.join(folder, 'checkpoint'), encoding='utf-8') as state:
      path = re.match(r'model_checkpoint_path: "(.*)"\n', state.read())[1]
    return int(path.rpartition('-')[2])


class StopAllTest(unittest.TestCase):

  def wait_until_it_trains(self, cluster):
    """Returns once each of the trainers has printed steps of its own."""
    for task in range(2):
      lines = cluster.programs[('worker', task)].lines
      while not re.search(r'step', line := lines.get(timeout=_DEADLINE_S) or ''):
        self.assertTrue(line, 'a trainer ended before it printed a step')

  def check(self, services, flags=()):
    with tempfile.TemporaryDirectory() as root, \
         Cluster(root, services, [flag.format(root=root) for flag in flags]
                ) as cluster:
      self.wait_until_it_trains(cluster)
      ended = cluster.stop_all()
      for name, (code, output) in ended.items():
        self.assertEqual(code, 0, f'{name}: {output}')
        # They end because the chief has ended, not because of the drain time.
        self.assertNotIn('The drain time is over', output, name)
      output = ended[_CHIEF][1]
      self.assertRegex(output, r'a restart continues from there')
      steps = int(re.search(r'of the (\d+) steps in', output)[1])
      self.assertGreater(steps, 0)
      self.assertGreaterEqual(cluster.saved_step(), steps)

  def test_chief_saves_to_its_own_disk(self):
    self.check({'ps': 2}, ['--checkpoints={root}/fashion_mnist'])

  def test_chief_reports_lost_steps(self):
    with tempfile.TemporaryDirectory() as root, \
         Cluster(root, {'ps': 2}, [f'--checkpoints={root}/fashion_mnist']
                ) as cluster:
      self.wait_until_it_trains(cluster)
      # A file takes the folder's place: permissions would not stop root.
      folder = os.path.join(root, 'fashion_mnist')
      os.rename(folder, os.path.join(root, 'before'))
      with open(folder, 'w', encoding='utf-8'):
        pass
      ended = cluster.stop_all()
      code, _ = ended.pop(_CHIEF)
      output = cluster.log(_CHIEF[1])
      self.assertEqual(code, 1, output)
      self.assertRegex(output, r'could not be saved .* Steps \d+ to about \d+ are '
                             r'lost: a restart continues from the checkpoint')
      for name, (code, output) in ended.items():
        self.assertEqual(code, 0, f'{name}: {output}')

  def test_chief_saves_at_a_checkpoint_writer(self):
    self.check({'coordinator': 1, 'ps': 2, 'checkpoint_writer': 1})


if __name__ == '__main__':
  xml_unittest.main()
