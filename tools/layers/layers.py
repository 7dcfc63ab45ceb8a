#!/usr/bin/python3
"""Checks the whole checkout against the rules of layers.

Prints each violation as `file:line: what; remedy`. Run it by hand as
`PYTHONPATH=. tools/layers/layers.py`; as a test it is //tools/layers:tree_test.
"""

import os
import sys

from tools import source_tree
from tools.layers import build_rules
from tools.layers import cpp_rules
from tools.layers import folder_rules
from tools.layers import layer_table
from tools.layers import op_name_rules

# Each folder in these is a module, as is every other folder at the top.
_GROUPS = ('libs', 'services')
_NOT_MODULES = ('bazel', 'docs', 'third_party')


def _check_modules(table, paths):
  """Yields folders that the table lacks, and rows without a folder."""
  folders = set()
  for path in paths:
    parts = path.split('/')
    depth = 2 if parts[0] in _GROUPS else 1
    if len(parts) > depth and parts[0] not in _NOT_MODULES:
      folders.add('/'.join(parts[:depth]))
  for name in sorted(folders - set(table.modules)):
    yield layer_table.Violation(
        name, 1, 'this module is not in the table of layers',
        f'give it a layer and a purpose in {layer_table.PATH}')
  for name in sorted(set(table.modules) - folders):
    yield layer_table.Violation(layer_table.PATH, 1,
                                f'there is no module {name}',
                                'delete its row from the table')


def check(top):
  """Returns all violations of the checkout at `top`."""
  with open(os.path.join(top, layer_table.PATH), encoding='utf-8') as page:
    table = layer_table.read_table(page.read())
  paths = list(source_tree.files(top))
  violations = list(_check_modules(table, paths))
  violations.extend(op_name_rules.check(top, paths))
  violations.extend(build_rules.check_folders(top, paths))
  violations.extend(folder_rules.check(table, top, paths))
  for path in paths:
    rules = (cpp_rules if source_tree.is_cpp(path) else
             build_rules if source_tree.is_build(path) else None)
    if rules and table.module_of(path):
      with open(os.path.join(top, path), encoding='utf-8') as file:
        violations.extend(rules.check(table, path, file.read()))
  return violations


def main():
  violations = check(source_tree.root())
  for violation in violations:
    print(layer_table.describe(violation))
  return 1 if violations else 0


if __name__ == '__main__':
  sys.exit(main())
