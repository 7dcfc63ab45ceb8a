"""Processes are killed while a training saves every few steps.

Three ps, a worker, a coordinator, a checkpoint writer and the program that
trains (examples/saver_loop) are killed with SIGKILL one after the other. A
seeded generator draws the time of each kill, which may fall into a step, a
save, its commit or a sweep. After each kill, all checksums of the newest
visible checkpoint are right, and it is no older than the last checkpoint that
the program reported. The killed process is started again, and the training
continues from that checkpoint. At the end, only the files of the checkpoints
that are kept are left.

WEFT_KILLS is the number of kills (tools/nightly.sh: 500), WEFT_KILLS_SEED their
seed.
"""

import os
import random
import re
import subprocess
import tempfile
import unittest

from integration_tests.testing import programs
from tools import xml_unittest

_DEADLINE_S = 120
_SERVERS = {'coordinator': 1, 'ps': 3, 'worker': 1, 'checkpoint_writer': 1}


class KillSavesTest(unittest.TestCase):

  def setUp(self):
    super().setUp()
    self.root = self.enterContext(tempfile.TemporaryDirectory())
    ports = iter(programs.free_ports(sum(_SERVERS.values())))
    self.cluster = {job: [f'localhost:{next(ports)}' for _ in range(count)]
                    for job, count in _SERVERS.items()}
    self.servers = {}
    self.client = None
    self.reported = 0  # the step of the last checkpoint that was reported
    self.known = set()  # checkpoints that a program has reported
    for job, count in _SERVERS.items():
      for task in range(count):
        self.start(job, task)

  def tearDown(self):
    super().tearDown()
    for program in [*self.servers.values(), self.client]:
      if program:
        program.kill()

  def start(self, job, task):
    self.servers[job, task] = programs.start_server(self.cluster, job, task,
                                                    self.root)

  def train(self, steps):
    """Starts or continues a training up to that step."""
    writer = self.cluster['checkpoint_writer'][0]
    self.client = programs.Program(
        [programs.binary('examples/saver_loop'), f'--dir=zmq://{writer}/job',
         f'--target=zmq://{self.cluster["worker"][0]}', f'--steps={steps}',
         '--save_every=2'], 'stdout')

  def record_line(self, line):
    """Records a line of the program; returns whether it reports a save."""
    if line is None:
      return False
    restored = re.match(r'restored .*/model-(\d+)$', line.strip())
    if restored:
      self.assertGreaterEqual(int(restored[1]), self.reported, line)
      self.known.add(f'model-{restored[1]}')
    saved = re.search(r'saved .*/model-(\d+)$', line.strip())
    if saved:
      self.reported = int(saved[1])
      self.known.add(f'model-{saved[1]}')
    return bool(saved)

  def train_until_saved(self):
    """Returns at the next save; restarts a program that an error ended."""
    while True:
      line = self.client.lines.get(timeout=_DEADLINE_S)
      if line is None:
        self.client.kill()
        self.train(steps=1 << 40)
      elif self.record_line(line):
        return

  def record_pending_lines(self):
    """Records the lines so far; leaves the end to train_until_saved."""
    while not self.client.lines.empty():
      line = self.client.lines.get()
      if line is None:
        self.client.lines.put(None)
        return
      self.record_line(line)

  def newest(self):
    with open(os.path.join(self.root, 'job', 'checkpoint'),
              encoding='utf-8') as state:
      return os.path.basename(
          re.match(r'model_checkpoint_path: "(.*)"\n', state.read())[1])

  def check_newest(self):
    """Checks the newest visible checkpoint; returns its step."""
    while True:
      name = self.newest()
      verified = subprocess.run(
          [programs.binary('tools/weft'), 'checkpoint', 'verify',
           os.path.join(self.root, 'job', name)],
          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
          timeout=_DEADLINE_S, check=False)
      # Five saves later the checkpoint is deleted.
      if verified.returncode == 0 or name == self.newest():
        break
    self.assertEqual(verified.returncode, 0, verified.stdout)
    step = int(name.removeprefix('model-'))
    self.assertGreaterEqual(step, self.reported)
    return step

  def kill_and_start_again(self, victim):
    if victim == 'client':
      self.client.kill()
      self.record_pending_lines()
      self.check_newest()
      self.train(steps=1 << 40)
      return
    self.servers[victim].kill()
    # Records the saves so far; the other processes may complete more.
    self.record_pending_lines()
    self.check_newest()
    self.start(*victim)

  def test_newest_checkpoint_survives_each_kill(self):
    kills = int(os.environ.get('WEFT_KILLS', '8'))
    seed = int(os.environ.get('WEFT_KILLS_SEED', '1'))
    print(f'{kills} kills, seed {seed}', flush=True)
    rng = random.Random(seed)
    victims = ['client', *self.servers]
    self.train(steps=1 << 40)
    for number in range(kills):
      self.train_until_saved()
      victim = rng.choice(victims)
      # Kills up to some saves later. An error ends the program earlier.
      programs.ends_within(self.client.popen, rng.uniform(0, 0.1))
      with self.subTest(kill=number, seed=seed, victim=victim):
        self.kill_and_start_again(victim)
    self.train_until_saved()
    self.client.kill()
    self.record_pending_lines()
    # The training completes.
    last = self.check_newest() + 20
    while True:
      self.train(steps=last)
      while True:
        line = self.client.lines.get(timeout=_DEADLINE_S)
        if line is None:
          break
        self.record_line(line)
      if self.client.popen.wait(timeout=_DEADLINE_S) == 0:
        break
      self.client.kill()
    self.assertEqual(self.reported, last)
    self.assertEqual(self.check_newest(), last)
    self.check_only_kept_files_remain()

  def check_only_kept_files_remain(self):
    """Checks that checkpoints that were not reported have been swept.

    Checkpoints that a killed program reported, and that the next one does not
    recover, may stay.
    """
    folder = os.path.join(self.root, 'job')
    with open(os.path.join(folder, 'checkpoint'), encoding='utf-8') as state:
      kept = set(re.findall(r'^all_model_checkpoint_paths: ".*?(model-\d+)"$',
                            state.read(), re.MULTILINE))
    self.assertLessEqual(len(kept), 5)
    files = [name for name in os.listdir(folder)
             if name not in ('checkpoint', 'model.saving')]
    there = {name.split('.')[0] for name in files}
    self.assertLessEqual(kept, there)
    self.assertLessEqual(there, kept | self.known)
    self.assertFalse([name for name in files if 'temp' in name], files)


if __name__ == '__main__':
  xml_unittest.main()
