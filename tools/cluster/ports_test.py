"""Tests that ports are distinct, reserved and usable."""

import socket
import tempfile
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

  def test_ports_are_distinct(self):
    with ports.Ports(50) as kept:
      self.assertEqual(len(set(kept.numbers)), 50)

  def test_a_server_may_listen_at_a_kept_port(self):
    with ports.Ports(1) as kept, _server(kept.numbers[0]):
      with socket.create_connection((ports.HOST, kept.numbers[0])):
        pass

  def test_others_do_not_get_a_kept_port(self):
    with ports.Ports(1) as kept, socket.socket() as other:
      with self.assertRaises(OSError):
        other.bind((ports.HOST, kept.numbers[0]))

  def test_two_reservations_do_not_overlap(self):
    with ports.Ports(20) as first:
      with ports.Ports(20, wanted=first.numbers) as second:
        self.assertFalse(set(first.numbers) & set(second.numbers))

  def test_port_is_reserved_while_its_server_restarts(self):
    with ports.Ports(1) as kept:
      _server(kept.numbers[0]).close()
      with socket.socket() as other, self.assertRaises(OSError):
        other.bind((ports.HOST, kept.numbers[0]))
      _server(kept.numbers[0]).close()

  def test_outgoing_connections_do_not_use_them(self):
    possible = ports.below_outgoing()
    if not possible:
      self.skipTest('this system leaves no ports below the range')
    with ports.Ports(30) as kept, _server(0) as server:
      for number in kept.numbers:
        self.assertIn(number, possible)
      with socket.create_connection(server.getsockname()) as outgoing:
        self.assertNotIn(outgoing.getsockname()[1], possible)

  def test_malformed_range_is_ignored(self):
    with tempfile.NamedTemporaryFile('w+') as file:
      for text, expected in (('32768\t60999\n', range(10000, 32768)),
                             ('1024\t65535\n', range(0)), ('', range(0)),
                             ('many few', range(0))):
        file.seek(0)
        file.truncate()
        file.write(text)
        file.flush()
        self.assertEqual(ports.below_outgoing(file.name), expected)
    self.assertEqual(ports.below_outgoing('/nowhere'), range(0))

  def test_reserved_port_is_not_listening(self):
    with ports.Ports(1) as kept:
      self.assertNotIn(kept.numbers[0], ports.listening())

  def test_listening_server_is_found(self):
    with _server(0) as server:
      self.assertIn(server.getsockname()[1], ports.listening())


if __name__ == '__main__':
  xml_unittest.main()
