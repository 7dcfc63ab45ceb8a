"""Tests the line of each task, on a terminal and in a file."""

import unittest

from tools import xml_unittest
from tools.cluster.fake_terminal import FakeSink, screen
from tools.cluster.summary_display import SummaryDisplay

_LOG = '2026-11-29 13:01:03.236 {} /job:ps/replica:0/task:0] {}'
_STARTED = _LOG.format('I', 'Started')


class SummaryDisplayTest(unittest.TestCase):

  def setUp(self):
    super().setUp()
    self.now = 100.0

  def display(self, is_terminal):
    self.out, self.err = FakeSink(is_terminal), FakeSink(is_terminal)
    return SummaryDisplay(['ps:0', 'worker:0', 'worker:1'], 'worker:0',
                          self.out, self.err, now=lambda: self.now)

  def refresh(self, display):
    self.now += 1
    display.refresh()
    return screen(self.out.text)

  def test_terminal_has_one_line_per_task(self):
    display = self.display(True)
    display.lines('ps:0', [_STARTED], is_error=True)
    for step in range(5):
      display.live('worker:0', f'step {step}')
      display.lines('worker:0', [_LOG.format('I', 'global_step/sec: 9')],
                    is_error=True)
      display.live('worker:1', f'step {step}')
      display.live('worker:1', '')
      lines = self.refresh(display)
    self.assertEqual(lines, ['ps:0     | Started', 'worker:0 | step 4',
                             'worker:1 | step 4'])

  def test_log_is_shown_until_the_task_writes_output(self):
    display = self.display(True)
    display.lines('worker:0', [_STARTED], is_error=True)
    self.assertEqual(self.refresh(display), ['worker:0 | Started'])
    display.lines('worker:0', ['ready'])
    display.lines('worker:0', [_STARTED], is_error=True)
    self.assertEqual(self.refresh(display), ['worker:0 | ready'])

  def test_warnings_and_errors_stay(self):
    display = self.display(True)
    display.live('worker:0', 'step 1')
    texts = [_LOG.format('W', 'look'), 'INTERNAL: no']
    display.lines('worker:0', texts, is_error=True)
    self.assertEqual(self.refresh(display),
                     [*(f'worker:0 | {text}' for text in texts),
                      'worker:0 | step 1'])

  def test_last_lines_stay_on_a_terminal(self):
    display = self.display(True)
    display.lines('ps:0', [_STARTED], is_error=True)
    display.live('worker:0', 'step 1')
    self.refresh(display)
    display.close()
    self.assertEqual(screen(self.out.text),
                     ['ps:0     | Started', 'worker:0 | step 1', ''])

  def test_file_gets_the_leaders_line_periodically(self):
    display = self.display(False)
    for step in range(60):
      for name in ('worker:0', 'worker:1'):
        display.lines(name, [f'step {step}'])
      display.lines('ps:0', [_STARTED], is_error=True)
      self.refresh(display)
    display.close()
    lines = self.out.text.splitlines()
    self.assertEqual(lines[:2], ['worker:0 | step 10', 'worker:0 | step 20'])
    self.assertEqual(lines[-2:], ['worker:0 | step 59', 'worker:1 | step 59'])
    self.assertLessEqual(len(lines), 8)
    self.assertEqual(self.err.text, '')


if __name__ == '__main__':
  xml_unittest.main()
