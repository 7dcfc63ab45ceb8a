"""The sources have the listed texts, and the check finds those they lack."""

import os
import tempfile
import unittest

from tools import source_tree
from tools import xml_unittest
from tools.style import tensorflow_texts

_HEADER = 'libs/queue/*: tensorflow/core (1.15)\n'
_LIST = '# A comment.\n\n' + _HEADER + '  is closed and has too few elements\n'
_SOURCE = 'Fail(StrCat(name, " is closed and has "  // why\n "too few elements"'


def _check(files):
  """Returns the violations of a checkout with these files."""
  with tempfile.TemporaryDirectory() as top:
    for path, text in files.items():
      full = os.path.join(top, path)
      os.makedirs(os.path.dirname(full), exist_ok=True)
      with open(full, 'w', encoding='utf-8') as file:
        file.write(text)
    return tensorflow_texts.check(top)


class TensorFlowTextsTest(unittest.TestCase):

  def check(self, path, source, listing=_LIST):
    return _check({tensorflow_texts.LIST: listing, path: source})

  def assert_one(self, violations, line, what, remedy):
    self.assertEqual(len(violations), 1, violations)
    self.assertEqual(violations[0][:2], (tensorflow_texts.LIST, line))
    self.assertIn(what, violations[0].what)
    self.assertIn(remedy, violations[0].remedy)

  def test_sources_have_the_texts(self):
    violations = tensorflow_texts.check(source_tree.root())
    if violations:
      self.fail('\n' + '\n'.join(map(source_tree.describe, violations)))

  def test_text_in_a_product_source(self):
    for path in ('libs/queue/queue.cc', 'libs/queue/impl/queue.h',
                 'libs/queue/queue.cu'):
      with self.subTest(path):
        self.assertEqual(self.check(path, _SOURCE), [])

  def test_text_nowhere(self):
    self.assert_one(
        self.check('libs/queue/queue.cc', 'Fail(name, " has no elements");'), 4,
        'no string in libs/queue/* has "is closed and has too few elements" '
        'of tensorflow/core (1.15)', 'restore the wording of TensorFlow')

  def test_text_only_in_tests(self):
    for path in ('libs/queue/queue_test.cc', 'libs/queue/queue_benchmark.cc',
                 'libs/queue/testing/queue.cc', 'tools/queue.cc',
                 'libs/queue/README.md'):
      with self.subTest(path):
        self.assert_one(self.check(path, _SOURCE), 4, 'no string in', 'restore')

  def test_text_in_another_folder(self):
    self.assert_one(
        self.check('services/queue/queue.cc', _SOURCE), 4, 'no string in',
        'it is in services/queue/queue.cc: move it')

  def test_text_outside_of_one_literal(self):
    for source in ('// " is closed and has too few elements"\n',
                   '/* " is closed and has too few elements" */\n',
                   'Fail(" is closed and has ", "too few elements");',
                   'Fail(" is closed and has ", n, "too few elements");',
                   'is closed and has too few elements'):
      with self.subTest(source):
        self.assert_one(
            self.check('libs/queue/queue.cc', source), 4, 'no string in',
            'restore')

  def test_literals(self):
    for source, expected in (
        ('"a\\"b" "c\\n d"', ['a"bc d']),
        ('F("a" /* , */ "b", "c")', ['ab', 'c']),
        ('F(\'"\', "a");', ['a']),
        ('"a" \'x\' "b"', ['a', 'b']),
        ("n > 1'000 ? \"a\" : \"b\"", ['a', 'b']),
        ('R"x(a"  \\n)x" "b"', ['a" \\nb']),
        ('"http://a" // "b"\n', ['http://a']),
        ('', [])):
      with self.subTest(source):
        self.assertEqual(list(tensorflow_texts.literals(source)), expected)

  def test_malformed_lists(self):
    for listing, line in (('  a text without a header\n', 1),
                          ('libs/queue/*\n', 1),
                          (_HEADER + '  too short\n', 2)):
      with self.subTest(listing):
        self.assert_one(
            self.check('libs/queue/queue.cc', _SOURCE, listing), line,
            'cannot read', 'FILE PATTERN: ORIGIN')

  def test_repeated_text(self):
    self.assert_one(
        self.check('libs/queue/queue.cc', _SOURCE, _LIST + _LIST), 8,
        'is listed in line 4 too', 'delete one')


if __name__ == '__main__':
  xml_unittest.main()
