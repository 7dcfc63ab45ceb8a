"""Free ports of loopback, kept from others until they are listened at.

A socket that is bound to a port and does not listen keeps the kernel from
giving the port to somebody who asks for any. With SO_REUSEADDR on both sides
it does not keep a server from listening there, which names the port: ZeroMQ
and gRPC set that option.
"""

import contextlib
import socket

HOST = '127.0.0.1'

_LISTENS = '0A'  # in /proc/net/tcp


class Ports(contextlib.ExitStack):
  """`numbers` are free, different, and kept until close()."""

  def __init__(self, count):
    super().__init__()
    self.numbers = [self._keep_one() for _ in range(count)]

  def _keep_one(self):
    kept = self.enter_context(socket.socket())
    kept.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    kept.bind((HOST, 0))
    return kept.getsockname()[1]


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
