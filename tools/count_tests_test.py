"""Tests how count_tests counts each kind of test result."""

import json
import os
import tempfile
import unittest

from tools import count_tests
from tools import xml_unittest


class CountTestsTest(unittest.TestCase):

  def setUp(self):
    self.folder = tempfile.TemporaryDirectory()
    self.addCleanup(self.folder.cleanup)

  def result(self, label, cases, status='PASSED', **test):
    """Returns a testResult event whose test.xml holds `cases`."""
    path = os.path.join(self.folder.name, f'{len(os.listdir(self.folder.name))}')
    with open(path, 'w', encoding='utf-8') as file:
      file.write(f'<testsuites><testsuite>{cases}</testsuite></testsuites>')
    output = {'name': 'test.xml', 'uri': 'file://' + path}
    return json.dumps({
        'id': {'testResult': {'label': label, **test}},
        'testResult': {'status': status, 'testActionOutput': [output]}})

  def count(self, *events, bazel_exit_code=0):
    return count_tests.count_events(events, bazel_exit_code)

  def test_each_case_counts_by_its_outcome(self):
    count = self.count(self.result('//a:t', (
        '<testcase name="good" status="run" result="completed"/>'
        '<testcase name="bad"><failure/></testcase>'
        '<testcase name="crash"><error/></testcase>'
        '<testcase name="DISABLED_x" status="notrun" result="suppressed"/>'
        '<testcase name="gtest_skip" status="run" result="skipped"/>'
        '<testcase name="python_skip"><skipped/></testcase>'), 'FAILED'))
    self.assertEqual(str(count), '1 passed, 2 failed, 3 skipped')
    self.assertFalse(count.ok())

  def test_success_needs_a_passed_case(self):
    self.assertFalse(self.count().ok())
    skipped = '<testcase name="x" result="skipped"/>'
    self.assertFalse(self.count(self.result('//a:t', skipped)).ok())
    self.assertTrue(
        self.count(self.result('//a:t', '<testcase name="x"/>')).ok())

  def test_a_test_without_cases_failed(self):
    self.assertEqual(str(self.count(self.result('//a:t', ''))),
                     '0 passed, 1 failed')

  def test_failed_test_with_passed_cases_failed(self):
    count = self.count(
        self.result('//a:t', '<testcase name="x"/>', 'FAILED'))
    self.assertEqual(str(count), '1 passed, 1 failed')

  def test_an_unreadable_report_failed(self):
    count = self.count(self.result('//a:t', '<broken'))
    self.assertEqual(str(count), '0 passed, 1 failed')

  def test_the_last_attempt_counts(self):
    bad = '<testcase name="x"><failure/></testcase>'
    good = '<testcase name="x"/>'
    count = self.count(self.result('//a:t', bad, 'FAILED', attempt=1),
                       self.result('//a:t', good, 'FLAKY', attempt=2))
    self.assertEqual(str(count), '1 passed, 0 failed')

  def test_shards_add_up(self):
    good = '<testcase name="x"/>'
    count = self.count(self.result('//a:t', good, shard=1),
                       self.result('//a:t', good, shard=2))
    self.assertEqual(str(count), '2 passed, 0 failed')

  def test_a_target_that_did_not_build_failed(self):
    broken = json.dumps({
        'id': {'targetCompleted': {'label': '//a:broken'}},
        'aborted': {'reason': 'ANALYSIS_FAILURE'}})
    count = self.count(
        self.result('//a:t', '<testcase name="x"/>'), broken)
    self.assertEqual(count.failures, ['//a:broken: did not build'])

  def test_a_build_that_broke_elsewhere_failed(self):
    good = self.result('//a:t', '<testcase name="x"/>')
    self.assertEqual(str(self.count(good, bazel_exit_code=1)),
                     '1 passed, 1 failed')

  def test_a_failed_test_is_not_counted_twice(self):
    failed = json.dumps({
        'id': {'targetCompleted': {'label': '//a:t'}},
        'completed': {'success': False}})
    bad = '<testcase name="x"><failure/></testcase>'
    count = self.count(
        self.result('//a:t', bad, 'FAILED'), failed, bazel_exit_code=3)
    self.assertEqual(str(count), '0 passed, 1 failed')


if __name__ == '__main__':
  xml_unittest.main()
