"""Tests the output on a terminal and in a file."""

import unittest

from tools import xml_unittest
from tools.cluster.display import Display
from tools.cluster.fake_terminal import FakeSink, screen


class DisplayTest(unittest.TestCase):

  def setUp(self):
    super().setUp()
    self.now = 100.0

  def display(self, is_terminal):
    self.out, self.err = FakeSink(is_terminal), FakeSink(is_terminal)
    return Display(['ps:0', 'worker:0', 'worker:1', 'coordinator:0'], self.out, self.err,
                   lambda: self.now)

  def test_lines_begin_with_the_name_of_their_task(self):
    display = self.display(False)
    display.lines('ps:0', ['one', 'two'])
    display.lines('worker:0', ['three'], is_error=True)
    self.assertEqual(self.out.text, 'ps:0          | one\nps:0          | two\n')
    self.assertEqual(self.err.text, 'worker:0      | three\n')

  def test_colours_on_a_terminal_only(self):
    display = self.display(True)
    display.lines('ps:0', ['one'])
    self.assertEqual(self.out.text, '\x1b[36mps:0          |\x1b[0m one\n')

  def test_changed_progress_is_written_to_a_file(self):
    display = self.display(False)
    display.live('worker:0', 'step 1')
    self.assertAlmostEqual(display.refresh(), 5.0)
    self.now += 3
    display.live('worker:0', 'step 2')
    self.assertAlmostEqual(display.refresh(), 2.0)
    self.assertEqual(self.out.take(), '')
    self.now += 2
    self.assertIsNone(display.refresh())
    self.assertEqual(self.out.take(), 'worker:0      | step 2\n')
    self.now += 100
    self.assertIsNone(display.refresh())
    self.assertEqual(self.out.take(), '')

  def test_terminal_shows_progress_below_the_lines(self):
    display = self.display(True)
    display.live('worker:0', 'step 1')
    display.live('worker:1', 'step 2')
    self.assertIsNone(display.refresh())
    display.lines('ps:0', ['a line'])
    self.now += 1
    display.live('worker:0', 'step 3')
    display.refresh()
    self.assertEqual(screen(self.out.text), [
        'ps:0          | a line', 'worker:0 | step 3', 'worker:1 | step 2'])

  def test_a_terminal_is_not_flooded(self):
    display = self.display(True)
    display.live('worker:0', 'step 1')
    display.refresh()
    self.out.take()
    display.live('worker:0', 'step 2')
    self.assertAlmostEqual(display.refresh(), 0.1)
    self.assertEqual(self.out.take(), '')
    self.now += 0.1
    self.assertIsNone(display.refresh())
    self.assertIn('step 2', self.out.take())

  def test_progress_that_ends_becomes_a_line(self):
    display = self.display(True)
    display.live('worker:0', 'step 1')
    display.refresh()
    display.live('worker:0', '')
    display.lines('worker:0', ['step 2'])
    display.close()
    self.assertEqual(screen(self.out.text), ['worker:0      | step 2', ''])

  def test_lines_on_stderr_do_not_disturb_progress(self):
    display = self.display(True)
    display.live('worker:0', 'step 1')
    display.refresh()
    display.lines('ps:0', ['a line'], is_error=True)
    self.assertEqual(screen(self.out.text),
                     ['ps:0          | a line', 'worker:0 | step 1'])

  def test_progress_fits_into_its_line(self):
    display = self.display(True)
    display.live('worker:0', 'x' * 100)
    display.refresh()
    self.assertLess(len(screen(self.out.text)[0]), 40)

  def test_closing_leaves_no_progress(self):
    display = self.display(True)
    display.live('worker:0', 'step 1')
    display.refresh()
    display.close()
    self.assertEqual(screen(self.out.text), [''])


if __name__ == '__main__':
  xml_unittest.main()
