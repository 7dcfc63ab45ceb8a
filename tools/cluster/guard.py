"""Ends what is left of a cluster when its launcher is gone, however it went.

Each process of a cluster carries a mark in its environment, which its own
children inherit, wherever they move to. The guard is a small process beside
the launcher that waits for the launcher's end and then kills whoever carries
the mark. The kernel already kills the tasks themselves with the launcher (see
task_process.py); the guard is for what those have started.
"""

import contextlib
import os
import select
import signal
import time
import uuid

VARIABLE = 'WEFT_LOCAL_CLUSTER'

_SWEEP_S = 2.0
_ALL_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def marked(mark):
  """The ids of the processes that carry `mark`."""
  found = []
  for name in os.listdir('/proc'):
    if name.isdigit() and int(name) != os.getpid():
      # A process that has ended meanwhile, or belongs to somebody else.
      with contextlib.suppress(OSError):
        with open(f'/proc/{name}/environ', 'rb') as environment:
          if mark.encode() in environment.read():
            found.append(int(name))
  return found


def sweep(mark):
  """Kills the processes that carry `mark` until none is left.

  A process may start others until it has ended, so this looks for more after
  each end. Gives up after _SWEEP_S seconds: the kernel may hold a process.
  """
  deadline = time.monotonic() + _SWEEP_S
  while (left := marked(mark)) and time.monotonic() < deadline:
    with contextlib.ExitStack() as opened:
      killed = []
      for process in left:
        with contextlib.suppress(OSError):  # it has ended
          killed.append(_kill(process, opened))
      if killed:
        _wait_for_any(killed, max(0, deadline - time.monotonic()))


def _kill(process, opened):
  """Returns a descriptor, readable at the process's end; `opened` closes it."""
  descriptor = os.pidfd_open(process)
  opened.callback(os.close, descriptor)
  signal.pidfd_send_signal(descriptor, signal.SIGKILL)
  return descriptor


def _wait_for_any(descriptors, seconds):
  poll = select.poll()  # select() refuses descriptors from 1024 on
  for descriptor in descriptors:
    poll.register(descriptor, select.POLLIN)
  poll.poll(seconds * 1000)


class Guard:
  """To be made while the launcher has one thread."""

  def __init__(self):
    self._mark = uuid.uuid4().hex
    ours, self._pipe = os.pipe()
    self._process = os.fork()
    if not self._process:
      self._watch(ours)
    os.close(ours)

  def environment(self):
    """For the processes to be guarded. Launchers may start launchers."""
    marks = [m for m in (os.environ.get(VARIABLE), self._mark) if m]
    return {VARIABLE: ','.join(marks)}

  def close(self):
    """Ends what is left now."""
    os.close(self._pipe)
    os.waitpid(self._process, 0)

  def _watch(self, ours):
    """What the guard does; does not return."""
    try:
      os.setsid()  # keys pressed at the terminal are not for it
      for number in _ALL_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
      nowhere = os.open(os.devnull, os.O_RDWR)
      for stream in range(3):  # who reads the launcher's output sees its end
        os.dup2(nowhere, stream)
      # Nor does it keep open what others wait for the end of.
      os.closerange(3, ours)
      os.closerange(ours + 1, os.sysconf('SC_OPEN_MAX'))
      os.read(ours, 1)
      sweep(self._mark)
    finally:
      os._exit(0)
