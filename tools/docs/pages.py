"""Checks that files, targets, tests and code that pages name exist.

Pages are README.md, CONTRIBUTING.md and docs. In a table with the columns
`file` and `function`, the file must define or declare the function; with
`file` and `name`, the file must contain the word. On a page with a table of
names, an indented block is quoted from the files of the table, unless it is a
command. On any page, a block after a line that ends with a colon and names one
source or BUILD file is quoted from that file. Line breaks of quotes do not
count; "..." stands for omitted lines.

Links are checked in all Markdown files of the checkout, with their anchors.
"""

import collections
import itertools
import os
import re

from tools import source_tree

Error = collections.namedtuple('Error', 'page line what')

_QUOTED = re.compile(r'`([^`]+)`')
_PATH = re.compile(r'[\w.-]+(?:/[\w.-]+)+/?')
_LABEL = re.compile(r'(?<![\w:/])//([\w/.-]*)(?::([\w.-]+))?')
_LINK = re.compile(r'\]\(([^)#\s]*)(?:#([^)\s]*))?\)')
_HEADING = re.compile(r'^#+ +(.*)$', re.MULTILINE)
_CODE_FILE = re.compile(r'`([\w./]+\.(?:cc|h)|\w[\w./]*/BUILD)`')
_FUNCTION = re.compile(r'(?:((?:\w+::)*\w+)::)?(\w+)')
_COMMENT = re.compile(r'//[^\n]*')
_TEST_CASE = re.compile(r'(\w+Test)\.(\w+)')
_TEST = re.compile(r'\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\)')
_COMMANDS = ('bazel ', 'git ', 'python3 ', 'tools/')
_INDENT = '    '
# It names paths and targets of an earlier commit.
_OLD_NAMES = 'docs/design/layout.md'


def pages(top):
  """Returns the paths of the pages."""
  docs = [os.path.join(folder, name)
          for folder, _, names in os.walk(os.path.join(top, 'docs'))
          for name in names if name.endswith('.md')]
  top_pages = [name for name in ('README.md', 'CONTRIBUTING.md')
               if os.path.isfile(os.path.join(top, name))]
  return top_pages + sorted(os.path.relpath(path, top) for path in docs)


def _read(top, path):
  with open(os.path.join(top, path), encoding='utf-8') as file:
    return file.read()


def _cells(line):
  return [cell.strip() for cell in line.strip().strip('|').split('|')]


def _tables(page):
  """Yields (line number, {column: cell}) of each row; missing cells are ''."""
  columns = None
  for number, line in enumerate(page.splitlines(), 1):
    if not line.startswith('|'):
      columns = None
    elif columns is None:
      columns = _cells(line)
    elif not set(line) <= set('|-: '):
      cells = _cells(line)
      yield number, dict(itertools.zip_longest(columns, cells[:len(columns)],
                                               fillvalue=''))


def _is_defined(owner, name, source):
  """Returns true if a .cc defines it: at the start of a line, unlike calls."""
  full = f'{owner}::{name}' if owner else name
  return re.search(rf'^(?:\S.*[ *&])?{full}\(', source, re.MULTILINE)


def _is_declared(owner, name, header):
  """Returns true if a .h declares it; a method in the body of its class."""
  if not owner:
    return re.search(rf'^(?:\S.*[ *&])?{name}\(', header, re.MULTILINE)
  last = owner.rpartition('::')[2]
  bodies = re.finditer(
      rf'^( *)(?:class|struct) (?:\w+::)*{last}\b[^;{{]*{{(.*?)^\1}};', header,
      re.MULTILINE | re.DOTALL)
  return any(re.search(rf'\b{name}\(', body.group(2)) for body in bodies)


def _has_function(name, path, text):
  function = _FUNCTION.fullmatch(name)
  is_there = _is_declared if path.endswith('.h') else _is_defined
  return function and is_there(*function.groups(), _COMMENT.sub('', text))


def _has_name(name, path, text):
  if source_tree.is_cpp(path):
    text = _COMMENT.sub('', text)
  return re.search(rf'(?<![\w.]){re.escape(name)}(?!\w)', text)


def _row_errors(top, row):
  """Yields the errors of a row that locates functions or names."""
  what = next((c for c in ('function', 'name') if c in row), None)
  if what is None or 'file' not in row:
    return
  file = _QUOTED.fullmatch(row['file'])
  names = _QUOTED.findall(row[what])
  if not file or (what == 'function' and len(names) != 1):
    yield f'a row must name one `file`, and names in it in backticks: {row}'
    return
  path = file.group(1)
  if not os.path.isfile(os.path.join(top, path)):
    yield f'there is no file {path}'
    return
  # Fuzz cases are binary files without names.
  text = _read(top, path) if names else ''
  has = _has_function if what == 'function' else _has_name
  for name in names:
    if not has(name, path, text):
      yield f'{path} has no {name}'


def _is_there(top, path):
  """Returns true if it exists, as a .cc too, or is not in this checkout."""
  first = path.split('/')[0]
  return (not os.path.isdir(os.path.join(top, first)) or
          os.path.exists(os.path.join(top, path)) or
          os.path.exists(os.path.join(top, path + '.cc')))


