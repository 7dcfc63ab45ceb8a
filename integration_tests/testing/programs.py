"""Programs that a test runs, and ports for them."""

import contextlib
import os
import random
import socket


def binary(name):
  """Where a program among the test's data lies."""
  return os.path.join(os.environ['TEST_SRCDIR'], os.environ['TEST_WORKSPACE'],
                      name)


def free_ports(count):
  """Ports of this machine that nobody listens on, all different.

  Below those that the system gives to outgoing connections, one of which could
  take a port before its server does.
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
