#!/usr/bin/python3
"""Counts test cases, where Bazel counts test targets.

usage: count_tests.py EVENTS BAZEL_EXIT_CODE

EVENTS is the file that `bazel test --build_event_json_file` wrote. The list of
results comes from there because bazel-testlogs may hold older ones. Prints each
failed case and, last, "N passed, N failed" (", N skipped"); exits 0 only when
Bazel did, something passed and nothing failed.
"""

import json
import sys
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree


class Count:
  """The outcomes of the cases of one or more tests."""

  def __init__(self):
    self.passed = 0
    self.skipped = 0
    self.failures = []

  def __str__(self):
    text = f'{self.passed} passed, {len(self.failures)} failed'
    return text + (f', {self.skipped} skipped' if self.skipped else '')

  def ok(self):
    return self.passed > 0 and not self.failures


def read_events(lines):
  """Returns ({(label, shard, run): result of the last attempt}, [broken])."""
  last, broken = {}, []
  for line in lines:
    event = json.loads(line)
    identity = event.get('id', {})
    if 'testResult' in identity and 'testResult' in event:
      test = identity['testResult']
      key = (test['label'], test.get('shard', 1), test.get('run', 1))
      attempt = test.get('attempt', 1)
      if key not in last or attempt >= last[key][0]:
        last[key] = (attempt, event['testResult'])
    if 'targetCompleted' in identity:
      if not event.get('completed', {}).get('success'):
        broken.append(identity['targetCompleted']['label'])
    if 'pattern' in identity and 'aborted' in event:
      broken.append(' '.join(identity['pattern'].get('pattern', ['?'])))
  return {key: result for key, (_, result) in last.items()}, broken


def read_cases(result):
  """Yields (name, outcome) of each case in the result's test.xml."""
  for output in result.get('testActionOutput', []):
    if output.get('name') != 'test.xml':
      continue
    path = urllib.parse.urlparse(output['uri']).path
    with open(urllib.request.url2pathname(path), 'rb') as file:
      for case in ElementTree.parse(file).iter('testcase'):
        yield '%s.%s' % (case.get('classname'), case.get('name')), outcome(case)


def outcome(case):
  """Returns 'passed', 'failed' or 'skipped' for a <testcase>."""
  if case.find('failure') is not None or case.find('error') is not None:
    return 'failed'
  if (case.get('status') == 'notrun' or case.find('skipped') is not None or
      case.get('result') in ('skipped', 'suppressed')):
    return 'skipped'
  return 'passed'


def count_result(count, label, result):
  """Adds one test to the count; a test that ran no case has failed."""
  cases, failed_before = 0, len(count.failures)
  try:
    for name, what in read_cases(result):
      cases += 1
      if what == 'passed':
        count.passed += 1
      elif what == 'skipped':
        count.skipped += 1
      else:
        count.failures.append(f'{label} {name}')
  except (OSError, ElementTree.ParseError) as error:
    count.failures.append(f'{label}: its test.xml cannot be read: {error}')
  if len(count.failures) > failed_before:
    return
  status = result.get('status')
  if status not in ('PASSED', 'FLAKY'):
    count.failures.append(f'{label}: {status}')
  elif cases == 0:
    count.failures.append(f'{label}: ran no case')


def count_events(lines, bazel_exit_code):
  """Counts all tests in the build events.

  Bazel may fail although no test did, for example because of a BUILD file that
  it cannot read.
  """
  count = Count()
  results, broken = read_events(lines)
  for (label, _, _), result in sorted(results.items()):
    count_result(count, label, result)
  with_result = {label for label, _, _ in results}
  for label in sorted(set(broken) - with_result):
    count.failures.append(f'{label}: did not build')
  if bazel_exit_code and not count.failures:
    count.failures.append(
        f'bazel ended with {bazel_exit_code}; its errors are above')
  return count


def main(arguments):
  if len(arguments) != 2:
    print(__doc__, file=sys.stderr)
    return 2
  try:
    with open(arguments[0], encoding='utf-8') as lines:
      count = count_events(lines, int(arguments[1]))
  except (OSError, ValueError) as error:
    count = Count()
    count.failures.append(f'the build events cannot be counted: {error}')
  if not count.passed and not count.failures:
    print('FAILED no test ran')
  for failure in count.failures:
    print('FAILED', failure)
  print(count)
  return 0 if count.ok() else 1


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