def _has_target(top, package, name):
  build = os.path.join(package, 'BUILD')
  if package.endswith('...'):
    return os.path.isdir(os.path.join(top, package[:-len('...')]))
  if not os.path.isfile(os.path.join(top, build)):
    return False
  if name and os.path.isfile(os.path.join(top, package, name)):
    return True
  name = name or os.path.basename(package)
  text = _read(top, build)
  if name == 'module_test' and 'weft_module_test(' in text:
    return True
  return name == 'all' or re.search(rf'name = "{re.escape(name)}"', text)


def _test_cases(top):
  """Returns the (suite, case) of each test of the checkout."""
  cases = set()
  for path in source_tree.files(top):
    if path.endswith(('_test.cc', '_conformance.h')):
      cases.update(_TEST.findall(_read(top, path)))
  return cases


def _line_errors(top, page, line, cases):
  """Yields an error for each name on a line that the checkout lacks."""
  is_code = line.startswith(_INDENT)
  for quoted in [line] if is_code else _QUOTED.findall(line):
    if not is_code and _PATH.fullmatch(quoted) and not _is_there(top, quoted):
      yield f'there is no {quoted}'
    case = _TEST_CASE.fullmatch(quoted)
    if case and case.groups() not in cases:
      yield f'there is no test {quoted}'
    for package, name in _LABEL.findall(quoted):
      if (package or name) and not _has_target(top, package, name):
        yield f'there is no target //{package}{name and ":" + name}'


def _anchors(text):
  """Returns the anchors that GitHub gives to the headings of a page."""
  return {re.sub(r'[^\w\- ]', '', heading.lower()).replace(' ', '-')
          for heading in _HEADING.findall(text)}


def _link_error(top, page, link, anchor):
  """Returns why a relative link of a page does not resolve, or ''."""
  target = page if not link else os.path.normpath(
      os.path.join(os.path.dirname(page), link))
  if not os.path.exists(os.path.join(top, target)):
    return f'the link {link} does not resolve'
  if anchor and anchor not in _anchors(_read(top, target)):
    return f'{target} has no heading #{anchor}'
  return ''


def _link_errors(top, page):
  """Yields an Error for each link of a Markdown file that does not resolve."""
  for number, line in enumerate(_read(top, page).splitlines(), 1):
    for link, anchor in [] if line.startswith(_INDENT) else _LINK.findall(line):
      error = '' if '://' in link else _link_error(top, page, link, anchor)
      if error:
        yield Error(page, number, error)


def _blocks(page):
  """Yields (line number, lines) of each indented block."""
  block = []
  for number, line in enumerate(page.splitlines() + [''], 1):
    if line.startswith(_INDENT):
      block.append(line)
    elif block:
      yield number - len(block), block
      block = []


def _quotes(block):
  """Returns the parts of a block between "..." lines, each as one line."""
  parts = [[]]
  for line in block:
    if line.strip() == '...':
      parts.append([])
    else:
      parts[-1].extend(line.split())
  return [' '.join(part) for part in parts]


def _file_before(lines, number):
  """Returns the file named on the line before block `number`, or None."""
  before = [line for line in lines[:number - 1] if line.strip()][-1:]
  files = _CODE_FILE.findall(before[0]) if before else []
  is_announced = len(files) == 1 and before[0].rstrip().endswith(':')
  return files[0] if is_announced else None


def _announced_quote_errors(top, page):
  """Yields (line number, what) of blocks that their named file lacks."""
  lines = page.splitlines()
  for number, block in _blocks(page):
    path = _file_before(lines, number)
    if not path or not os.path.isfile(os.path.join(top, path)):
      continue
    text = ' '.join(_read(top, path).split())
    for quote in _quotes(block):
      if quote not in text:
        yield number, f'{path} does not have these lines: {quote}'


def _quote_errors(top, page, rows):
  """Yields (line number, what) of each block that is in no file."""
  files = {_QUOTED.fullmatch(r['file']) for _, r in rows
           if 'name' in r and 'file' in r}
  paths = {file.group(1) for file in files - {None}}
  texts = [' '.join(_read(top, path).split()) for path in sorted(paths)
           if os.path.isfile(os.path.join(top, path)) and
           os.path.splitext(path)[1]]
  lines = page.splitlines()
  for number, block in _blocks(page) if paths else ():
    if block[0].strip().startswith(_COMMANDS):
      continue
    if _file_before(lines, number):
      continue
    for quote in _quotes(block):
      if not any(quote in text for text in texts):
        yield number, f'no file of the table has these lines: {quote}'


def check(top):
  """Returns an Error for each name or link that does not resolve."""
  errors = []
  cases = _test_cases(top)
  for path in pages(top):
    if path == _OLD_NAMES:
      continue
    page = _read(top, path)
    rows = list(_tables(page))
    found = [(n, what) for n, row in rows for what in _row_errors(top, row)]
    found += _quote_errors(top, page, rows)
    found += _announced_quote_errors(top, page)
    for number, line in enumerate(page.splitlines(), 1):
      found += [(number, what) for what in _line_errors(top, path, line, cases)]
    errors += [Error(path, *each) for each in sorted(set(found))]
  for path in source_tree.files(top):
    if path.endswith('.md'):
      errors.extend(_link_errors(top, path))
  return errors
