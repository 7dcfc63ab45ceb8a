#!/usr/bin/python3
"""Looks for what breaks the order of the house, in the whole checkout.

Prints each violation as `file:line: what; remedy`. Run it by hand as
`PYTHONPATH=. tools/layers/layers.py`; as a test it is //tools/layers:tree_test.
"""

import os
import sys

from tools import source_tree
from tools.layers import build_rules
from tools.layers import cpp_rules
from tools.layers import layer_table as house_lib
from tools.layers import op_name_rules

# Folders at the top that hold no room: their folders are rooms, or no code is.
_HALLS = ('libs', 'services')
_NOT_ROOMS = ('bazel', 'docs', 'third_party')


def _check_rooms(house, paths):
  """Each folder with files is in the table, and the table holds no other."""
  folders = set()
  for path in paths:
    parts = path.split('/')
    depth = 2 if parts[0] in _HALLS else 1
    if len(parts) > depth and parts[0] not in _NOT_ROOMS:
      folders.add('/'.join(parts[:depth]))
  for name in sorted(folders - set(house.rooms)):
    yield house_lib.Violation(name, 1, 'this room is not in the table of rooms',
                              'give it a floor and a caption in README.md')
  for name in sorted(set(house.rooms) - folders):
    yield house_lib.Violation('README.md', 1, f'there is no room {name}',
                              'take its row out of the table')


def check(top):
  """Returns all violations of the checkout at `top`."""
  with open(os.path.join(top, 'README.md'), encoding='utf-8') as readme:
    house = house_lib.read_house(readme.read())
  paths = list(source_tree.files(top))
  violations = list(_check_rooms(house, paths))
  violations.extend(op_name_rules.check(top, paths))
  violations.extend(build_rules.check_folders(top, paths))
  for path in paths:
    rules = (cpp_rules if source_tree.is_cpp(path) else
             build_rules if source_tree.is_build(path) else None)
    if rules and house.room_of(path):
      with open(os.path.join(top, path), encoding='utf-8') as file:
        violations.extend(rules.check(house, path, file.read()))
  return violations


def main():
  violations = check(source_tree.root())
  for violation in violations:
    print(house_lib.describe(violation))
  return 1 if violations else 0


if __name__ == '__main__':
  sys.exit(main())
