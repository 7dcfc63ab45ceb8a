"""What a BUILD file may depend on, by the room that it lies in."""

import ast
import os

from tools.floors.house import Violation

_ATTRIBUTES = ('deps', 'implementation_deps', 'srcs', 'hdrs')
# The top package only gives libs/api's targets short names.
_TOP = 'libs/api'


def _labels(text):
  """Yields (line number, label) of what the rules depend on.

  A BUILD file is Starlark, whose expressions are Python's.
  """
  for node in ast.walk(ast.parse(text)):
    if isinstance(node, ast.keyword) and node.arg in _ATTRIBUTES:
      for value in ast.walk(node.value):
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
          if value.value.startswith('//'):
            yield value.lineno, value.value


def check(house, path, text):
  """Yields the violations of one BUILD file."""
  user = house.room_of(os.path.dirname(path))
  if not user:
    return
  try:
    labels = list(_labels(text))
  except SyntaxError as error:
    yield Violation(path, error.lineno or 1, f'cannot be read: {error.msg}',
                    'write plain rules; put logic into bazel/*.bzl')
    return
  for number, label in labels:
    package = label[len('//'):].split(':')[0] or _TOP
    used = house.room_of(package)
    refusal = house.refusal(user, used) if used else ''
    if refusal:
      yield Violation(path, number, f'{refusal} ({label})',
                      'depend only on rooms of lower floors')
