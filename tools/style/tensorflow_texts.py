"""Checks that the texts of TensorFlow that Weft repeats keep their wording.

Programs written for TensorFlow compare some texts of errors and logs, and
their users know many more. tensorflow_texts.txt lists them: each must occur
inside a string literal of a product source. All other texts are Weft's own and
may be reworded.
"""

import collections
import fnmatch
import os
import re

from tools import source_tree

LIST = 'tools/style/tensorflow_texts.txt'
# A shorter text is found by chance.
MIN_CHARACTERS = 12

# A text of `origin`, which a file that matches `pattern` must have; `line` is
# its line in the list.
Text = collections.namedtuple('Text', 'line pattern origin text')

_TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)'
    r'|R"(?P<mark>[^()\\\s]*)\((?P<raw>.*?)\)(?P=mark)"'
    r'|"(?P<string>(?:\\.|[^"\\\n])*)"'
    # A quote behind a digit separates thousands.
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'", re.DOTALL)
_ESCAPE = re.compile(r'\\(.)', re.DOTALL)
_HEADER = re.compile(r'(?P<pattern>\S+): (?P<origin>\S.*)')


def _unescape(literal):
  """Returns the characters of a literal; white space escapes become spaces."""
  return _ESCAPE.sub(lambda m: ' ' if m[1] in 'nt\n' else m[1], literal)


def _plain(text):
  """Returns the text with one space between words."""
  return ' '.join(text.split())


def literals(source):
  """Yields the string literals of C++ code, adjacent ones joined."""
  joined, end = None, 0
  for token in _TOKEN.finditer(source):
    if joined is not None and source[end:token.start()].strip():
      yield _plain(joined)
      joined = None
    end = token.end()
    raw, string = token['raw'], token['string']
    if raw is not None or string is not None:
      text = _unescape(string) if raw is None else raw
      joined = text if joined is None else joined + text
    elif token['comment'] is None and joined is not None:
      yield _plain(joined)
      joined = None
  if joined is not None:
    yield _plain(joined)


def parse(listing):
  """Returns the texts and the violations of the list's format."""
  texts, violations = [], []
  header = None
  for line, content in enumerate(listing.splitlines(), 1):
    if not content.strip() or content.startswith('#'):
      continue
    if not content.startswith(' '):
      header = _HEADER.fullmatch(content)
    elif header and len(_plain(content)) >= MIN_CHARACTERS:
      texts.append(Text(line, *header.groups(), _plain(content)))
      continue
    if not header or content.startswith(' '):
      violations.append(_malformed(line, content))
  return texts, violations + _repeated(texts)


def _malformed(line, content):
  return source_tree.Violation(
      LIST, line, f'cannot read "{content.strip()}"',
      'write "FILE PATTERN: ORIGIN", and below it texts of at least '
      f'{MIN_CHARACTERS} characters, indented by two spaces')


def _repeated(texts):
  """Returns a violation for each text that is listed twice."""
  seen, violations = {}, []
  for text in texts:
    first = seen.setdefault((text.pattern, text.text), text.line)
    if first != text.line:
      violations.append(
          source_tree.Violation(LIST, text.line,
                                f'"{text.text}" is listed in line {first} too',
                                'delete one of the two'))
  return violations


def _is_product(path):
  """Returns true for C++ sources that are not only for tests."""
  return (path.startswith(('libs/', 'services/')) and
          source_tree.is_cpp(path) and '/testing/' not in path and
          not path.endswith(('_test.cc', '_benchmark.cc')))


def _product_texts(top):
  """Returns the literals of each product source, a line each."""
  texts = {}
  for path in filter(_is_product, source_tree.files(top)):
    with open(os.path.join(top, path), encoding='utf-8') as file:
      texts[path] = '\n'.join(literals(file.read()))
  return texts


def _missing(text, sources):
  """Returns the violation of a text that its files lack."""
  elsewhere = sorted(path for path in sources if text.text in sources[path])
  if elsewhere:
    remedy = f'it is in {elsewhere[0]}: move it to a pattern for that file'
  else:
    remedy = ('restore the wording of TensorFlow, or delete the line if Weft '
              'no longer reports this')
  return source_tree.Violation(
      LIST, text.line,
      f'no string in {text.pattern} has "{text.text}" of {text.origin}', remedy)


def check(top):
  """Returns all violations of the checkout at `top`."""
  with open(os.path.join(top, LIST), encoding='utf-8') as file:
    texts, violations = parse(file.read())
  sources = _product_texts(top)
  files = {
      pattern: fnmatch.filter(sources, pattern)
      for pattern in {text.pattern for text in texts}
  }
  for text in texts:
    if not any(text.text in sources[path] for path in files[text.pattern]):
      violations.append(_missing(text, sources))
  return violations
