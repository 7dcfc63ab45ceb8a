"""Runs tools/local_cluster as a process of a test, with fake services."""

import contextlib
import itertools
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import uuid

from tools.cluster import guard

DEADLINE_S = 60
LAUNCHER = os.path.join(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__))), 'local_cluster')
_MARK = 'WEFT_TEST_MARK'

# Behaves as the variable FAKE_job_index demands; without it, serves.
_FAKE_SERVICE = f'''#!{sys.executable} -SE
import os, signal, sys
flags = dict(a[2:].split('=', 1) for a in sys.argv[1:])
does = os.environ.get('FAKE_%s_%s' % (flags['job_name'], flags['task_index']))
def say(text):
  print(text, file=sys.stderr, flush=True)
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
if does == 'fail':
  say('INVALID_ARGUMENT: no')
  sys.exit(3)
if does == 'taken':
  say('ALREADY_EXISTS: Cannot listen')
  sys.exit(1)
if does and does.startswith('taken_once:'):
  try:
    os.mkdir(does[len('taken_once:'):])
    say('ALREADY_EXISTS: Cannot listen')
    sys.exit(1)
  except FileExistsError:
    pass
if does == 'stay':
  signal.signal(signal.SIGTERM, signal.SIG_IGN)
if does == 'never_ready':
  say('busy')
else:
  say('Started server with target: zmq://here')
if does and does.startswith('shut_down:'):
  # Opening a pipe waits for its other end: both have started then.
  _, mode, path = does.split(':')
  with open(path, mode):
    sys.exit(0)
if does and does.startswith('die_once:'):
  path = does[len('die_once:'):]
  try:
    os.mkdir(path)
    os.kill(os.getpid(), signal.SIGKILL)
  except FileExistsError:
    with open(path + '.pipe', 'w') as pipe:
      pipe.write(flags['cluster'])
if does == 'die_later':
  os.kill(os.getpid(), signal.SIGKILL)
while True:
  signal.pause()
'''


def fake_services(folder):
  """Writes a service for each job; returns the value of --services_dir."""
  for job in ('coordinator', 'ps', 'worker', 'checkpoint_writer'):
    path = os.path.join(folder, job, job)
    os.makedirs(os.path.dirname(path))
    with open(path, 'w', encoding='utf-8') as file:
      file.write(_FAKE_SERVICE)
    os.chmod(path, 0o755)
  return folder


class Launcher:
  """A launcher that runs from its construction on."""

  def __init__(self, *arguments, services=None, close_after=None,
               **environment):
    """`close_after`: number of lines to read from stdout; None: all."""
    self._folder = tempfile.TemporaryDirectory()  # pylint: disable=R1732
    self._mark = uuid.uuid4().hex
    services = services or fake_services(self._folder.name)
    self.process = subprocess.Popen(  # pylint: disable=consider-using-with
        [sys.executable, LAUNCHER, f'--services_dir={services}', *arguments],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, **environment, _MARK: self._mark})
    self.output = {'out': [], 'err': []}  # lines
    self._came = threading.Condition()
    self._readers = [
        threading.Thread(target=self._read, args=arguments) for arguments in (
            ('out', self.process.stdout, close_after),
            ('err', self.process.stderr, None))]
    for reader in self._readers:
      reader.start()

  def _read(self, key, stream, limit):
    with stream:
      for line in itertools.islice(stream, limit):
        with self._came:
          self.output[key].append(line)
          self._came.notify_all()

  def wait_for(self, text):
    """Waits until it has written `text`; returns the line."""
    def found():
      return [line for lines in self.output.values() for line in lines
              if text in line]
    with self._came:
      assert self._came.wait_for(found, DEADLINE_S), f'no {text}: {self.output}'
      return found()[0]

  def pid_of(self, job, index):
    """Returns the process id of a service."""
    wanted = {f'--job_name={job}', f'--task_index={index}'}
    for process in guard.marked(self._mark):
      with contextlib.suppress(OSError):
        with open(f'/proc/{process}/cmdline', encoding='utf-8') as line:
          if wanted <= set(line.read().split('\0')):
            return process
    raise AssertionError(f'there is no {job}:{index}')

  def send(self, number):
    self.process.send_signal(number)

  def end(self):
    """Waits for its end; returns its exit code."""
    code = self.process.wait(DEADLINE_S)
    for reader in self._readers:
      reader.join(DEADLINE_S)
    return code

  @property
  def out(self):
    return ''.join(self.output['out'])

  @property
  def err(self):
    return ''.join(self.output['err'])

  def running(self):
    """Returns pidfds of all processes of the cluster."""
    found = []
    for process in guard.marked(self._mark):
      with contextlib.suppress(ProcessLookupError):
        found.append(os.pidfd_open(process))
    return found

  def left(self):
    """Returns the processes that outlive the launcher."""
    return guard.marked(self._mark)

  def kill(self):
    """Kills the launcher with SIGKILL, which it cannot handle."""
    self.send(signal.SIGKILL)

  def close(self):
    guard.sweep(self._mark)
    self.process.wait(DEADLINE_S)
    for reader in self._readers:
      reader.join(DEADLINE_S)
    self._folder.cleanup()


def all_end(descriptors):
  """Waits for processes, closes the pidfds; returns true if all ended."""
  ended = True
  for descriptor in descriptors:
    ended = ended and bool(select.select([descriptor], [], [], DEADLINE_S)[0])
    os.close(descriptor)
  return ended
