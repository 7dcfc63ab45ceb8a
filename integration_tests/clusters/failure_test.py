"""Processes of a cluster that die, or stop and go on, while a step is under way.

The step is failure_client's `hold`: it counts its begin in a variable, waits at
a queue, and counts its end. What the variable says is how a test knows where it
is; no test goes by time. A second client, the observer, looks at the variables
by way of a task that nothing happens to.
"""

import json
import os
import queue
import signal
import socket
import subprocess
import tempfile
import threading
import unittest

from integration_tests.testing import programs
from tools import xml_unittest

_DEADLINE_S = 60
# Of the servers, and of failure_client.
_PEER_TIMEOUT = '2s'


class Process:
  """A process whose lines can be waited for."""

  def __init__(self, command, stream, **streams):
    self._popen = subprocess.Popen(command, text=True, bufsize=1, **streams)
    self.name = os.path.basename(command[0])
    self._lines = queue.Queue()
    self._seen = []
    self._passed_over = []  # by wait_for
    self._reader = None
    if stream:
      self._reader = threading.Thread(
          target=self._read, args=(getattr(self._popen, stream),))
      self._reader.start()

  def _read(self, stream):
    for line in stream:
      self._lines.put(line.rstrip('\n'))
    self._lines.put(None)

  def wait_for(self, text):
    """The next line that holds it."""
    while True:
      try:
        line = self._lines.get(timeout=_DEADLINE_S)
      except queue.Empty:
        raise AssertionError(
            f'{self.name} never said "{text}", only {self._seen}') from None
      if line is None:
        raise AssertionError(
            f'{self.name} ended without "{text}"; it said {self._seen}')
      self._seen.append(line)
      if text in line:
        return line
      self._passed_over.append(line)

  def write(self, line):
    self._popen.stdin.write(line + '\n')

  def signal(self, number):
    self._popen.send_signal(number)

  def wait(self):
    return self._popen.wait(timeout=_DEADLINE_S)

  def end(self):
    """Kills it, if it still runs."""
    self._popen.kill()
    self._popen.wait()
    if self._reader:
      self._reader.join()
    for stream in (self._popen.stdin, self._popen.stdout, self._popen.stderr):
      if stream:
        stream.close()


