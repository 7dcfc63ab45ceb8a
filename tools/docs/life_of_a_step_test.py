"""Each function that docs/life_of_a_step.md names lies where the page says."""

import os
import re
import tempfile
import unittest

from tools import source_tree
from tools import xml_unittest

_PAGE = 'docs/life_of_a_step.md'
_HEADER = ['hop', 'function', 'file', 'thread']
_FUNCTION = re.compile(r'`((?:\w+::)*\w+)::(\w+)`')
_FILE = re.compile(r'`([\w/]+\.(?:h|cc))`')
_COMMENT = re.compile(r'//[^\n]*')


def _cells(line):
  return [cell.strip() for cell in line.strip().strip('|').split('|')]


def _rows(page):
  """Yields (line number, cells) of each row of the table of hops."""
  in_table = False
  for number, line in enumerate(page.splitlines(), 1):
    if not line.startswith('|'):
      in_table = False
    elif _cells(line) == _HEADER:
      in_table = True
    elif in_table and not set(line) <= set('|-: '):
      yield number, _cells(line)


def _is_defined(owner, method, source):
  """Whether a .cc defines it outside of its class, which calls never look like.

  A definition begins at the margin.
  """
  return re.search(rf'^(?:\S.*[ *&])?{owner}::{method}\(', source, re.MULTILINE)


def _is_declared(owner, method, header):
  """Whether a .h declares it in the body of its class."""
  name = owner.rpartition('::')[2]
  bodies = re.finditer(
      rf'^( *)(?:class|struct) (?:\w+::)*{name}\b[^;{{]*{{(.*?)^\1}};', header,
      re.MULTILINE | re.DOTALL)
  return any(re.search(rf'\b{method}\(', body.group(2)) for body in bodies)


def _error(top, cells):
  """What is wrong with a row; '' if nothing is."""
  if len(cells) != len(_HEADER) or not all(cells):
    return f'a row has {len(_HEADER)} cells, none of them empty'
  function = _FUNCTION.fullmatch(cells[1])
  file = _FILE.fullmatch(cells[2])
  if not function or not file:
    return (f'{cells[1]} in {cells[2]} is no `Class::Method` in a '
            '`path/from/the/top.h` or .cc')
  path = file.group(1)
  if not os.path.isfile(os.path.join(top, path)):
    return f'there is no file {path}'
  with open(os.path.join(top, path), encoding='utf-8') as source:
    text = _COMMENT.sub('', source.read())
  is_there = _is_declared if path.endswith('.h') else _is_defined
  if not is_there(*function.groups(), text):
    return f'{path} has no {cells[1].strip("`")}'
  return ''


def check(top):
  """Returns 'path:line: what' of each row that is not true any more."""
  with open(os.path.join(top, _PAGE), encoding='utf-8') as page:
    rows = list(_rows(page.read()))
  if not rows:
    return [f'{_PAGE}:1: there is no row below | {" | ".join(_HEADER)} |']
  errors = [(number, _error(top, cells)) for number, cells in rows]
  return [f'{_PAGE}:{number}: {what}' for number, what in errors if what]


_TABLE = '# Steps\n\n| hop | function | file | thread |\n|---|---|---|---|\n'
_FILES = {
    'libs/bus/socket.cc': (
        'absl::Status Socket::Send(Frames frames) {\n'
        '  return Wire::Poll();  // Socket::Close(\n}\n\n'
        'std::vector<Frames>\nSocket::Inner::Read(int n) {}\n'),
    'libs/bus/socket.h': (
        'class Wire {\n public:\n  // Read(n) reads.\n  void Poll();\n};\n\n'
        'class Socket : public Wire,\n               Other {\n'
        '  struct Inner {\n    int Read(int n);\n  };\n  void Send();\n};\n'),
}


class LifeOfAStepTest(unittest.TestCase):

  def check(self, *rows):
    """What is wrong with a page of these (function, path)."""
    with tempfile.TemporaryDirectory() as top:
      page = _TABLE + ''.join(
          f'| it goes on | `{function}` | `{path}` | reading |\n'
          for function, path in rows) + '\nThe end.\n'
      for path, text in {**_FILES, _PAGE: page}.items():
        full = os.path.join(top, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, 'w', encoding='utf-8') as file:
          file.write(text)
      return check(top)

  def test_a_true_page(self):
    self.assertEqual(
        self.check(('Socket::Send', 'libs/bus/socket.cc'),
                   ('Socket::Inner::Read', 'libs/bus/socket.cc'),
                   ('Socket::Send', 'libs/bus/socket.h'),
                   ('Socket::Inner::Read', 'libs/bus/socket.h'),
                   ('Wire::Poll', 'libs/bus/socket.h')), [])

  def test_a_file_that_is_not_there(self):
    self.assertEqual(
        self.check(('Socket::Send', 'libs/bus/socket.cc'),
                   ('Socket::Send', 'libs/bus/gone.cc')),
        [f'{_PAGE}:6: there is no file libs/bus/gone.cc'])

  def test_a_function_that_is_not_there(self):
    for path, functions in {
        # Called there, said in a comment, another one's, a part of the name.
        'libs/bus/socket.cc': ('Wire::Poll', 'Socket::Close', 'Socket::Read',
                               'Inner::Re'),
        'libs/bus/socket.h': ('Wire::Read', 'Wire::Send', 'Other::Send',
                              'Socket::Sen'),
    }.items():
      for function in functions:
        with self.subTest(function, path=path):
          self.assertEqual(self.check((function, path)),
                           [f'{_PAGE}:5: {path} has no {function}'])

  def test_a_row_that_names_no_function(self):
    self.assertIn('is no `Class::Method`',
                  self.check(('Send', 'libs/bus/socket.cc'))[0])
    self.assertIn('is no `Class::Method`',
                  self.check(('Socket::Send', 'libs/bus'))[0])

  def test_a_table_without_rows(self):
    self.assertEqual(
        self.check(),
        [f'{_PAGE}:1: there is no row below | hop | function | file | thread |'])

  def test_this_page(self):
    errors = check(source_tree.root())
    if errors:
      self.fail('\n' + '\n'.join(errors))


if __name__ == '__main__':
  xml_unittest.main()
