"""Programs that a test runs, and free ports for them."""

import contextlib
import json
import os
import queue
import random
import select
import socket
import subprocess
import threading

_DEADLINE_S = 120


def binary(name):
  """Returns the path of a program among the data of the test."""
  return os.path.join(os.environ['TEST_SRCDIR'], os.environ['TEST_WORKSPACE'],
                      name)


def free_ports(count):
  """Returns different ports of this machine on which no process listens.

  They are below the ports that the system gives to outgoing connections, one of
  which could take a port before its server does.
  """
  with contextlib.ExitStack() as probes:
    found = []
    while len(found) < count:
      probe = probes.enter_context(socket.socket())
      port = random.randrange(20000, 32000)
      with contextlib.suppress(OSError):
        probe.bind(('127.0.0.1', port))
        found.append(port)
    return found


def run(test, command, **kwargs):
  """Returns the output of a program; `test` asserts that it succeeds."""
  ended = subprocess.run(command, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, timeout=300,
                         check=False, **kwargs)
  test.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
  return ended.stdout


def run_tensorflow(test, script, *arguments, text=None):
  """Returns the output of a script of TF_PYTHON, whose input is `text`."""
  environment = {name: value for name, value in os.environ.items()
                 if not name.startswith('PYTHON')}
  environment['TF_CPP_MIN_LOG_LEVEL'] = '3'
  return run(test, [os.environ['TF_PYTHON'], '-c', script, *arguments],
             env=environment, input=text)


def ends_within(process, seconds):
  """Returns whether a Popen ends within that time; blocks until it does.

  Popen.wait() with a timeout sleeps and polls; a pidfd becomes readable when
  the process ends.
  """
  if process.poll() is not None:
    return True
  descriptor = os.pidfd_open(process.pid)
  try:
    return bool(select.select([descriptor], [], [], seconds)[0])
  finally:
    os.close(descriptor)


def wait_or_kill(process, seconds):
  """Returns the exit code of a Popen, which is killed after that time."""
  if not ends_within(process, seconds):
    process.kill()
  return process.wait()


class Program:
  """A process; a thread reads the lines of one of its streams."""

  def __init__(self, command, stream, env=None):
    self.popen = subprocess.Popen(command, text=True, env=env,
                                  **{stream: subprocess.PIPE})
    self.lines = queue.Queue()
    self._stream = getattr(self.popen, stream)
    self._reader = threading.Thread(target=self._read)
    self._reader.start()

  def _read(self):
    for line in self._stream:
      self.lines.put(line)
    self.lines.put(None)

  def kill(self):
    self.popen.kill()
    self.popen.wait()
    self._reader.join()
    self._stream.close()


def start_server(cluster, job, task, root):
  """Returns a service of the cluster once it has started.

  A checkpoint writer has its files in `root`.
  """
  flags = [f'--cluster={json.dumps(cluster)}', f'--task_index={task}']
  if job == 'checkpoint_writer':
    flags.append(f'--root={root}')
  server = Program([binary(f'services/{job}/{job}'), *flags], 'stderr')
  seen = []
  while True:
    line = server.lines.get(timeout=_DEADLINE_S)
    seen.append(line)
    if line is None:
      server.kill()
      raise AssertionError(f'{job} {task} ended before it started: {seen}')
    if 'Started server with target' in line:
      return server
