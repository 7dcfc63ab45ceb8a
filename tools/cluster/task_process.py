"""One process of the cluster, with all that it starts.

It is the leader of a session of its own: keys pressed at the terminal reach the
launcher only, and the whole group is ended at once. The kernel kills it when
the launcher dies.
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
_ROWS = 25  # of the terminal that a process thinks it has


def _die_with(parent):
  """In the child, before it becomes another program."""
  _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
  if os.getppid() != parent:
    os._exit(1)  # it had died before


def exit_code(returncode):
  """As a shell says it: 128 and the signal's number for a killed process."""
  return 128 - returncode if returncode < 0 else returncode


def _terminal():
  """(what we read, what the process writes to) that looks like a terminal."""
  ours, theirs = pty.openpty()
  attributes = termios.tcgetattr(theirs)
  attributes[1] &= ~termios.OPOST  # line feeds stay as they are
  attributes[3] &= ~termios.ECHO
  termios.tcsetattr(theirs, termios.TCSANOW, attributes)
  return ours, theirs


class Stream:
  """What we read of the process: a descriptor and its lines."""

  def __init__(self, descriptor, is_error):
    os.set_blocking(descriptor, False)
    self.descriptor = descriptor
    self.is_error = is_error
    self.reader = LineReader()

  def fileno(self):
    return self.descriptor

  def read(self):
    """The bytes there are: None if none are yet, empty at the end."""
    try:
      return os.read(self.descriptor, _READ_SIZE)
    except BlockingIOError:
      return None
    except OSError:  # how a terminal that nobody writes to any more ends
      return b''

  def resize(self, columns):
    """Has effect on a terminal only."""
    with contextlib.suppress(OSError):
      fcntl.ioctl(self.descriptor, termios.TIOCSWINSZ,
                  struct.pack('HHHH', _ROWS, columns, 0, 0))


class TaskProcess:
  """Runs from its construction on. OSError: it could not be started."""

  def __init__(self, name, command, environment, *, live=False, inherit=False):
    """Makes the process.

    live: its standard output is a terminal, so that it shows progress there.
    inherit: it reads and writes the launcher's own streams, without prefixes.
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
    """Readable when the process has ended."""
    return self.descriptor

  @property
  def pid(self):
    return self._process.pid

  def signal(self, number):
    """To the whole group, while its leader is not reaped."""
    if self.code is None:
      with contextlib.suppress(ProcessLookupError):
        os.killpg(self.pid, number)

  def await_end(self):
    """Leaves it to be reaped; so this may interrupt reap()."""
    with contextlib.suppress(ChildProcessError):
      os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)

  def reap(self):
    """Waits for its end, ends the rest of its group, sets `code`."""
    self.await_end()
    self.signal(signal.SIGKILL)
    self.code = exit_code(self._process.wait())

  def close(self):
    for descriptor in [self.descriptor, *(s.descriptor for s in self.streams)]:
      os.close(descriptor)
