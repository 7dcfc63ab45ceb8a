"""Kills the remaining processes of a cluster when its launcher has ended.

Each process of a cluster carries a mark in its environment, which its child
processes inherit, even in another session. The guard is a small process beside
the launcher: it waits for the launcher's end and then kills all processes with
the mark. The kernel kills the tasks themselves with the launcher
(task_process.py); the guard kills the processes that the tasks have started.
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
  """Returns the ids of the processes that carry `mark`."""
  found = []
  for name in os.listdir('/proc'):
    if name.isdigit() and int(name) != os.getpid():
      # The process has ended meanwhile, or belongs to another user.
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
  """Must be created while the launcher has one thread, because it forks."""

  def __init__(self):
    self._mark = uuid.uuid4().hex
    ours, self._pipe = os.pipe()
    self._process = os.fork()
    if not self._process:
      self._watch(ours)
    os.close(ours)

  def environment(self):
    """Returns the environment for guarded processes.

    A launcher may start another one; its processes then carry both marks.
    """
    marks = [m for m in (os.environ.get(VARIABLE), self._mark) if m]
    return {VARIABLE: ','.join(marks)}

  def close(self):
    """Kills the remaining processes now."""
    os.close(self._pipe)
    os.waitpid(self._process, 0)

  def _watch(self, ours):
    """Runs the guard process; does not return."""
    try:
      os.setsid()  # Ctrl-C at the terminal must not reach it
      for number in _ALL_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
      nowhere = os.open(os.devnull, os.O_RDWR)
      for stream in range(3):  # keeps none of the launcher's streams open
        os.dup2(nowhere, stream)
      # Keeps no other descriptor open whose end another process awaits.
      os.closerange(3, ours)
      os.closerange(ours + 1, os.sysconf('SC_OPEN_MAX'))
      os.read(ours, 1)
      sweep(self._mark)
    finally:
      os._exit(0)
