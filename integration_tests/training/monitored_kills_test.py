"""Processes are killed while an unattended training runs.

A chief and a worker (examples/fashion_mnist, by MonitoredTrainingSession) train
on two ps with a coordinator and a checkpoint writer. Every few seconds one of
the six, drawn by a seeded generator, is killed with SIGKILL and started again,
as a process supervisor would. The training completes, and the last checkpoint
is complete and of the last step. The mean accuracy is within three standard
deviations of that of undisturbed runs. A chief that gets SIGTERM saves
before it ends.

WEFT_MONITORED_SECONDS is how long training runs are disturbed, one by one
(tools/nightly.sh: 600), each of WEFT_MONITORED_EPOCHS epochs; WEFT_KILLS_SEED
seeds the kills. Without WEFT_MONITORED_SECONDS, one short training is
disturbed, and its accuracy must only be better than chance.
"""

import json
import os
import random
import re
import signal
import statistics
import subprocess
import tempfile
import time
import unittest

from integration_tests.testing import programs
from tools import xml_unittest

_DEADLINE_S = 600  # of a training
_UNDISTURBED = 10
_FEW_KILLS = 5
_IMAGES = 60000
_BATCH = 64
_SERVERS = {'coordinator': 1, 'ps': 2, 'checkpoint_writer': 1}
_CHIEF = ('worker', 0)
_WORKERS = (_CHIEF, ('worker', 1))


