"""Tests lines and overwritten lines."""

import unittest

from tools import xml_unittest
from tools.cluster.line_reader import LineReader, without_escapes


class LineReaderTest(unittest.TestCase):

  def setUp(self):
    super().setUp()
    self.reader = LineReader()

  def test_lines_are_returned_when_complete(self):
    self.assertEqual(self.reader.feed(b'one\ntwo\nthr'), ['one', 'two'])
    self.assertEqual(self.reader.live, 'thr')
    self.assertEqual(self.reader.feed(b'ee\n'), ['three'])
    self.assertEqual(self.reader.live, '')

  def test_an_empty_line_is_a_line(self):
    self.assertEqual(self.reader.feed(b'\n\n'), ['', ''])

  def test_overwritten_line_shows_its_last_text(self):
    for style in (b'\rstep 1', b'\rstep 2'), (b'step 1\r', b'step 2\r'):
      reader = LineReader()
      self.assertEqual(reader.feed(style[0]), [])
      self.assertEqual(reader.live, 'step 1')
      self.assertEqual(reader.feed(style[1]), [])
      self.assertEqual(reader.live, 'step 2')
      self.assertEqual(reader.feed(b'\n'), ['step 2'])

  def test_erased_line_is_empty(self):
    self.reader.feed(b'step 1\r\x1b[K')
    self.assertEqual(self.reader.live, '')

  def test_line_ends_of_other_systems(self):
    self.assertEqual(self.reader.feed(b'one\r\ntwo\r'), ['one'])
    self.assertEqual(self.reader.feed(b'\n'), ['two'])

  def test_cursor_movements_are_removed_colours_kept(self):
    self.assertEqual(self.reader.feed(b'\x1b[2K\x1b[31mred\x1b[0m\x1b[K\n'),
                     ['\x1b[31mred\x1b[0m'])
    self.assertEqual(without_escapes('\x1b[1;31mred\x1b[0m'), 'red')

  def test_a_last_line_without_an_end(self):
    self.reader.feed(b'one\ntwo')
    self.assertEqual(self.reader.end(), ['two'])
    self.assertEqual(self.reader.end(), [])

  def test_bytes_that_are_not_text(self):
    self.assertEqual(self.reader.feed(b'a\xffb\n'), ['a\ufffdb'])

  def test_a_character_may_come_in_two_reads(self):
    self.assertEqual(self.reader.feed('ä'.encode()[:1]), [])
    self.assertEqual(self.reader.feed('ä'.encode()[1:] + b'\n'), ['ä'])

  def test_a_line_without_end_is_cut(self):
    lines = [line for _ in range(100) for line in self.reader.feed(b'x' * 10000)]
    self.assertEqual(sum(map(len, lines)) + len(self.reader.live), 1000000)
    self.assertLess(len(self.reader.live), 100000)

  def test_endless_progress_is_one_line(self):
    for step in range(20000):
      self.assertEqual(self.reader.feed(b'\rstep %d' % step), [])
    self.assertEqual(self.reader.live, 'step 19999')


if __name__ == '__main__':
  xml_unittest.main()
