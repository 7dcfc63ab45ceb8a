"""The examples as a user runs them: alone, and as a process for each task."""

import gzip
import json
import os
import random
import re
import struct
import subprocess
import tempfile
import time
import unittest
import unittest.mock
import urllib.request

from integration_tests.testing import object_store
from integration_tests.testing import programs
from tools import xml_unittest

_DEADLINE_S = 120
# Well below one minute, after which a connection to a server fails.
_REFUSED_DEADLINE_S = 30


def _run(name, *arguments):
  return subprocess.run([programs.binary(f'examples/{name}'), *arguments],
                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                        text=True, timeout=_DEADLINE_S, check=False)


class Cluster:
  """The processes of a cluster on this machine, one for each task."""

  def __init__(self, **jobs):
    ports = iter(programs.free_ports(sum(jobs.values())))
    self.spec = {job: [f'localhost:{next(ports)}' for _ in range(count)]
                 for job, count in jobs.items()}
    self._processes = []

  def __enter__(self):
    return self

  def __exit__(self, *_):
    for process in self._processes:
      process.kill()
      process.communicate()

  def target(self, job, index=0):
    return f'zmq://{self.spec[job][index]}'

  def start_services(self, *flags):
    """Starts a service for each task; clients wait for the services."""
    for job, addresses in self.spec.items():
      for index in range(len(addresses)):
        self._start(programs.binary(f'services/{job}/{job}'),
                    f'--cluster={json.dumps(self.spec)}',
                    f'--task_index={index}', *flags)

  def start_example(self, name, job, index, *flags):
    """Starts an example as that task, by flags."""
    return self._start(programs.binary(f'examples/{name}'),
                       f'--cluster={json.dumps(self.spec)}',
                       f'--job_name={job}', f'--task_index={index}', *flags)

  def start_example_by_environment(self, name, job, index, *flags):
    """Starts an example as that task, by TF_CONFIG."""
    config = {'cluster': self.spec, 'task': {'type': job, 'index': index}}
    return self._start(programs.binary(f'examples/{name}'), *flags,
                       environment={'TF_CONFIG': json.dumps(config)})

  def _start(self, *command, environment=None):
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, **(environment or {})})
    self._processes.append(process)
    return process


def _idx(path, values, *shape):
  header = struct.pack(f'>HBB{len(shape)}I', 0, 8, len(shape), *shape)
  with gzip.open(path, 'wb') as file:
    file.write(header + bytes(values))


