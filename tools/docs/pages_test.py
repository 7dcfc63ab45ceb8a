"""Tests the check of pages with one error of each kind."""

import os
import tempfile
import unittest

from tools import source_tree
from tools import xml_unittest
from tools.docs import pages

_PAGE = 'docs/page.md'
_FILES = {
    'README.md': 'Read [the page](docs/page.md).\n',
    'libs/bus/BUILD': 'weft_library(name = "bus")\nweft_module_test()\n',
    'libs/bus/socket.cc': (
        'absl::Status Socket::Send(Frames frames) {\n'
        '  return Wire::Poll();  // Socket::Close(\n}\n\n'
        'std::vector<Frames>\nSocket::Inner::Read(int n) {}\n\n'
        'int Count(int first,\n          int second) {\n  return Zero();\n}\n'),
    'libs/bus/socket_test.cc': 'TEST_F(SocketTest,\n       Sends) {}\n',
    'libs/bus/socket.h': (
        'class Wire {\n public:\n  // Read(n) reads.\n  void Poll();\n};\n\n'
        'class Socket : public Wire,\n               Other {\n'
        '  struct Inner {\n    int Read(int n);\n  };\n  void Send();\n};\n\n'
        'int Count(int first, int second);\n'),
}


class PagesTest(unittest.TestCase):

  def check(self, text):
    """Returns the errors of a page with this text, as 'line: what'."""
    with tempfile.TemporaryDirectory() as top:
      for path, contents in {**_FILES, _PAGE: text}.items():
        full = os.path.join(top, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, 'w', encoding='utf-8') as file:
          file.write(contents)
      errors = pages.check(top)
    self.assertTrue(all(error.page == _PAGE for error in errors), errors)
    return [f'{error.line}: {error.what}' for error in errors]

  def check_table(self, column, *rows, after=''):
    """Returns the errors of a table of these (cell of the column, path)."""
    lines = [f'| hop | {column} | file |\n|---|---|---|\n']
    lines += [f'| it goes on | `{what}` | `{path}` |\n' for what, path in rows]
    return self.check(''.join(lines) + after)

  def test_existing_functions(self):
    self.assertEqual(
        self.check_table('function', ('Socket::Send', 'libs/bus/socket.cc'),
                         ('Socket::Inner::Read', 'libs/bus/socket.cc'),
                         ('Count', 'libs/bus/socket.cc'),
                         ('Socket::Send', 'libs/bus/socket.h'),
                         ('Socket::Inner::Read', 'libs/bus/socket.h'),
                         ('Wire::Poll', 'libs/bus/socket.h'),
                         ('Count', 'libs/bus/socket.h')), [])

  def test_a_missing_file(self):
    self.assertEqual(
        self.check_table('function', ('Socket::Send', 'libs/bus/socket.cc'),
                         ('Socket::Send', 'libs/bus/gone.cc')),
        ['4: there is no file libs/bus/gone.cc',
         '4: there is no libs/bus/gone.cc'])

  def test_missing_functions(self):
    for path, functions in {
        # A call, a name in a comment, another class's method, part of a name.
        'libs/bus/socket.cc': ('Wire::Poll', 'Socket::Close', 'Socket::Read',
                               'Inner::Re', 'Zero', 'Send'),
        'libs/bus/socket.h': ('Wire::Read', 'Wire::Send', 'Other::Send',
                              'Socket::Sen', 'Poll', 'Coun'),
    }.items():
      for function in functions:
        with self.subTest(function, path=path):
          self.assertEqual(self.check_table('function', (function, path)),
                           [f'3: {path} has no {function}'])

  def test_a_row_without_a_file(self):
    for row in ('`Send` | here', 'Send | `libs/bus/socket.cc`',
                '`Send` `Read` | `libs/bus/socket.cc`', '`Socket::Send`'):
      with self.subTest(row):
        self.assertIn('3: a row must name one `file`', self.check(
            f'| hop | function | file |\n|---|---|---|\n| on | {row} |\n')[0])

  def test_names_are_words_of_a_file(self):
    path = 'libs/bus/socket.cc'
    self.assertEqual(
        self.check_table('name', ('Wire::Poll', path), ('Frames', path)), [])
    for name in ('Frame', 'Close'):  # part of a name, a name in a comment
      self.assertEqual(self.check_table('name', (name, path)),
                       [f'3: {path} has no {name}'])

  def test_quoted_code(self):
    table = ('name', ('Count', 'libs/bus/socket.cc'))
    self.assertEqual(
        self.check_table(*table, after=(
            '\n    int Count(int first, int second) {\n    ...\n    }\n\n'
            'Run\n\n    bazel test //libs/bus:module_test\n')), [])
    self.assertEqual(
        self.check_table(*table, after='\n    int Count(int first) {\n'),
        ['5: no file of the table has these lines: int Count(int first) {'])

  def test_code_of_a_page_without_quotes(self):
    self.assertEqual(self.check('    anything[0](goes)\n'), [])

  def test_paths(self):
    self.assertEqual(
        self.check('`libs/bus`, `libs/bus/socket`, `libs/bus/socket.h`, '
                   '`tensorflow/core/ops`, `a/b`, `tcp://libs/gone`.\n'), [])
    self.assertEqual(self.check('All\nof `libs/gone`.\n'),
                     ['2: there is no libs/gone'])

  def test_tests(self):
    self.assertEqual(self.check('`SocketTest.Sends`, `SocketTest`.\n'), [])
    self.assertEqual(self.check('`SocketTest.Send`\n'),
                     ['1: there is no test SocketTest.Send'])

  def test_targets(self):
    self.assertEqual(
        self.check('`//libs/bus`, `//libs/bus:module_test`, `//libs/...`\n\n'
                   '    bazel test //libs/bus:bus\n'), [])
    for label in ('//libs/bus:gone', '//libs/gone', '//libs/gone:bus'):
      for line in (f'`{label}`', f'    bazel test {label}'):
        with self.subTest(line):
          self.assertEqual(self.check(line), [f'1: there is no target {label}'])

  def test_links(self):
    self.assertEqual(
        self.check('[a](../libs/bus/socket.h), [b](page.md), '
                   '[d](https://example.org/e)\n'), [])
    self.assertEqual(self.check('[a](libs/bus/socket.h)\n'),
                     ['1: the link libs/bus/socket.h does not resolve'])

  def test_anchors(self):
    self.assertEqual(
        self.check('# A page: its use\n\n[a](#a-page-its-use), '
                   '[b](page.md#a-page-its-use)\n'), [])
    for link in ('#gone', 'page.md#gone', '../README.md#gone'):
      with self.subTest(link):
        self.assertIn('has no heading #gone',
                      self.check(f'[a]({link})\n')[0])

  def test_links_of_other_markdown_files(self):
    with tempfile.TemporaryDirectory() as top:
      for path, contents in {**_FILES, _PAGE: '',
                             'libs/bus/README.md': '[a](gone.h)\n'}.items():
        full = os.path.join(top, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, 'w', encoding='utf-8') as file:
          file.write(contents)
      self.assertEqual(pages.check(top),
                       [pages.Error('libs/bus/README.md', 1,
                                    'the link gone.h does not resolve')])

  def test_code_of_an_announced_file(self):
    announcement = 'From `libs/bus/socket.cc`:\n\n'
    self.assertEqual(
        self.check(announcement + '    int Count(int first,\n    ...\n'
                   '    return Zero();\n'), [])
    self.assertEqual(
        self.check(announcement + '    return One();\n'),
        ['3: libs/bus/socket.cc does not have these lines: return One();'])

  def test_this_checkout(self):
    top = source_tree.root()
    self.assertIn('docs/design/life_of_a_step.md', pages.pages(top))
    self.assertEqual([], [f'{error.page}:{error.line}: {error.what}'
                          for error in pages.check(top)])

  def test_life_of_a_step_is_a_table_of_functions(self):
    path = 'docs/design/life_of_a_step.md'
    with open(os.path.join(source_tree.root(), path), encoding='utf-8') as page:
      self.assertIn(
          '\n| hop | function | file | thread |\n|---|---|---|---|\n| ',
          page.read())

  def test_the_guides_have_tables_of_names(self):
    for guide in ('an_op', 'an_rpc', 'a_file_system'):
      path = f'docs/design/adding_{guide}.md'
      with open(os.path.join(source_tree.root(), path),
                encoding='utf-8') as page:
        self.assertIn('\n| part | name | file |', page.read())


if __name__ == '__main__':
  xml_unittest.main()
