"""Checks the dependencies of a BUILD file, and that its tests run."""

import ast
import os

from tools import source_tree
from tools.layers.layer_table import Violation

_ATTRIBUTES = ('deps', 'implementation_deps', 'srcs', 'hdrs')
# The top package contains only short names for targets of libs/api.
_TOP = 'libs/api'
_LINK_CASES = ('weft_module_test', 'weft_module_cases')


def _read(top, path):
  with open(os.path.join(top, path), encoding='utf-8') as file:
    return file.read()


def _labels(text):
  """Yields (line number, label) of each dependency.

  A BUILD file is Starlark, whose expressions are valid Python.
  """
  for node in ast.walk(ast.parse(text)):
    if isinstance(node, ast.keyword) and node.arg in _ATTRIBUTES:
      for value in ast.walk(node.value):
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
          if value.value.startswith('//'):
            yield value.lineno, value.value


def _cases_that_never_run(path, text):
  """Yields each weft_test that no rule below links into a module's test."""
  calls = [(node.lineno, node.func.id) for node in ast.walk(ast.parse(text))
           if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
  last = max((n for n, rule in calls if rule in _LINK_CASES), default=0)
  for number, rule in calls:
    if rule == 'weft_test' and number > last:
      yield Violation(path, number, 'no weft_module_test below runs these cases',
                      'end the file with weft_module_test()')


def _cases_in_no_build_file(top, paths):
  """Yields each file of cases that no BUILD file lists, so it never runs."""
  for path in paths:
    if not path.endswith('_test.cc'):
      continue
    folder = os.path.dirname(path)
    while folder and f'{folder}/BUILD' not in paths:
      folder = os.path.dirname(folder)
    build = os.path.join(folder, 'BUILD')
    listed = f'"{os.path.relpath(path, folder or ".")}"'
    if build not in paths or listed not in _read(top, build):
      yield Violation(path, 1, 'no BUILD file lists these cases',
                      f'give them a weft_test in {build}')


def check_folders(top, paths):
  """Yields cases that no BUILD file lists, or no module's test links."""
  yield from _cases_in_no_build_file(top, paths)
  for path in filter(source_tree.is_build, paths):
    folder = os.path.dirname(path)
    if 'weft_module_cases()' not in _read(top, path):
      continue
    module = os.path.join(os.path.dirname(folder), 'BUILD')
    cases = f'"//{folder}:module_cases"'
    if module not in paths or cases not in _read(top, module):
      yield Violation(path, 1, f'{module} does not link these cases',
                      f'give its weft_module_test "//{folder}:module_cases"')


def check(table, path, text):
  """Yields the violations of one BUILD file."""
  user = table.module_of(os.path.dirname(path))
  if not user:
    return
  try:
    labels = list(_labels(text))
  except SyntaxError as error:
    yield Violation(path, error.lineno or 1, f'cannot be read: {error.msg}',
                    'write plain rules; put logic into bazel/*.bzl')
    return
  yield from _cases_that_never_run(path, text)
  for number, label in labels:
    package = label[len('//'):].split(':')[0] or _TOP
    used = table.module_of(package)
    refusal = table.refusal(user, used) if used else ''
    if refusal:
      yield Violation(path, number, f'{refusal} ({label})',
                      'depend only on modules of lower layers')
