"""Free ports of loopback, kept from others as long as they are wanted.

A socket that is bound to a port and does not listen keeps the port. Who claims
one here binds without SO_REUSEADDR, so that nobody else can have it at the same
time, and sets the option afterwards: a server that sets it too may then listen
there, as ZeroMQ's and gRPC's do.

Ports lie below the range from which the system takes those of outgoing
connections, where there is room: a connection of loopback could have one
between two runs of a server, and the server would find it taken.
"""

import contextlib
import errno
import random
import socket

HOST = '127.0.0.1'

_LISTENS = '0A'  # in /proc/net/tcp
_RANGE = '/proc/sys/net/ipv4/ip_local_port_range'
_LOWEST = 10000  # well-known and most registered ports are below
_FEWEST = 2000  # a range with fewer ports is not worth a search


class NoneFree(OSError):
  """There are not as many free ports as are wanted."""


def below_outgoing(path=_RANGE):
  """Ports that no outgoing connection gets by itself; perhaps none."""
  try:
    with open(path, encoding='ascii') as file:
      first = int(file.read().split()[0])
  except (OSError, ValueError, IndexError):
    return range(0)
  return range(_LOWEST, first) if first - _LOWEST >= _FEWEST else range(0)


class Ports(contextlib.ExitStack):
  """`numbers` are free, different, and kept until close()."""

  def __init__(self, count, wanted=None):
    """`wanted`: numbers to choose from; then any that the system has free."""
    super().__init__()
    candidates = below_outgoing() if wanted is None else wanted
    self._candidates = iter(random.sample(candidates, len(candidates)))
    with contextlib.ExitStack() as unless_all:
      unless_all.callback(self.close)
      self.numbers = [self._keep_one() for _ in range(count)]
      unless_all.pop_all()

  def _keep_one(self):
    for number in self._candidates:
      if self._keep(number):
        return number
    kept = self._keep(0)
    if not kept:
      raise NoneFree(errno.EADDRINUSE, 'no port of this machine is free')
    return kept

  def _keep(self, number):
    """Returns the port that is kept now; 0: somebody has it."""
    claimed = self.enter_context(socket.socket())
    try:
      claimed.bind((HOST, number))
    except OSError as error:
      claimed.close()
      if error.errno not in (errno.EADDRINUSE, errno.EACCES):
        raise
      return 0
    claimed.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return claimed.getsockname()[1]


def listening():
  """The ports of this machine at which somebody listens; asks nobody there."""
  found = set()
  for table in ('/proc/net/tcp', '/proc/net/tcp6'):
    with contextlib.suppress(FileNotFoundError):
      with open(table, encoding='ascii') as rows:
        next(rows, None)
        columns = (row.split() for row in rows)
        found.update(int(c[1].rpartition(':')[2], 16)
                     for c in columns if c[3] == _LISTENS)
  return found