class Client(Process):
  """failure_client: what it is asked for, and what it answers."""

  def __init__(self, target, **places):
    super().__init__(
        [programs.binary('integration_tests/testing/failure_client'),
         f'--target={target}',
         *(f'--{flag}={task}' for flag, task in places.items())],
        'stdout', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    self.wait_for('connect: OK')

  def ask(self, line):
    """Returns the answer without its first word."""
    self.write(line)
    return self.answer(line.split()[0])

  def answer(self, word):
    """To what was asked; a hold's may come before later ones or after."""
    for line in self._passed_over:
      if line.startswith(f'{word}: '):
        self._passed_over.remove(line)
        return line.removeprefix(f'{word}: ')
    return self.wait_for(f'{word}: ').removeprefix(f'{word}: ')

  def await_counts(self, begun, ended):
    """Until so many holds have begun and ended."""
    while True:
      answer = self.ask('read')
      if answer == f'OK {begun} {ended}':
        return
      assert answer.startswith('OK '), answer


class FailureTest(unittest.TestCase):
  """A coordinator, two ps and two workers."""

  jobs = {'coordinator': 1, 'ps': 2, 'worker': 2}

  def setUp(self):
    super().setUp()
    ports = iter(programs.free_ports(sum(self.jobs.values())))
    self.spec = {job: [f'localhost:{next(ports)}' for _ in range(count)]
                 for job, count in self.jobs.items()}
    self.processes = []
    self.tasks = {}

  def tearDown(self):
    super().tearDown()
    for process in self.processes:
      process.end()

  def start(self, job, index, *flags):
    """Starts a task and waits until it listens."""
    task = Process(
        [programs.binary(f'services/{job}/{job}'), f'--cluster={json.dumps(self.spec)}',
         f'--task_index={index}', f'--peer_timeout={_PEER_TIMEOUT}', *flags],
        'stderr', stderr=subprocess.PIPE)
    self.processes.append(task)
    self.tasks[job, index] = task
    task.wait_for('Started server with target')
    return task

  def start_all(self, *flags):
    for job, count in self.jobs.items():
      for index in range(count):
        self.start(job, index, *flags)

  def client(self, job='worker', index=0, **places):
    """By way of that task; `places` are flags of failure_client."""
    client = Client(f'zmq://{self.spec[job][index]}', **places)
    self.processes.append(client)
    return client

  def kill(self, job, index):
    self.tasks[job, index].end()

  def hold(self, **places):
    """A client whose hold is under way, and the observer."""
    client, observer = self.client(**places), self.client(index=1, **places)
    self.assertEqual(client.ask('init'), 'OK')
    client.write('hold')
    observer.await_counts(1, 0)
    return client, observer

  def check_lost(self, answer, *names):
    """What a client is told whose step needed a task that is gone."""
    self.assertRegex(answer, '^(UNAVAILABLE|ABORTED): ')
    for name in names:
      self.assertIn(name, answer)

  def check_new_hold(self, client, begun, ended):
    """A new step takes what is opened; no old one does."""
    client.write('hold')
    client.await_counts(begun, ended)
    self.assertEqual(client.ask('open'), 'OK')
    self.assertEqual(client.answer('hold'), 'OK')
    self.assertEqual(client.ask('read'), f'OK {begun} {ended + 1}')


class KillTest(FailureTest):
  """kill -9."""

  def test_of_the_ps_with_the_variables(self):
    self.start_all()
    # The queue lies elsewhere and stays.
    places = {'counter': '/job:ps/task:0', 'gate': '/job:worker/task:1',
              'through': '/job:worker/task:0'}
    client, observer = self.hold(**places)
    self.kill('ps', 0)
    self.check_lost(client.answer('hold'), '/job:ps/replica:0/task:0')
    # What does not need it goes on, in the same session.
    self.assertEqual(client.ask('other'), 'OK 1')
    self.assertEqual(observer.ask('other'), 'OK 2')
    self.start('ps', 0)
    self.assertRegex(self.until_answered(client, 'read'), '^ABORTED: ')
    self.assertEqual(client.ask('reconnect'), 'OK')
    self.assertRegex(client.ask('read'), '^FAILED_PRECONDITION: .*variable (begun|ended)')
    self.assertEqual(client.ask('init'), 'OK')
    self.check_new_hold(client, 1, 0)

  def until_answered(self, client, word):
    """What it says once the task can be reached again."""
    while True:
      answer = client.ask(word)
      if not answer.startswith('UNAVAILABLE: '):
        return answer

  def test_of_the_ps_with_the_queue(self):
    self.start_all()
    client, _ = self.hold(counter='/job:ps/task:1', gate='/job:ps/task:0',
                          other='/job:worker/task:1')
    self.kill('ps', 0)
    self.check_lost(client.answer('hold'), '/job:ps/replica:0/task:0')
    self.assertEqual(client.ask('read'), 'OK 1 0')
    self.start('ps', 0)
    self.assertEqual(client.ask('reconnect'), 'OK')
    self.check_new_hold(client, 2, 0)

  def test_of_a_worker_that_a_step_needs(self):
    self.start_all()
    client = self.client(through='/job:worker/task:1')
    observer = self.client('ps', 1, through='/job:worker/task:1')
    self.assertEqual(client.ask('init'), 'OK')
    client.write('hold')
    observer.await_counts(1, 0)
    self.kill('worker', 1)
    self.check_lost(client.answer('hold'), '/job:worker/replica:0/task:1')
    self.assertEqual(client.ask('other'), 'OK 1')
    self.start('worker', 1)
    self.assertEqual(client.ask('reconnect'), 'OK')
    self.check_new_hold(client, 2, 0)

  def test_of_the_worker_whose_master_drives_the_step(self):
    self.start_all()
    client, observer = self.hold()
    self.kill('worker', 0)
    self.check_lost(client.answer('hold'))
    self.start('worker', 0)
    self.assertRegex(self.until_answered(client, 'read'), '^ABORTED: ')
    self.assertEqual(client.ask('reconnect'), 'OK')
    # The ps dropped the dead master's step when the new one came.
    self.check_new_hold(client, 2, 0)
    self.assertEqual(observer.ask('read'), 'OK 2 1')

  def test_of_the_coordinator(self):
    self.start_all()
    client, observer = self.hold()
    self.kill('coordinator', 0)
    self.assertEqual(observer.ask('open'), 'OK')
    self.assertEqual(client.answer('hold'), 'OK')
    self.start('coordinator', 0)
    # Placing a new client's graph takes a coordinator that knows the tasks.
    self.check_new_hold(self.client(), 2, 1)

  def test_of_the_client(self):
    self.start_all()
    client, _ = self.hold()
    client.end()
    self.tasks['worker', 0].wait_for('The client of 1 sessions is gone')
    self.check_new_hold(self.client(), 2, 0)

  def test_a_training_goes_on_after_each_restart(self):
    self.start_all()
    client = self.client()
    self.assertEqual(client.ask('init'), 'OK')
    client.write('train 3000')
    client.wait_for('train: at 50')
    self.kill('ps', 1)  # with the variable `other`
    client.wait_for('train: UNAVAILABLE')
    self.start('ps', 1)
    client.wait_for('train: anew other')
    client.wait_for('train: at ')
    self.kill('worker', 0)
    client.wait_for('train: UNAVAILABLE')
    self.start('worker', 0)
    client.wait_for('train: at ')
    answer = client.answer('trained')
    words = answer.split()
    self.assertEqual(words[:2], ['OK', '3000'])
    # Each step counts once in either; those that failed may have in one.
    self.assertLess(float(words[2]), 3000)


class StopTest(FailureTest):
  """SIGSTOP, and later SIGCONT: what was given up stays given up."""

  def stop(self, job, index):
    self.tasks[job, index].signal(signal.SIGSTOP)

  def resume(self, job, index):
    self.tasks[job, index].signal(signal.SIGCONT)

  def check_back(self, client, begun, ended):
    """The task is one of the cluster again, with what it had."""
    while client.ask('reconnect') != 'OK' or not client.ask('read') == (
        f'OK {begun} {ended}'):
      pass
    self.check_new_hold(client, begun + 1, ended)

  def test_of_a_ps(self):
    self.start_all()
    client, observer = self.hold(gate='/job:worker/task:1')
    self.stop('ps', 0)
    self.check_lost(client.answer('hold'), '/job:ps/replica:0/task:0',
                    '[[node ')
    self.assertEqual(client.ask('other'), 'OK 1')
    # Asked of a task that can't hear it: given up too.
    self.check_lost(observer.ask('read'), '/job:ps/replica:0/task:0')
    self.resume('ps', 0)
    self.check_back(client, 1, 0)

  def test_of_a_worker_that_a_step_needs(self):
    self.start_all()
    client = self.client(through='/job:worker/task:1')
    observer = self.client('ps', 1, through='/job:worker/task:1')
    self.assertEqual(client.ask('init'), 'OK')
    client.write('hold')
    observer.await_counts(1, 0)
    self.stop('worker', 1)
    self.check_lost(client.answer('hold'), '/job:worker/replica:0/task:1')
    self.resume('worker', 1)
    self.check_back(client, 1, 0)

  def test_of_the_worker_whose_master_drives_the_step(self):
    self.start_all()
    client = self.client()
    observer = self.client('ps', 0, through='/job:ps/task:1')
    self.assertEqual(client.ask('init'), 'OK')
    client.write('hold')
    observer.await_counts(1, 0)
    self.stop('worker', 0)
    self.check_lost(client.answer('hold'))
    self.tasks['ps', 0].wait_for(
        'The connection with /job:worker/replica:0/task:0 was lost')
    # So the ps has given up the master's step, and another one takes over.
    self.check_new_hold(observer, 2, 0)
    self.resume('worker', 0)
    self.check_back(client, 2, 1)

  def test_of_the_coordinator(self):
    self.start_all()
    client, observer = self.hold()
    self.stop('coordinator', 0)
    self.assertEqual(observer.ask('open'), 'OK')
    self.assertEqual(client.answer('hold'), 'OK')
    self.resume('coordinator', 0)
    self.check_new_hold(self.client(), 2, 1)

  def test_of_the_client(self):
    self.start_all()
    client, _ = self.hold()
    client.signal(signal.SIGSTOP)
    self.tasks['worker', 0].wait_for('The client of 1 sessions is gone')
    self.check_new_hold(self.client(), 2, 0)
    client.signal(signal.SIGCONT)
    self.check_lost(client.answer('hold'))
    self.check_back(client, 2, 1)


class SurroundingsTest(FailureTest):
  """What surrounds the processes fails."""

  def test_a_full_disk_for_logs_does_not_stop_a_task(self):
    for job, count in self.jobs.items():
      for index in range(count):
        full = open('/dev/full', 'w', encoding='utf-8')
        self.addCleanup(full.close)
        task = Process(
            [programs.binary(f'services/{job}/{job}'),
             f'--cluster={json.dumps(self.spec)}', f'--task_index={index}',
             f'--peer_timeout={_PEER_TIMEOUT}'],
            None, stdout=full, stderr=full)
        self.processes.append(task)
        self.tasks[job, index] = task
    client, _ = self.hold()
    self.assertEqual(client.ask('open'), 'OK')
    self.assertEqual(client.answer('hold'), 'OK')
    for task in self.tasks.values():
      task.signal(signal.SIGTERM)
      self.assertEqual(task.wait(), 0)

  def test_a_closed_log_does_not_stop_a_task(self):
    reads, writes = os.pipe()
    os.close(reads)  # as `| head` that has ended: writing is a SIGPIPE
    for job, count in self.jobs.items():
      for index in range(count):
        task = Process(
            [programs.binary(f'services/{job}/{job}'),
             f'--cluster={json.dumps(self.spec)}', f'--task_index={index}'],
            None, stdout=writes, stderr=writes)
        self.processes.append(task)
    os.close(writes)
    client = self.client()
    self.assertEqual(client.ask('init'), 'OK')
    self.assertEqual(client.ask('other'), 'OK 1')

  def test_a_port_that_is_taken_while_its_task_is_down(self):
    self.start_all()
    client, _ = self.hold(gate='/job:worker/task:1')
    self.kill('ps', 0)
    self.check_lost(client.answer('hold'), '/job:ps/replica:0/task:0')
    # Somebody else listens there, who speaks no word of our protocol.
    host, port = self.spec['ps'][0].split(':')
    thief = socket.socket()
    thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    thief.bind((host, int(port)))
    thief.listen()
    stolen, _ = thief.accept()  # a task dials again
    self.check_lost(client.ask('read'), '/job:ps/replica:0/task:0')
    self.assertEqual(client.ask('other'), 'OK 1')
    refused = Process(
        [programs.binary('services/ps/ps'), f'--cluster={json.dumps(self.spec)}'],
        'stderr', stderr=subprocess.PIPE)
    self.processes.append(refused)
    refused.wait_for('ALREADY_EXISTS')
    self.assertEqual(refused.wait(), 1)
    stolen.close()
    thief.close()
    self.start('ps', 0)
    self.assertEqual(client.ask('reconnect'), 'OK')
    self.assertEqual(client.ask('init'), 'OK')
    self.check_new_hold(client, 1, 0)


class DrainTest(FailureTest):
  """SIGTERM."""

  def test_a_step_that_does_not_end_in_time_is_aborted(self):
    self.start_all('--drain=3s')
    client, observer = self.hold()
    for job in 'ps', 'worker':
      self.tasks[job, 0].signal(signal.SIGTERM)
      self.tasks[job, 0].wait_for(
          'Stopping: monitored sessions and running steps may continue for 3s')
    self.refuses(client, 'other', '/job:worker/replica:0/task:0')
    self.refuses(observer, 'read', '/job:ps/replica:0/task:0')
    # The queue is on the ps, where no new step begins: nobody can open it.
    self.check_lost(client.answer('hold'), '/replica:0/task:0')
    for job in 'ps', 'worker':
      self.assertEqual(self.tasks[job, 0].wait(), 0)
      self.tasks['coordinator', 0].wait_for(f'/job:{job}/replica:0/task:0 has left')

  def refuses(self, client, word, task):
    answer = client.ask(word)
    self.check_lost(answer, task)
    self.assertIn('shutting down', answer)

  def test_a_step_that_is_under_way_may_end(self):
    self.start_all()
    client, observer = self.hold(gate='/job:ps/task:1')
    for job in 'ps', 'worker':
      self.tasks[job, 0].signal(signal.SIGTERM)
      self.tasks[job, 0].wait_for(
          'Stopping: monitored sessions and running steps may continue for 10s')
    self.refuses(observer, 'read', '/job:ps/replica:0/task:0')
    self.assertEqual(observer.ask('open'), 'OK')
    self.assertEqual(client.answer('hold'), 'OK')
    for job in 'ps', 'worker':
      self.assertEqual(self.tasks[job, 0].wait(), 0)


class WaitTest(FailureTest):
  """A step that takes long says in the log what it waits for."""

  def test_the_queue_and_the_edge_are_named(self):
    self.start_all('--log_waits_after=200ms')
    client, _ = self.hold(gate='/job:ps/task:1', through='/job:worker/task:1')
    line = self.tasks['worker', 0].wait_for('has waited more than 200ms')
    self.assertIn('/job:ps/replica:0/task:1 waits for node', line)
    self.assertIn('(QueueDequeueV2) on gate (FIFOQueueV2)', line)
    self.assertRegex(line, r'/job:worker/replica:0/task:1 waits for tensor '
                     r'\S+ from /job:ps/replica:0/task:1/device:CPU:0')
    self.assertRegex(line, r'/job:ps/replica:0/task:0 waits for tensor '
                     r'\S+ from /job:worker/replica:0/task:1/device:CPU:0')


if __name__ == '__main__':
  xml_unittest.main()
