"""Ports are different, kept from those who ask for any, and can be used."""

import socket
import unittest

from tools import xml_unittest
from tools.cluster import ports


def _server(port):
  server = socket.socket()
  server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
  server.bind((ports.HOST, port))
  server.listen()
  return server


class PortsTest(unittest.TestCase):

  def test_they_are_different(self):
    with ports.Ports(50) as kept:
      self.assertEqual(len(set(kept.numbers)), 50)

  def test_a_server_may_listen_at_a_kept_port(self):
    with ports.Ports(1) as kept, _server(kept.numbers[0]):
      with socket.create_connection((ports.HOST, kept.numbers[0])):
        pass

  def test_nobody_listens_at_a_kept_port(self):
    with ports.Ports(1) as kept:
      self.assertNotIn(kept.numbers[0], ports.listening())

  def test_who_listens_is_seen(self):
    with _server(0) as server:
      self.assertIn(server.getsockname()[1], ports.listening())


if __name__ == '__main__':
  xml_unittest.main()
