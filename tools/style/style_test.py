"""The checker finds each kind of violation when one is inserted."""

import os
import tempfile
import unittest

from tools import xml_unittest
from tools.style import style

# Correct files.
_CORRECT = {
    'docs/style.md': '| a planted bug | mutant |\n',
    'docs/glossary.md': 'Heartbeat: formerly a sign of life\n',
    'docs/page.md': 'The heartbeat of a task.\n',
    'tools/style/term_rules.py': "_term('landing memory')\n",
    'libs/bus/bus.h': '// A Bus connects tasks.\nclass Bus {};\n',
    'libs/bus/bus_test.cc': 'TEST_F(BusTest, Sends) {}\n',
}


class StyleTest(unittest.TestCase):

  def check(self, inserted):
    """Returns (path, line, what) of each violation with `inserted` on top."""
    with tempfile.TemporaryDirectory() as top:
      for path, text in {**_CORRECT, **inserted}.items():
        full = os.path.join(top, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, 'w', encoding='utf-8') as file:
          file.write(text)
      return [violation[:3] for violation in style.check(top)]

  def assert_one(self, path, text, line, what):
    """The inserted file gives the one violation."""
    found = self.check({path: text})
    self.assertEqual([v[:2] for v in found], [(path, line)], found)
    self.assertIn(what, found[0][2])

  def test_correct_tree(self):
    self.assertEqual(self.check({}), [])

  def test_long_test_name(self):
    path = 'libs/bus/long_test.cc'
    for macro in ('TEST', 'TEST_F', 'TEST_P', 'TYPED_TEST'):
      with self.subTest(macro):
        self.assert_one(path, f'\n{macro}(BusTest,\n    {"Aa" * 23}) {{}}\n', 3,
                        'has 46 characters')
        self.assertEqual(
            self.check({path: f'{macro}(BusTest, {"A" * 45}) {{}}\n'}), [])

  def test_vague_test_name(self):
    path = 'libs/bus/testing/vague.h'
    for name, word in (('NobodyListens', 'Nobody'), ('KeepsWhatIsSent', 'What'),
                       ('EndsHoweverBroken', 'However'), ('TellsWho', 'Who'),
                       ('SendsNothing', 'Nothing'), ('NoOneWaits', 'NoOne'),
                       ('OfWhichOneIsLost', 'OfWhich')):
      with self.subTest(name):
        self.assert_one(path, f'TEST_P(BusTest, {name}) {{}}\n', 1, f'"{word}"')

  def test_words_that_contain_a_vague_one(self):
    for name in ('WholeFileIsRead', 'NoOnesAreCounted', 'WhoisIsParsed'):
      with self.subTest(name):
        self.assertEqual(
            self.check({'libs/bus/a_test.cc': f'TEST(BusTest, {name}) {{}}\n'}),
            [])

  def test_headless_type_comment(self):
    path = 'libs/bus/wire.h'
    for text in ('// What is sent.\nstruct Wire {\n',
                 '/// Of the wires,\n// one that is cut.\nclass Wire final\n',
                 '// Who sends.\ntemplate <typename T>\nclass Wire {\n',
                 '// Where it ends.\ntemplate <typename T,\n'
                 '          typename U>\nstruct Wire : Bus {\n',
                 '// One that sends.\ntemplate <class T> class Wire {};\n',
                 '// By whom it is cut.\nstruct Wire {};\n',
                 '// Of one element.\nstruct [[gnu::may_alias]] Wire {\n'):
      with self.subTest(text):
        self.assert_one(path, text, 1, 'this comment of a type starts with "')

  def test_correct_type_comments(self):
    for text in ('// A wire to whom it concerns.\n// What follows is free.\n'
                 'class Wire {\n',
                 '// What is only declared.\nclass Wire;\n',
                 '// What a function does.\nvoid Send();\n\nclass Wire {\n',
                 '// Thatch and one thatched.\nclass Wire {\n',
                 '// One of the wires.\nstruct Wire {\n'):
      with self.subTest(text):
        self.assertEqual(self.check({'libs/bus/wire.h': text}), [])

  def test_type_comments_of_sources_are_free(self):
    self.assertEqual(
        self.check({'libs/bus/wire.cc': '// What is sent.\nclass Wire {\n'}),
        [])

  def test_old_terms(self):
    for line in ('a sign of life', 'two signs of life', 'its landing memory',
                 'the Greeting', 'no doubt', 'is doubted', 'its patience',
                 'LetGo()', 'GoOnWithStep()', 'HeedStop()', 'class Declarer',
                 'a declarant', 'its namesake', 'Whoever waits', 'by turns',
                 'planted_bugs', 'a planted bug', 'made-up graphs',
                 'is made up', 'a fresh reader', 'read once more', 'of kin',
                 'the moment', 'steps_over_below', 'kOwnThread', 'its rooms',
                 'room_test', 'within_room()', 'trial GPU', 'MAKE_ROOM_H',
                 'upper floors', 'the house', 'in this wing'):
      with self.subTest(line):
        self.assert_one('libs/bus/a.cc', f'\n// {line}\n', 2, 'is an old term')

  def test_other_words(self):
    for line in ('a house price', 'the first moment', 'moment estimates',
                 "ZMTP's greeting", 'room for a frame', 'mushroom_soup',
                 'a room', 'kIn', 'undoubtedly', 'wingspan', 'MemoryRoom',
                 'made upon request', 'skin', 'momentum', 'the head'):
      with self.subTest(line):
        self.assertEqual(self.check({'libs/bus/a.cc': f'// {line}\n'}), [])

  def test_files_whose_terms_count(self):
    for path in ('README.md', 'docs/design/page.md', 'libs/bus/README.md',
                 'libs/bus/BUILD', 'libs/a.cu', 'bazel/a.bzl', 'tools/a.py',
                 'tools/a.sh', 'tools/local_cluster', 'schemas/a.fbs',
                 'integration_tests/testdata/mutants/a.patch'):
      with self.subTest(path):
        self.assert_one(path, 'its patience\n', 1, '"patience"')

  def test_files_that_may_name_old_terms(self):
    for path in ('docs/style.md', 'docs/glossary.md', 'docs/design/layout.md',
                 'tools/style/a.py', 'libs/bus/corpus.txt'):
      with self.subTest(path):
        self.assertEqual(self.check({path: 'its patience\n'}), [])

  def test_large_folder(self):
    full = {f'libs/bus/zmq/{i}.{ending}': ''
            for i in range(30) for ending in ('h', 'cc')}
    self.assertEqual(self.check({**full, 'libs/bus/zmq/BUILD': ''}), [])
    self.assertEqual(
        self.check({**full, 'libs/bus/zmq/a.cc': ''}),
        [('libs/bus/zmq', 1, 'this folder has 61 .h and .cc files')])


if __name__ == '__main__':
  xml_unittest.main()