def _write_images(folder, prefix, count):
  """Writes images in which the row of the label is white: easy to classify.

  Each of two replicas reads every other image. Both see all labels, because one
  of them may make most of the steps.
  """
  labels = [i // 2 % 10 for i in range(count)]
  pixels = bytearray()
  for label in labels:
    for row in range(28):
      pixels += bytes([255 if row == 2 * label else 0]) * 28
  _idx(f'{folder}/{prefix}-images-idx3-ubyte.gz', pixels, count, 28, 28)
  _idx(f'{folder}/{prefix}-labels-idx1-ubyte.gz', labels, count)


def _write_ratings(folder):
  """Writes ratings in MovieLens's format.

  A rating is 5 if the ids of user and film are both odd or both even, else 1.
  """
  with open(f'{folder}/u.data', 'w', encoding='utf-8') as out:
    draw = random.Random(1)
    for _ in range(3000):
      user, film = draw.randint(1, 40), draw.randint(1, 30)
      rating = 5 if user % 2 == film % 2 else 1
      out.write(f'{user}\t{film}\t{rating}\t881250949\n')


def _write_clicks(path, count):
  """Writes rows in Criteo's format, some of whose fields are empty.

  The first category determines the label.
  """
  draw = random.Random(count)
  with open(path, 'w', encoding='utf-8') as out:
    for _ in range(count):
      clicked = draw.randint(0, 1)
      numbers = [draw.choice(['', '-1', '7', '1300']) for _ in range(13)]
      categories = [draw.choice(['', '68fd1e64', '80e26c9b'])
                    for _ in range(25)]
      out.write('\t'.join([str(clicked), *numbers,
                           'ab12' if clicked else 'cd34', *categories]) + '\n')


class ExamplesTest(unittest.TestCase):

  def succeeds(self, name, *arguments):
    ended = _run(name, *arguments)
    self.assertEqual(ended.returncode, 0, ended.stderr)
    return ended.stdout

  def wait_for_success(self, process):
    out, err = process.communicate(timeout=_DEADLINE_S)
    self.assertEqual(process.returncode, 0, err)
    return out

  def refused(self, code, name, *arguments):
    ended = _run(name, *arguments)
    self.assertEqual(ended.returncode, code, ended.stderr)
    self.assertEqual(ended.stdout, '')
    return ended.stderr

  def test_cluster(self):
    self.assertEqual(self.succeeds('cluster'), '4.0\n')

  # tensorboard_test checks the contents.
  def test_summaries_write_an_event_file(self):
    with tempfile.TemporaryDirectory() as folder:
      logdir = os.path.join(folder, 'new', 'logs')
      self.assertEqual(self.succeeds('summaries', logdir),
                       f'tensorboard --logdir={logdir}\n')
      (name,) = os.listdir(logdir)
      self.assertRegex(name, r'^events\.out\.tfevents\.\d{10}\.')
      refusal = self.refused(1, 'summaries', os.path.join(logdir, name))
      self.assertIn(name, refusal)

  def test_summaries_go_to_an_object_store(self):
    with object_store.server('s3') as url, unittest.mock.patch.dict(
        os.environ, object_store.environment(url)):
      self.succeeds('summaries', 's3://bucket/logs')
      with urllib.request.urlopen(f'{url}/bucket?list-type=2') as answer:
        listing = answer.read().decode()
    # The listing also has an object for the folder.
    (size,) = re.findall(
        r'<Key>logs/events\.out\.tfevents\.\d{10}\.[^<]*</Key>.*?<Size>(\d+)<',
        listing, re.DOTALL)
    # A file of this machine has the same size in a folder.
    with tempfile.TemporaryDirectory() as logdir:
      self.succeeds('summaries', logdir)
      (name,) = os.listdir(logdir)
      self.assertEqual(int(size), os.path.getsize(os.path.join(logdir, name)))

  def test_simple_client_shares_variable_across_tasks(self):
    with Cluster(ps=1, worker=1) as cluster:
      cluster.start_services()
      a, b = cluster.target('ps'), cluster.target('worker')
      self.assertEqual(self.succeeds('simple_client', a, 'init'), '1.0\n')
      self.assertEqual(self.succeeds('simple_client', b), '2.0\n')

  def check_replica_device_setter(self, out):
    for i in range(1, 6):
      self.assertIn(f'v{i} is on /job:ps/task:{(i - 1) % 2}\n', out)
    places = dict(re.findall(r'^(\S+): \(\w+\): (\S+)$', out, re.MULTILINE))
    ps = '/job:ps/replica:0/task:%d/device:CPU:0'
    worker = '/job:worker/replica:0/task:%d/device:CPU:0'
    for variable, task in (('v1', 0), ('v2', 1), ('v3', 0)):
      for node in (variable, f'{variable}/Assign', f'{variable}/read'):
        self.assertEqual(places[node], ps % task, node)
    self.assertEqual(places['add'], worker % 0)
    for node in ('mul', 'mul/x', 'mul_1', 'mul_1/x'):
      self.assertEqual(places[node], worker % 1, node)
    self.assertTrue(out.endswith('s = 3.0, p1 = 6.0, p2 = 9.0, v3 = 3.0\n'), out)

  def test_replica_device_setter(self):
    self.check_replica_device_setter(self.succeeds('replica_device_setter'))
    with Cluster(ps=2, worker=2) as cluster:
      cluster.start_services()
      self.check_replica_device_setter(
          self.succeeds('replica_device_setter', cluster.target('ps')))

  def test_round_robin_three(self):
    expected = (
        'round robin:\n'
        'weights_1 313600 bytes on /job:ps/task:0\n'
        'biases_1     400 bytes on /job:ps/task:1\n'
        'weights_2   4000 bytes on /job:ps/task:2\n'
        'biases_2      40 bytes on /job:ps/task:0\n'
        'greedy, by bytes:\n'
        'weights_1 313600 bytes on /job:ps/task:0\n'
        'biases_1     400 bytes on /job:ps/task:1\n'
        'weights_2   4000 bytes on /job:ps/task:2\n'
        'biases_2      40 bytes on /job:ps/task:1\n')
    self.assertEqual(self.succeeds('round_robin_three'), expected)
    with Cluster(ps=3) as cluster:
      cluster.start_services()
      self.assertEqual(
          self.succeeds('round_robin_three', cluster.target('ps', 2)), expected)

  def test_containers(self):
    expected = (
        'model_1: w = 1.0\n'
        'model_2: w = 2.0\n'
        'reset of model_1\n'
        'model_1: w is not initialized\n'
        'model_2: w = 2.0\n'
        'my_problem_1/w = 3.0\n'
        'my_problem_2/w = 4.0\n')
    self.assertEqual(self.succeeds('containers'), expected)
    with Cluster(ps=1, worker=1) as cluster:
      cluster.start_services()
      self.assertEqual(self.succeeds('containers', cluster.target('worker')),
                       expected)

  def test_input_queues(self):
    expected = (
        'of 4: one [1 2], two [3 4 5 6], two more: OUT_OF_RANGE\n'
        'up to two: [7 8]\n'
        'one more: OUT_OF_RANGE\n'
        'shuffled: [SIX], then [TWO]\n'
        'padded: [1 0 2 3]\n'
        'nothing within 0.1 s: DEADLINE_EXCEEDED\n'
        'x [1 2], y [10 -1]\n'
        'x [3 1], y [30 10]\n'
        'x [2 3], y [-1 30]\n'
        'after two epochs: OUT_OF_RANGE\n')
    shuffled = re.compile(r'shuffled: \[([\d ]+)\], then \[([\d ]+)\]')

    def check(output):
      first, rest = (part.split() for part in shuffled.search(output).groups())
      self.assertEqual((len(first), len(rest)), (6, 2))
      self.assertEqual(sorted(first + rest), list('01234567'))
      self.assertEqual(
          shuffled.sub('shuffled: [SIX], then [TWO]', output), expected)

    check(self.succeeds('input_queues'))
    with Cluster(ps=1, worker=1) as cluster:
      cluster.start_services()
      for _ in range(2):  # The first run leaves no state behind.
        check(self.succeeds('input_queues', cluster.target('worker')))

  def test_data_pipeline(self):
    expected = '400 steps: y = 2.00 a + -1.00 b + 1.00\n'
    self.assertEqual(self.succeeds('data_pipeline'), expected)
    with Cluster(ps=1, worker=1) as cluster:
      cluster.start_services()
      for _ in range(2):  # The first run leaves no state behind.
        self.assertEqual(
            self.succeeds('data_pipeline', cluster.target('worker')), expected)

  def test_in_graph_replication(self):
    expected = 'loss of 8 rows on 2 workers: 22.0\n'
    self.assertEqual(self.succeeds('in_graph_replication', '--gpus=1'), expected)
    on_cpus = _run('in_graph_replication')
    self.assertEqual((on_cpus.returncode, on_cpus.stdout), (0, expected),
                     on_cpus.stderr)
    for task in range(2):
      self.assertIn('there is no /job:worker/replica:0/task:%d/device:GPU:0: '
                    'its share runs on the CPU' % task, on_cpus.stderr)
    refusal = self.refused(1, 'in_graph_replication', '--nosoft_placement')
    self.assertIn('INVALID_ARGUMENT', refusal)
    self.assertIn('/job:worker/task:0/device:GPU:0', refusal)
    with Cluster(ps=1, worker=2) as cluster:
      cluster.start_services('--host_gpus=1')
      self.assertEqual(
          self.succeeds('in_graph_replication',
                        f'--target={cluster.target("worker")}'), expected)

  def check_between_graph(self, start, *flags):
    """Trains; start(cluster) returns the method that starts a task."""
    with Cluster(ps=2, worker=2) as cluster:
      for index in range(2):
        start(cluster)('between_graph', 'ps', index)
      # The chief starts last: the other worker waits for its variables.
      workers = [
          start(cluster)('between_graph', 'worker', index, '--steps=400', *flags)
          for index in (1, 0)]
      for worker in workers:
        self.assertRegex(
            self.wait_for_success(worker),
            r'^y = (1\.9|2\.0)\d x -(0\.9|1\.0)\d after \d+ steps, '
            r'\d+ of them here\n$')

  def test_between_graph_by_flags(self):
    self.check_between_graph(lambda cluster: cluster.start_example)

  def test_between_graph_synchronous(self):
    self.check_between_graph(lambda cluster: cluster.start_example, '--sync')

  def test_between_graph_refuses_contradicting_specs(self):
    """The other servers refuse the worker, whose own peer does not exist.

    It ends instead of connecting forever.
    """
    with Cluster(ps=1, worker=2) as cluster:
      cluster.start_example('between_graph', 'ps', 0)
      other = f'localhost:{programs.free_ports(1)[0]}'
      spec = {**cluster.spec, 'worker': [other, cluster.spec['worker'][1]]}
      begin = time.monotonic()
      worker = cluster.start_example('between_graph', 'worker', 1,
                                     f'--cluster={json.dumps(spec)}')
      _, err = worker.communicate(timeout=_DEADLINE_S)
      self.assertLess(time.monotonic() - begin, _REFUSED_DEADLINE_S, err)
      self.assertEqual(worker.returncode, 1, err)
      self.assertIn('FAILED_PRECONDITION', err.splitlines()[-1])
      self.assertIn(other, err.splitlines()[-1])

  def test_between_graph_by_environment(self):
    self.check_between_graph(
        lambda cluster: cluster.start_example_by_environment)

  def test_fashion_mnist_alone_and_on_a_cluster(self):
    with tempfile.TemporaryDirectory() as folder:
      _write_images(folder, 'train', 640)
      _write_images(folder, 't10k', 50)
      flags = (f'--data_dir={folder}', '--epochs=12', '--batch_size=16',
               '--hidden=16')
      alone = self.succeeds('fashion_mnist', *flags)
      self.assertRegex(alone, r'\ntest accuracy 1\.0000\n$')
      with Cluster(ps=2, worker=2) as cluster:
        flags += (f'--checkpoints={folder}/saved', '--save_every=100')
        for index in range(2):
          cluster.start_example_by_environment('fashion_mnist', 'ps', index)
        other, chief = [
            cluster.start_example_by_environment('fashion_mnist', 'worker',
                                                 index, *flags)
            for index in (1, 0)]
        out = self.wait_for_success(chief)
        self.assertRegex(out, r'(^|\n)common step \d+/480  loss ')
        self.assertRegex(out, r'\ntest accuracy 1\.0000\n$')
        self.assertNotIn('accuracy', self.wait_for_success(other))
        self.assertIn(f'saved to {folder}/saved: a restart continues', out)
        with open(f'{folder}/saved/checkpoint', encoding='utf-8') as state:
          self.assertRegex(state.read(), r'model\.ckpt-48\d"')
      # New processes continue in the same directory.
      with Cluster(ps=2, worker=1) as cluster:
        for index in range(2):
          cluster.start_example_by_environment('fashion_mnist', 'ps', index)
        chief = cluster.start_example_by_environment('fashion_mnist', 'worker',
                                                     0, *flags)
        self.assertRegex(self.wait_for_success(chief),
                         r'\n4[78]\d of the 96\d steps in ')

  def test_adult_income_alone_and_on_a_cluster(self):
    with tempfile.TemporaryDirectory() as folder:
      flags = ('--steps=300', '--save_every=100', f'--model_dir={folder}/alone')
      alone = self.succeeds('adult_income', *flags)
      self.check_income(alone)
      self.assertIn(f'the model is in {folder}/alone; tensorboard', alone)
      again = self.succeeds('adult_income', *flags)
      self.check_income(again)
      self.assertNotIn('common step', again, 'it was trained already')
      flags = (*flags[:2], f'--model_dir={folder}/shared')
      with Cluster(ps=2, worker=2) as cluster:
        tasks = [cluster.start_example_by_environment('adult_income', job, index,
                                                      *flags)
                 for job, index in (('ps', 0), ('ps', 1), ('worker', 1),
                                    ('worker', 0), ('evaluator', 0))]
        out = [self.wait_for_success(task) for task in tasks]
      self.check_income(out[-1])
      # A worker may find the training finished by the other one.
      self.assertRegex(out[2] + out[3], r'(^|\n)common step \d+/300  loss ')
      self.assertIn(f'the model is in {folder}/shared', out[3])
      self.assertEqual(out[:2], ['', ''], 'servers end with the training')
      self.assertIn('There is no /nowhere/adult.csv. Give the directory',
                    self.refused(1, 'adult_income', '--data_dir=/nowhere'))
      self.assertIn("Unknown hyperparameter 'units'",
                    self.refused(1, 'adult_income', '--hparams=units=3'))

  def test_criteo_wide_deep(self):
    with tempfile.TemporaryDirectory() as folder:
      for name, count in (('train', 600), ('dev', 100)):
        _write_clicks(f'{folder}/{name}.tsv', count)
      out = self.succeeds(
          'criteo_wide_deep', f'--data_dir={folder}', '--steps=60',
          '--hparams=hidden_units=[16],batch_size=64,learning_rate=0.01')
      found = re.search(r'(?m)^accuracy \d\.\d+, AUC (\d\.\d+) after 60 steps$',
                        out)
      self.assertTrue(found, out)
      self.assertGreater(float(found[1]), 0.9)
      self.assertIn('Give the directory',
                    self.refused(1, 'criteo_wide_deep'))

  def test_movielens_alone_and_on_a_cluster(self):
    with tempfile.TemporaryDirectory() as folder:
      flags = ('--steps=300', '--save_every=100',
               '--hparams=batch_size=200,hash_bucket_size=1000')
      def learns(out, rmse):
        found = re.search(r'(?m)^RMSE (\d\.\d+) after 3\d\d steps$', out)
        self.assertTrue(found, out)
        self.assertLess(float(found[1]), rmse)
      # Predicting the mean has an RMSE of 1.09.
      learns(self.succeeds('movielens', *flags, f'--model_dir={folder}/alone'),
             0.8)
      _write_ratings(folder)
      # The mean, and each model without products of two, has an RMSE of 2.
      flags = (*flags, f'--data_dir={folder}', f'--model_dir={folder}/shared')
      with Cluster(ps=2, worker=2) as cluster:
        tasks = [cluster.start_example_by_environment('movielens', job, index,
                                                      *flags)
                 for job, index in (('ps', 0), ('ps', 1), ('worker', 1),
                                    ('worker', 0), ('evaluator', 0))]
        out = [self.wait_for_success(task) for task in tasks]
      learns(out[-1], 1.5)
      self.assertIn('There is no /nowhere/u.data. Give the directory',
                    self.refused(1, 'movielens', '--data_dir=/nowhere'))

  def check_income(self, out):
    found = re.search(r'(?m)^accuracy (0\.\d+), AUC (0\.\d+) after 3\d\d steps$',
                      out)
    self.assertTrue(found, out)
    self.assertGreater(float(found[1]), 0.7)
    self.assertGreater(float(found[2]), 0.7)

  def test_movielens_embedding_alone_and_on_a_cluster(self):
    rows = os.environ.get('WEFT_EMBEDDING_ROWS', '100000')
    with tempfile.TemporaryDirectory() as folder:
      _write_ratings(folder)
      flags = (f'--data_dir={folder}', f'--rows={rows}', '--batch_size=200',
               '--l2=0.001', '--epochs=15')
      def learns(*more):
        errors = re.findall(r'test RMSE (\d+\.\d+)',
                            self.succeeds('movielens_embedding', *flags, *more))
        self.assertEqual(len(errors), 15)
        # Predicting the mean has an RMSE of 2.
        self.assertLess(float(errors[-1]), 0.5)
        self.assertLess(float(errors[-1]), float(errors[0]))
      learns()
      with Cluster(ps=3, worker=1) as cluster:
        cluster.start_services()
        learns('--target=' + cluster.target('worker'))
    # Real ratings must not be redistributed; nightly.sh names their folder.
    folder = os.environ.get('WEFT_MOVIELENS_DIR')
    if folder:
      out = self.succeeds('movielens_embedding', f'--data_dir={folder}')
      errors = re.findall(r'test RMSE (\d+\.\d+)', out)
      self.assertEqual(len(errors), 20)
      # Predicting the means of users and films has an RMSE of 0.95.
      self.assertLess(float(errors[-1]), 0.95)

  def test_char_rnn_learns_to_write_sentences(self):
    for cell in ('basic_lstm', 'gru'):
      out = self.succeeds('char_rnn', f'--cell={cell}', '--units=32',
                          '--batch_size=8', '--length=16', '--steps=200',
                          '--learning_rate=0.02', '--sample=60')
      losses = [float(l) for l in re.findall(r'loss (\d+\.\d+)', out)]
      # A model that guesses has a loss of log(23).
      self.assertGreater(losses[0], 3)
      self.assertLess(losses[-1], 1.5)
      self.assertEqual(len(out.partition('----\n')[2]), 61)

  def test_too_large_table_is_refused(self):
    with tempfile.TemporaryDirectory() as folder:
      _write_ratings(folder)
      error = self.refused(1, 'movielens_embedding', f'--data_dir={folder}',
                           '--rows=100000000000')
      self.assertIn('RESOURCE_EXHAUSTED', error)
      for task in range(3):
        self.assertRegex(
            error, rf'/job:ps/replica:0/task:{task} needs \d+ bytes '
            r'\(the largest: \S+/part_%d\S*, 2666666666\d{3}\)' % task)

  def test_saver_loop_continues_from_checkpoint(self):
    with tempfile.TemporaryDirectory() as folder:
      def run(steps, *flags):
        return self.succeeds('saver_loop', f'--dir={folder}',
                             f'--steps={steps}', '--save_every=10', *flags)
      out = run(25)
      self.assertEqual(re.findall(r'saved \S+/model-(\d+)', out),
                       ['10', '20', '25'])
      self.assertNotIn('restored', out)
      with Cluster(ps=3, worker=1) as cluster:
        cluster.start_services()
        out = run(42, '--target=' + cluster.target('worker'))
        self.assertIn(f'restored {folder}/model-25\n', out)
        self.assertEqual(re.findall(r'saved \S+/model-(\d+)', out),
                         ['30', '40', '42'])
      self.assertEqual(
          sorted(name for name in os.listdir(folder) if '.data-' in name
                 and name.startswith('model-42')),
          [f'model-42.data-0000{i}-of-00003' for i in range(3)])

  def test_saver_loop_saves_to_an_object_store(self):
    with object_store.server('s3') as url, unittest.mock.patch.dict(
        os.environ, object_store.environment(url)):
      def run(steps, *flags):
        return self.succeeds('saver_loop', '--dir=s3://bucket/job',
                             f'--steps={steps}', '--save_every=10', *flags)
      out = run(20)
      self.assertEqual(re.findall(r'saved s3://bucket/job/model-(\d+)', out),
                       ['10', '20'])
      with Cluster(ps=3, worker=1) as cluster:
        cluster.start_services()
        out = run(30, '--target=' + cluster.target('worker'))
        self.assertIn('restored s3://bucket/job/model-20\n', out)
      self.assertIn('restored s3://bucket/job/model-30\n', run(31))

  def test_recovery_continues_from_newest_checkpoint(self):
    with tempfile.TemporaryDirectory() as folder:
      ended = _run('recovery', f'--dir={folder}', '--steps=60',
                   '--save_every=10', '--kill_at=35')
      self.assertEqual(ended.returncode, 0, ended.stderr)
      self.assertRegex(ended.stdout, r'^killed ps:1 after step 35\n'
                       r'started ps:1 again\n'
                       r'on at step 31 after \d+\.\d\d s \(goal: 2\)\n$')
      self.assertEqual(re.findall(r'Restoring parameters from (\S+)',
                                  ended.stderr), [f'{folder}/model.ckpt-30'])
      self.assertEqual(re.findall(r'Saving checkpoints for (\d+) into',
                                  ended.stderr),
                       ['0', '10', '20', '30', '40', '50', '60'])

  def test_invalid_arguments_are_refused(self):
    self.assertIn('usage', self.refused(2, 'simple_client'))
    self.assertIn('usage', self.refused(2, 'simple_client', '', 'int'))
    self.assertIn('usage', self.refused(2, 'containers', '--halp'))
    self.assertIn('usage', self.refused(2, 'summaries'))
    self.assertIn('zmq://', self.refused(1, 'containers', 'grpc://a:1'))
    self.assertIn('--workers',
                  self.refused(1, 'in_graph_replication', '--workers=0'))
    self.assertIn('TF_CONFIG', self.refused(1, 'between_graph'))
    self.assertIn('--dir', self.refused(1, 'saver_loop'))
    self.assertIn('--save_every',
                  self.refused(1, 'saver_loop', '--dir=/x', '--save_every=0'))
    self.assertIn('--dir', self.refused(1, 'recovery'))
    cluster = '--cluster={"ps": ["localhost:1"], "worker": ["localhost:2"]}'
    self.assertIn('Task 7 was not defined',
                  self.refused(1, 'between_graph', cluster, '--task_index=7'))
    self.assertIn('grouplens.org', self.refused(1, 'movielens_embedding'))
    self.assertIn('"elman"', self.refused(1, 'char_rnn', '--cell=elman'))
    self.assertIn('/nowhere',
                  self.refused(1, 'char_rnn', '--text=/nowhere'))
    self.assertIn('/nowhere/u.data',
                  self.refused(1, 'movielens_embedding', '--data_dir=/nowhere'))
    self.assertIn('dataset-fashion-mnist',
                  self.refused(1, 'fashion_mnist', '--data_dir=/nowhere'))
    self.assertIn('--device', self.refused(1, 'fashion_mnist', '--device=tpu'))

  def test_help_succeeds_and_describes_targets(self):
    for name in ('simple_client', 'two_tasks', 'containers',
                 'replica_device_setter', 'round_robin_three'):
      out = self.succeeds(name, '--help')
      self.assertIn(f'examples/{name} ', out)
      self.assertIn('zmq://HOST:PORT', out)

  def test_help_lists_flags(self):
    for name, flag in (('between_graph', '--cluster'),
                       ('fashion_mnist', '--epochs'),
                       ('in_graph_replication', '--target'),
                       ('saver_loop', '--save_every'),
                       ('movielens_embedding', '--rows'),
                       ('char_rnn', '--units'),
                       ('adult_income', '--hparams'),
                       ('recovery', '--kill_at')):
      # Abseil's exit code.
      self.assertIn(flag, _run(name, '--help').stdout)

  def test_invalid_tf_config_is_reported(self):
    without_ps = {
        'cluster': {'worker': [f'localhost:{programs.free_ports(1)[0]}']},
        'task': {'type': 'worker', 'index': 0}}
    with tempfile.TemporaryDirectory() as folder:
      _write_images(folder, 'train', 64)
      _write_images(folder, 't10k', 10)
      for config, message in (('{', 'not a JSON object'),
                              ('{"cluster": {"ps": ["a:1"]}}', 'no "task"'),
                              (json.dumps(without_ps), 'no job "ps"')):
        ended = subprocess.run(
            [programs.binary('examples/fashion_mnist'), f'--data_dir={folder}'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=_DEADLINE_S, check=False,
            env={**os.environ, 'TF_CONFIG': config})
        self.assertEqual(ended.returncode, 1)
        self.assertIn(message, ended.stderr)


if __name__ == '__main__':
  xml_unittest.main()
