"""Runs unittest cases and reports each of them to Bazel.

By default, Bazel reports one case for a whole Python test. main() below writes
the JUnit file itself, at $XML_OUTPUT_FILE, so that tools/test.sh counts all
cases and shows the skipped ones with their reasons.
"""

import os
import sys
import unittest
import xml.etree.ElementTree as ElementTree


class _Result(unittest.TextTestResult):
  """Keeps (case, tag, text) of every case."""

  def __init__(self, *args, **kwargs):
    super().__init__(*args, **kwargs)
    self.cases = {}

  def startTest(self, test):
    super().startTest(test)
    self.cases.setdefault(test.id(), (None, ''))

  def _keep(self, test, tag, text):
    self.cases[test.id()] = (tag, text)

  def addFailure(self, test, err):
    super().addFailure(test, err)
    self._keep(test, 'failure', str(err[1]))

  def addError(self, test, err):
    super().addError(test, err)
    self._keep(test, 'error', str(err[1]))

  def addSkip(self, test, reason):
    super().addSkip(test, reason)
    self._keep(test, 'skipped', reason)

  def addSubTest(self, test, subtest, err):
    super().addSubTest(test, subtest, err)
    if err is not None:
      self._keep(test, 'failure', f'{subtest}: {err[1]}')


def _write_xml(cases, path):
  suite = ElementTree.Element('testsuite', tests=str(len(cases)))
  for name, (tag, text) in cases.items():
    group, _, short = name.rpartition('.')
    case = ElementTree.SubElement(
        suite, 'testcase', classname=group, name=short)
    if tag:
      ElementTree.SubElement(case, tag, message=text)
  ElementTree.ElementTree(suite).write(path, encoding='utf-8')


def main():
  """Runs the cases of __main__; does not return."""
  runner = unittest.TextTestRunner(resultclass=_Result, verbosity=2)
  program = unittest.main(
      module='__main__', testRunner=runner, exit=False, argv=sys.argv[:1])
  path = os.environ.get('XML_OUTPUT_FILE')
  if path:
    _write_xml(program.result.cases, path)
  sys.exit(0 if program.result.wasSuccessful() else 1)
