"""Programs that a test runs, and ports for them."""

import os

from tools.cluster import ports


def binary(name):
  """Where a program among the test's data lies."""
  return os.path.join(os.environ['TEST_SRCDIR'], os.environ['TEST_WORKSPACE'],
                      name)


def free_ports(count):
  """Ports of this machine that nobody listens on, all different."""
  with ports.Ports(count) as kept:
    return kept.numbers
