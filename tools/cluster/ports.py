"""Reserves free ports of the loopback interface.

A socket that is bound to a port and does not listen reserves the port. The
socket here is bound without SO_REUSEADDR, so that no other process can reserve
the same port. It sets the option afterwards: a server that sets it too, like
those of ZeroMQ and gRPC, may then listen on the port.

Ports are below the range that the system uses for outgoing connections, if that
leaves enough. Otherwise a connection over loopback could take a port between
two runs of a server.
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
  """There are too few free ports."""


def below_outgoing(path=_RANGE):
  """Returns ports that outgoing connections do not use; may be empty."""
  try:
    with open(path, encoding='ascii') as file:
      first = int(file.read().split()[0])
  except (OSError, ValueError, IndexError):
    return range(0)
  return range(_LOWEST, first) if first - _LOWEST >= _FEWEST else range(0)


class Ports(contextlib.ExitStack):
  """Reserved ports: `numbers` are distinct and reserved until close()."""

  def __init__(self, count, wanted=None):
    """`wanted`: numbers to try first; after them, any free port is used."""
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
      raise NoneFree(errno.EADDRINUSE, 'this machine has no free port')
    return kept

  def _keep(self, number):
    """Reserves a port; returns its number, or 0 if it is taken."""
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
  """Returns the ports on which servers listen, without connecting."""
  found = set()
  for table in ('/proc/net/tcp', '/proc/net/tcp6'):
    with contextlib.suppress(FileNotFoundError):
      with open(table, encoding='ascii') as rows:
        next(rows, None)
        columns = (row.split() for row in rows)
        found.update(int(c[1].rpartition(':')[2], 16)
                     for c in columns if c[3] == _LISTENS)
  return found
