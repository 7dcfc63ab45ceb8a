"""Checks the test names and the type comments of a C++ file."""

import re

from tools.source_tree import Violation

MAX_TEST_NAME = 45
_TEST = re.compile(r'\b(?:TYPED_)?TEST(?:_F|_P)?\(\s*\w+,\s*(\w+)\s*\)')
_WORD = re.compile(r'[A-Z][a-z]*')
# Pronouns and adverbs that hide the subject of a statement.
_VAGUE = frozenset((
    'Nobody', 'Nothing', 'Somebody', 'Anybody', 'Everybody', 'However', 'Who',
    'Whom', 'Whose', 'Whoever', 'What', 'Whatever'))
_VAGUE_PAIRS = (('No', 'One'), ('Of', 'Which'), ('Which', 'Is'))

_TYPE = re.compile(r'\s*(?:template\s*<.*>\s*)?(?:class|struct)\s+'
                   r'(?:\[\[[^\]]*\]\]\s*)*\w')
_TEMPLATE = re.compile(r'\s*template\b')
_MAX_TEMPLATE_LINES = 3
_SLASHES = re.compile(r'\s*//+ ?')
# First words of clauses and phrases without a subject.
_HEADLESS = re.compile(
    r'(?:What|Who|Whom|Whose|Whoever|Which|Where|When|Why|How|That|Those|Of|By'
    r'|To|One (?:that|who))\b')


def _vague_word(name):
  """A vague word or pair of words in a test name, or ''."""
  words = _WORD.findall(name)
  found = [word for word in words if word in _VAGUE]
  found += [''.join(pair) for pair in zip(words, words[1:])
            if pair in _VAGUE_PAIRS]
  return found[0] if found else ''


def _check_test_names(path, text):
  for match in _TEST.finditer(text):
    name = match.group(1)
    number = text.count('\n', 0, match.start(1)) + 1
    if len(name) > MAX_TEST_NAME:
      yield Violation(
          path, number, f'the test name {name} has {len(name)} characters',
          f'shorten it to at most {MAX_TEST_NAME}')
    vague = _vague_word(name)
    if vague:
      yield Violation(path, number,
                      f'the test name {name} contains "{vague}"',
                      'name the subject and the result')


def _comment_before(lines, index):
  """The index of the first line of the comment before a type, or None."""
  end = index
  for above in range(index - 1, max(index - 1 - _MAX_TEMPLATE_LINES, -1), -1):
    if _SLASHES.match(lines[above]):
      break
    if _TEMPLATE.match(lines[above]):
      end = above
      break
  start = end
  while start > 0 and _SLASHES.match(lines[start - 1]):
    start -= 1
  return start if start < end else None


def _defines_type(line):
  """Returns true unless the line is a forward declaration."""
  return _TYPE.match(line) and ('{' in line or not line.endswith(';'))


def _check_type_comments(path, text):
  lines = text.split('\n')
  for index, line in enumerate(lines):
    start = _comment_before(lines, index) if _defines_type(line) else None
    if start is None:
      continue
    headless = _HEADLESS.match(_SLASHES.sub('', lines[start], count=1))
    if headless:
      yield Violation(
          path, start + 1,
          f'this comment of a type starts with "{headless.group()}"',
          'start with a sentence that says what the type is')


def check(path, text):
  """Yields the violations of one C++ file."""
  if 'TEST' in text:
    yield from _check_test_names(path, text)
  if path.endswith('.h'):
    yield from _check_type_comments(path, text)
