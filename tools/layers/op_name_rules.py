"""Checks that the whole name of each op appears in its sources.

A text search does not find a name that is composed of parts ("Apply" + rule).
The list of ops is a file that a test compares with the registry.
"""

import os
import re

from tools.layers import layer_table

_OPS = 'integration_tests/testdata/tensorflow_signatures.txt'
_OP = re.compile(r'^op (\w+)$')
_LITERAL = re.compile(r'"(\w+)"')
# The parts of an op, and the folders where its name appears.
_PLACES = (('definition', 'libs/ops/'), ('kernel', 'libs/kernels/'),
           ('gradient', 'libs/gradients/'))
# Files that use ops of other files.
_USERS = ('_test.cc', '_builders.cc')


def _literals(top, paths, folder):
  found = set()
  for path in paths:
    if (path.startswith(folder) and path.endswith(('.cc', '.h')) and
        not path.endswith(_USERS)):
      with open(os.path.join(top, path), encoding='utf-8') as file:
        found.update(_LITERAL.findall(file.read()))
  return found


def check(top, paths):
  """Yields a violation for each op name that does not appear in its folders."""
  if _OPS not in paths:
    return
  places = [(what, folder, _literals(top, paths, folder))
            for what, folder in _PLACES]
  with open(os.path.join(top, _OPS), encoding='utf-8') as ops:
    for number, line in enumerate(ops, 1):
      op = _OP.match(line)
      for what, folder, literals in places if op else ():
        if op.group(1) not in literals:
          yield layer_table.Violation(
              _OPS, number, f'"{op.group(1)}" does not appear in {folder}',
              f'write the whole name of the op at its {what}')