class Training:
  """A training on its own cluster, whose files are in `root`."""

  def __init__(self, root, epochs, seed):
    self.root = root
    self.last_step = epochs * (_IMAGES // _BATCH)
    self.accuracy = None
    # Saves often enough that training advances between two kills.
    self._flags = (f'--epochs={epochs}', f'--seed={seed}', '--hidden=32',
                   '--save_every=200')
    sizes = dict(_SERVERS, worker=len(_WORKERS))
    ports = iter(programs.free_ports(sum(sizes.values())))
    self._cluster = {job: [f'localhost:{next(ports)}' for _ in range(count)]
                     for job, count in sizes.items()}
    self.programs = {}

  def __enter__(self):
    for job, count in _SERVERS.items():
      for task in range(count):
        self.start((job, task))
    for worker in _WORKERS:
      self.start(worker)
    return self

  def __exit__(self, *_):
    for program in self.programs.values():
      program.kill()

  def start(self, task):
    if task not in _WORKERS:
      self.programs[task] = programs.start_server(self._cluster, *task,
                                                  self.root)
      return
    config = {'cluster': self._cluster,
              'task': {'type': task[0], 'index': task[1]}}
    self.programs[task] = programs.Program(
        [programs.binary('examples/fashion_mnist'), *self._flags], 'stdout',
        env=dict(os.environ, TF_CONFIG=json.dumps(config)))

  def kill_and_start_again(self, task):
    self.programs[task].kill()
    if task == _CHIEF and self.saved_step() >= self.last_step:
      return  # only its final message is missing
    self.start(task)

  def has_ended(self, timeout):
    """Waits for the chief's end; restarts a failed chief or worker."""
    chief = self.programs[_CHIEF].popen
    if not programs.ends_within(chief, timeout):
      worker = self.programs[_WORKERS[1]].popen
      if worker.poll() not in (None, 0):
        self.kill_and_start_again(_WORKERS[1])
      return False
    code = chief.wait()
    if code == -signal.SIGKILL:
      return True
    if code != 0:
      self.kill_and_start_again(_CHIEF)
      return False
    lines = self.programs[_CHIEF].lines
    while (line := lines.get(timeout=_DEADLINE_S)) is not None:
      found = re.match(r'test accuracy (\d\.\d+)$', line)
      if found:
        self.accuracy = float(found[1])
    return True

  def newest(self):
    """Returns the prefix of the newest visible checkpoint, or None."""
    folder = os.path.join(self.root, 'fashion_mnist')
    try:
      with open(os.path.join(folder, 'checkpoint'), encoding='utf-8') as state:
        path = re.match(r'model_checkpoint_path: "(.*)"\n', state.read())[1]
    except FileNotFoundError:
      return None
    return os.path.join(folder, os.path.basename(path))

  def saved_step(self):
    newest = self.newest()
    return int(newest.rpartition('-')[2]) if newest else -1


class MonitoredKillsTest(unittest.TestCase):

  def setUp(self):
    super().setUp()
    self.seconds = float(os.environ.get('WEFT_MONITORED_SECONDS', '0'))
    self.epochs = int(os.environ.get('WEFT_MONITORED_EPOCHS', '3'))
    self.rng = random.Random(int(os.environ.get('WEFT_KILLS_SEED', '1')))
    self.kills = 0

  def check_end(self, training):
    saved = training.saved_step()
    self.assertGreaterEqual(saved, training.last_step)
    self.assertLess(saved, 1.1 * training.last_step)
    verified = subprocess.run(
        [programs.binary('tools/weft'), 'checkpoint', 'verify',
         training.newest()],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=_DEADLINE_S, check=False)
    self.assertEqual(verified.returncode, 0, verified.stdout)

  def train(self, seed, pause=None):
    """Returns the accuracy, or None if the chief did not print it.

    pause() returns the seconds until the next kill.
    """
    kills = 0
    with tempfile.TemporaryDirectory() as root, \
         Training(root, self.epochs, seed) as training:
      deadline = time.monotonic() + _DEADLINE_S
      while not training.has_ended(pause() if pause else 1):
        self.assertLess(time.monotonic(), deadline, 'the training did not end')
        if pause and (self.seconds or kills < _FEW_KILLS):
          kills += 1
          training.kill_and_start_again(
              self.rng.choice(list(training.programs)))
      self.check_end(training)
      print(f'seed {seed}: {kills} kills, accuracy {training.accuracy}',
            flush=True)
      self.kills += kills
      return training.accuracy

  def test_accuracy_is_as_good_as_undisturbed(self):
    if not self.seconds:
      return self.check_one(self.train(1, lambda: self.rng.uniform(0.1, 0.6)))
    undisturbed = [self.train(seed) for seed in range(_UNDISTURBED)]
    mean, deviation = statistics.mean(undisturbed), statistics.stdev(undisturbed)
    disturbed = []
    end = time.monotonic() + self.seconds
    while time.monotonic() < end:
      accuracy = self.train(len(disturbed), lambda: self.rng.uniform(1, 5))
      if accuracy is not None:
        disturbed.append(accuracy)
    print(f'undisturbed: {mean:.4f} +- {deviation:.4f}; disturbed by '
          f'{self.kills} kills: {statistics.mean(disturbed):.4f} of '
          f'{len(disturbed)}')
    self.assertLessEqual(abs(statistics.mean(disturbed) - mean), 3 * deviation)

  def check_one(self, accuracy):
    self.assertGreater(self.kills, 0)
    if accuracy is not None:
      self.assertGreater(accuracy, 0.75)

  def test_chief_saves_on_sigterm(self):
    with tempfile.TemporaryDirectory() as root, \
         Training(root, 1000, seed=1) as training:
      deadline = time.monotonic() + _DEADLINE_S
      while training.saved_step() < 0:
        self.assertLess(time.monotonic(), deadline, 'no checkpoint was saved')
        self.assertFalse(training.has_ended(0.1))
      chief = training.programs[_CHIEF]
      chief.popen.terminate()
      self.assertEqual(chief.popen.wait(timeout=_DEADLINE_S), 0)
      output = ''
      while (line := chief.lines.get(timeout=_DEADLINE_S)) is not None:
        output += line
      # The timer asks for a save only at one step in 200.
      self.assertRegex(output, r'a restart continues from there')
      steps = int(re.search(r'of the (\d+) steps in', output)[1])
      self.assertGreaterEqual(training.saved_step(), steps)


if __name__ == '__main__':
  xml_unittest.main()
