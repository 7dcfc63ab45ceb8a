"""An Estimator's training completes although tasks of it are killed.

examples/adult_income runs as two ps, two workers, the first of which is the
chief, and an evaluator. A worker, a ps, the chief and the evaluator are killed
with SIGKILL one after the other in the middle of the training. Each is started
again, as a process supervisor would. The training and its evaluation complete,
and all processes end by themselves.
"""

import json
import os
import re
import subprocess
import tempfile
import unittest

from integration_tests.testing import programs
from tools import xml_unittest

_DEADLINE_S = 240
_STEPS = 2000
_SAVE_EVERY = 100
_TASKS = (('ps', 0), ('ps', 1), ('worker', 0), ('worker', 1), ('evaluator', 0))
_CHIEF = ('worker', 0)


class Training:
  """The processes of all tasks; `folder` holds the model."""

  def __init__(self, folder):
    self._folder = folder
    ports = iter(programs.free_ports(4))
    self._cluster = {job: [f'localhost:{next(ports)}' for _ in range(2)]
                     for job in ('ps', 'worker')}
    self.processes = {}

  def __enter__(self):
    for task in _TASKS:
      self.start(task)
    return self

  def __exit__(self, *_):
    for process in self.processes.values():
      process.kill()
      process.communicate()

  def start(self, task):
    config = {'cluster': self._cluster,
              'task': {'type': task[0], 'index': task[1]}}
    self.processes[task] = subprocess.Popen(  # pylint: disable=R1732
        [programs.binary('examples/adult_income'), f'--steps={_STEPS}',
         f'--save_every={_SAVE_EVERY}', f'--model_dir={self._folder}'],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, 'TF_CONFIG': json.dumps(config)})

  def kill_and_start_again(self, task):
    self.processes[task].kill()
    self.processes[task].communicate()
    self.start(task)

  def saved_step(self):
    try:
      with open(f'{self._folder}/checkpoint', encoding='utf-8') as state:
        return int(re.match(r'model_checkpoint_path: ".*-(\d+)"\n',
                            state.read())[1])
    except FileNotFoundError:
      return -1

  def wait_until_saved(self, step):
    """Returns the newest saved step once it is at least `step`."""
    for _ in range(10 * _DEADLINE_S):
      saved = self.saved_step()
      if saved >= step:
        return saved
      chief = self.processes[_CHIEF]
      if programs.ends_within(chief, 0.1):
        out, _ = chief.communicate()
        raise AssertionError(
            f'the chief ended with {chief.returncode} at step {saved}: {out}')
    raise AssertionError(
        f'no checkpoint of step {step} or later; the newest is of step {saved}')


class EstimatorKillsTest(unittest.TestCase):

  def test_training_completes_after_each_kill(self):
    with tempfile.TemporaryDirectory() as folder:
      with Training(folder) as training:
        for killed in (('worker', 1), ('ps', 1), _CHIEF, ('evaluator', 0)):
          saved = training.saved_step()
          saved = training.wait_until_saved(saved + _SAVE_EVERY)
          self.assertLess(saved, _STEPS, 'the training ended before the kill')
          training.kill_and_start_again(killed)
        out = {}
        for task in reversed(_TASKS):
          out[task], _ = training.processes[task].communicate(
              timeout=_DEADLINE_S)
          self.assertEqual(training.processes[task].returncode, 0,
                           (task, out[task]))
        self.assertGreaterEqual(training.saved_step(), _STEPS)
        found = re.search(r'(?m)^accuracy 0\.\d+, AUC (0\.\d+) after (\d+) ',
                          out['evaluator', 0])
        self.assertTrue(found, out['evaluator', 0])
        # Better than chance. More is not expected: so many steps overfit the
        # thousand rows.
        self.assertGreater(float(found[1]), 0.65)
        # The other worker may continue while the last checkpoint is saved.
        self.assertGreaterEqual(int(found[2]), _STEPS)


if __name__ == '__main__':
  xml_unittest.main()
