"""Runs one process of the cluster, with its child processes.

The process leads its own session: Ctrl-C at the terminal reaches only the
launcher, and signals reach the whole process group. The kernel kills the
process when the launcher dies.
"""

import contextlib
import ctypes
import fcntl
import os
import pty
import signal
import struct
import subprocess
import termios

from tools.cluster.line_reader import LineReader

_LIBC = ctypes.CDLL(None, use_errno=True)
_PR_SET_PDEATHSIG = 1
_READ_SIZE = 65536
_ROWS = 25  # the height of the pseudo-terminal


def _die_with(parent):
  """Makes the kernel kill this child with its parent; call before exec."""
  _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
  if os.getppid() != parent:
    os._exit(1)  # the parent had died before


def exit_code(returncode):
  """Returns the code of a shell: 128 + signal for a killed process."""
  return 128 - returncode if returncode < 0 else returncode


def _terminal():
  """Returns the descriptors (ours, the process's) of a pseudo-terminal."""
  ours, theirs = pty.openpty()
  attributes = termios.tcgetattr(theirs)
  attributes[1] &= ~termios.OPOST  # keeps line feeds unchanged
  attributes[3] &= ~termios.ECHO
  termios.tcsetattr(theirs, termios.TCSANOW, attributes)
  return ours, theirs


class Stream:
  """An output stream of the process: a descriptor and its lines."""

  def __init__(self, descriptor, is_error):
    os.set_blocking(descriptor, False)
    self.descriptor = descriptor
    self.is_error = is_error
    self.reader = LineReader()

  def fileno(self):
    return self.descriptor

  def read(self):
    """Returns the available bytes; None if there are none, b'' at the end."""
    try:
      return os.read(self.descriptor, _READ_SIZE)
    except BlockingIOError:
      return None
    except OSError:  # the end of a pseudo-terminal without writers
      return b''

  def resize(self, columns):
    """Sets the width of a terminal; does nothing for a pipe."""
    with contextlib.suppress(OSError):
      fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ,
                  struct.pack('HHHH', _ROWS, columns, 0, 0))


class TaskProcess:
  """A process that runs from its construction on."""

  def __init__(self, name, command, environment, *, live=False, inherit=False):
    """Starts the process; raises OSError if that fails.

    live: standard output is a pseudo-terminal, so that programs show progress
    inherit: the process uses the streams of the launcher, without prefixes
    """
    self.name = name
    self.is_ready = False
    self.code = None  # once it has ended
    self.streams = []
    if inherit:
      stdin = subprocess.DEVNULL if os.isatty(0) else None
      self._start(command, environment, stdin, None, None)
    else:
      self._start_read(command, environment, live)
    self.descriptor = os.pidfd_open(self._process.pid)

  def _start_read(self, command, environment, live):
    out, their_out = _terminal() if live else os.pipe()
    err, their_err = os.pipe()
    try:
      self._start(command, environment, subprocess.DEVNULL, their_out, their_err)
    except OSError:
      os.close(out)
      os.close(err)
      raise
    finally:
      os.close(their_out)
      os.close(their_err)
    self.streams = [Stream(out, False), Stream(err, True)]

  def _start(self, command, environment, stdin, stdout, stderr):
    parent = os.getpid()
    # preexec_fn is safe here: the launcher has one thread.
    self._process = subprocess.Popen(  # pylint: disable=consider-using-with
        command, env=environment, stdin=stdin, stdout=stdout, stderr=stderr,
        start_new_session=True, preexec_fn=lambda: _die_with(parent))

  def fileno(self):
    """Returns a descriptor that is readable when the process has ended."""
    return self.descriptor

  @property
  def pid(self):
    return self._process.pid

  def signal(self, number):
    """Sends a signal to the whole group until the leader is reaped."""
    if self.code is None:
      with contextlib.suppress(ProcessLookupError):
        os.killpg(self.pid, number)

  def await_end(self):
    """Waits for the end without reaping, so it may interrupt reap()."""
    with contextlib.suppress(ChildProcessError):
      os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)

  def reap(self):
    """Waits for the end, kills the rest of the group, sets `code`."""
    self.await_end()
    self.signal(signal.SIGKILL)
    self.code = exit_code(self._process.wait())

  def close(self):
    for descriptor in [self.descriptor, *(s.descriptor for s in self.streams)]:
      os.close(descriptor)
