"""Processes of a cluster die, or stop and continue, in the middle of a step.

The step is failure_client's `hold`: it increments the variable `begun`, waits
at a queue, and increments the variable `ended`. A test reads the progress of
the step from these variables and does not depend on time. A second client, the
observer, reads the variables through a task that the test does not disturb.
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
# Of the servers; failure_client has the same.
_PEER_TIMEOUT = '2s'


class Process:
  """A process and the lines of one of its streams."""

  def __init__(self, command, stream, **streams):
    self._popen = subprocess.Popen(command, text=True, bufsize=1, **streams)
    self.name = os.path.basename(command[0])
    self._lines = queue.Queue()
    self._seen = []
    self._skipped = []  # lines that wait_for skipped
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
    """Returns the next line that contains `text`."""
    while True:
      try:
        line = self._lines.get(timeout=_DEADLINE_S)
      except queue.Empty:
        raise AssertionError(
            f'{self.name} did not print "{text}" within {_DEADLINE_S} s, only '
            f'{self._seen}') from None
      if line is None:
        raise AssertionError(
            f'{self.name} ended without printing "{text}"; it printed '
            f'{self._seen}')
      self._seen.append(line)
      if text in line:
        return line
      self._skipped.append(line)

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
  """A running failure_client, which answers commands."""

  def __init__(self, target, **places):
    super().__init__(
        [programs.binary('integration_tests/testing/failure_client'),
         f'--target={target}',
         *(f'--{flag}={task}' for flag, task in places.items())],
        'stdout', stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    self.wait_for('connect: OK')

  def ask(self, line):
    """Sends a command; returns the answer without its first word."""
    self.write(line)
    return self.answer(line.split()[0])

  def answer(self, word):
    """Returns the answer to a command, without its first word.

    The answer to a hold may come before or after those to later commands.
    """
    for line in self._skipped:
      if line.startswith(f'{word}: '):
        self._skipped.remove(line)
        return line.removeprefix(f'{word}: ')
    return self.wait_for(f'{word}: ').removeprefix(f'{word}: ')

  def await_counts(self, begun, ended):
    """Returns once so many holds have begun and ended."""
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
    """Returns a client of that task; `places` are flags of failure_client."""
    client = Client(f'zmq://{self.spec[job][index]}', **places)
    self.processes.append(client)
    return client

  def kill(self, job, index):
    self.tasks[job, index].end()

  def hold(self, **places):
    """Returns a client whose hold has begun, and the observer."""
    client, observer = self.client(**places), self.client(index=1, **places)
    self.assertEqual(client.ask('init'), 'OK')
    client.write('hold')
    observer.await_counts(1, 0)
    return client, observer

  def check_lost(self, answer, *names):
    """Checks the error of a step that needed a lost task."""
    self.assertRegex(answer, '^(UNAVAILABLE|ABORTED): ')
    for name in names:
      self.assertIn(name, answer)

  def check_new_hold(self, client, begun, ended):
    """Checks that `open` ends a new step, and no old one."""
    client.write('hold')
    client.await_counts(begun, ended)
    self.assertEqual(client.ask('open'), 'OK')
    self.assertEqual(client.answer('hold'), 'OK')
    self.assertEqual(client.ask('read'), f'OK {begun} {ended + 1}')


class KillTest(FailureTest):
  """Processes are killed with SIGKILL."""

  def test_killed_ps_with_variables_fails_step(self):
    self.start_all()
    # The queue is on another task and is not lost.
    places = {'counter': '/job:ps/task:0', 'gate': '/job:worker/task:1',
              'through': '/job:worker/task:0'}
    client, observer = self.hold(**places)
    self.kill('ps', 0)
    self.check_lost(client.answer('hold'), '/job:ps/replica:0/task:0')
    # Steps that do not need the task continue, in the same session.
    self.assertEqual(client.ask('other'), 'OK 1')
    self.assertEqual(observer.ask('other'), 'OK 2')
    self.start('ps', 0)
    self.assertRegex(self.until_answered(client, 'read'), '^ABORTED: ')
    self.assertEqual(client.ask('reconnect'), 'OK')
    self.assertRegex(client.ask('read'), '^FAILED_PRECONDITION: .*variable (begun|ended)')
    self.assertEqual(client.ask('init'), 'OK')
    self.check_new_hold(client, 1, 0)

  def until_answered(self, client, word):
    """Returns the answer once the task can be reached again."""
    while True:
      answer = client.ask(word)
      if not answer.startswith('UNAVAILABLE: '):
        return answer

  def test_killed_ps_with_queue_fails_step(self):
    self.start_all()
    client, _ = self.hold(counter='/job:ps/task:1', gate='/job:ps/task:0',
                          other='/job:worker/task:1')
    self.kill('ps', 0)
    self.check_lost(client.answer('hold'), '/job:ps/replica:0/task:0')
    self.assertEqual(client.ask('read'), 'OK 1 0')
    self.start('ps', 0)
    self.assertEqual(client.ask('reconnect'), 'OK')
    self.check_new_hold(client, 2, 0)

  def test_killed_worker_fails_step(self):
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

  def test_killed_master_fails_step(self):
    self.start_all()
    client, observer = self.hold()
    self.kill('worker', 0)
    self.check_lost(client.answer('hold'))
    self.start('worker', 0)
    self.assertRegex(self.until_answered(client, 'read'), '^ABORTED: ')
    self.assertEqual(client.ask('reconnect'), 'OK')
    # The ps dropped the dead master's step when the new master connected.
    self.check_new_hold(client, 2, 0)
    self.assertEqual(observer.ask('read'), 'OK 2 1')

  def test_killed_coordinator_keeps_steps(self):
    self.start_all()
    client, observer = self.hold()
    self.kill('coordinator', 0)
    self.assertEqual(observer.ask('open'), 'OK')
    self.assertEqual(client.answer('hold'), 'OK')
    self.start('coordinator', 0)
    # Placing a new client's graph needs a coordinator that knows the tasks.
    self.check_new_hold(self.client(), 2, 1)

  def test_killed_client_loses_its_step(self):
    self.start_all()
    client, _ = self.hold()
    client.end()
    self.tasks['worker', 0].wait_for('The client of 1 sessions is gone')
    self.check_new_hold(self.client(), 2, 0)

  def test_training_continues_after_each_restart(self):
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
    # A step increments both variables; a failed step may increment only one.
    self.assertLess(float(words[2]), 3000)


class StopTest(FailureTest):
  """Processes get SIGSTOP, later SIGCONT: abandoned steps stay abandoned."""

  def stop(self, job, index):
    self.tasks[job, index].signal(signal.SIGSTOP)

  def resume(self, job, index):
    self.tasks[job, index].signal(signal.SIGCONT)

  def check_back(self, client, begun, ended):
    """Checks that the task is in the cluster again, with its variables."""
    while client.ask('reconnect') != 'OK' or not client.ask('read') == (
        f'OK {begun} {ended}'):
      pass
    self.check_new_hold(client, begun + 1, ended)

  def test_stopped_ps_fails_step(self):
    self.start_all()
    client, observer = self.hold(gate='/job:worker/task:1')
    self.stop('ps', 0)
    self.check_lost(client.answer('hold'), '/job:ps/replica:0/task:0',
                    '[[node ')
    self.assertEqual(client.ask('other'), 'OK 1')
    # A step that begins while the task is stopped fails too.
    self.check_lost(observer.ask('read'), '/job:ps/replica:0/task:0')
    self.resume('ps', 0)
    self.check_back(client, 1, 0)

  def test_stopped_worker_fails_step(self):
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

  def test_stopped_master_fails_step(self):
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
    # So the ps has abandoned the master's step, and another master continues.
    self.check_new_hold(observer, 2, 0)
    self.resume('worker', 0)
    self.check_back(client, 2, 1)

  def test_stopped_coordinator_keeps_steps(self):
    self.start_all()
    client, observer = self.hold()
    self.stop('coordinator', 0)
    self.assertEqual(observer.ask('open'), 'OK')
    self.assertEqual(client.answer('hold'), 'OK')
    self.resume('coordinator', 0)
    self.check_new_hold(self.client(), 2, 1)

  def test_stopped_client_loses_its_step(self):
    self.start_all()
    client, _ = self.hold()
    client.signal(signal.SIGSTOP)
    self.tasks['worker', 0].wait_for('The client of 1 sessions is gone')
    self.check_new_hold(self.client(), 2, 0)
    client.signal(signal.SIGCONT)
    self.check_lost(client.answer('hold'))
    self.check_back(client, 2, 1)


class EnvironmentTest(FailureTest):
  """The environment of the processes fails: logs and ports."""

  def test_full_log_disk_does_not_stop_tasks(self):
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

  def test_closed_log_does_not_stop_tasks(self):
    reads, writes = os.pipe()
    os.close(reads)  # as after `| head` has ended: a write causes SIGPIPE
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

  def test_port_taken_during_restart_is_refused(self):
    self.start_all()
    client, _ = self.hold(gate='/job:worker/task:1')
    self.kill('ps', 0)
    self.check_lost(client.answer('hold'), '/job:ps/replica:0/task:0')
    # Another program listens there and does not speak Weft's protocol.
    host, port = self.spec['ps'][0].split(':')
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((host, int(port)))
    listener.listen()
    connection, _ = listener.accept()  # a task reconnects
    self.check_lost(client.ask('read'), '/job:ps/replica:0/task:0')
    self.assertEqual(client.ask('other'), 'OK 1')
    refused = Process(
        [programs.binary('services/ps/ps'), f'--cluster={json.dumps(self.spec)}'],
        'stderr', stderr=subprocess.PIPE)
    self.processes.append(refused)
    refused.wait_for('ALREADY_EXISTS')
    self.assertEqual(refused.wait(), 1)
    connection.close()
    listener.close()
    self.start('ps', 0)
    self.assertEqual(client.ask('reconnect'), 'OK')
    self.assertEqual(client.ask('init'), 'OK')
    self.check_new_hold(client, 1, 0)


class DrainTest(FailureTest):
  """Tasks get SIGTERM."""

  def test_step_is_aborted_after_drain_time(self):
    self.start_all('--drain=3s')
    client, observer = self.hold()
    for job in 'ps', 'worker':
      self.tasks[job, 0].signal(signal.SIGTERM)
      self.tasks[job, 0].wait_for(
          'Stopping: monitored sessions and running steps may continue for 3s')
    self.refuses(client, 'other', '/job:worker/replica:0/task:0')
    self.refuses(observer, 'read', '/job:ps/replica:0/task:0')
    # The ps has the queue and starts no new step, so no client can open it.
    self.check_lost(client.answer('hold'), '/replica:0/task:0')
    for job in 'ps', 'worker':
      self.assertEqual(self.tasks[job, 0].wait(), 0)
      self.tasks['coordinator', 0].wait_for(f'/job:{job}/replica:0/task:0 has left')

  def refuses(self, client, word, task):
    answer = client.ask(word)
    self.check_lost(answer, task)
    self.assertIn('shutting down', answer)

  def test_running_step_may_end_during_drain(self):
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
  """Slow steps are logged with the nodes they wait for."""

  def test_slow_step_is_logged_with_queue_and_edge(self):
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
