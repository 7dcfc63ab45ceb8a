"""Programs that a test runs, and ports for them."""

import os
import socket


def binary(name):
  """Where a program among the test's data lies."""
  return os.path.join(os.environ['TEST_SRCDIR'], os.environ['TEST_WORKSPACE'],
                      name)


def free_ports(count):
  """Ports of this machine that nobody listens on, all different."""
  probes = [socket.socket() for _ in range(count)]
  for probe in probes:
    probe.bind(('127.0.0.1', 0))
  ports = [probe.getsockname()[1] for probe in probes]
  for probe in probes:
    probe.close()
  return ports
