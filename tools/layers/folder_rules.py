"""Checks that the folders inside each module include each other one way.

The tests of a module, and its folder `testing`, may include all of it.
"""

import collections
import os
import re

from tools import source_tree
from tools.layers.layer_table import Violation

_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')

# One include that makes a folder depend on another one.
_Edge = collections.namedtuple('_Edge', 'path line header')


def _is_product(path):
  return (source_tree.is_cpp(path) and not path.endswith('_test.cc') and
          '/testing/' not in path)


def _includes(top, path):
  """Yields (line number, header) of each include in quotes."""
  with open(os.path.join(top, path), encoding='utf-8') as file:
    for number, line in enumerate(file, 1):
      match = _INCLUDE.match(line)
      if match:
        yield number, match.group(1)


def _edges(table, top, paths):
  """Returns {folder: {folder it includes: first _Edge}} inside modules."""
  edges = collections.defaultdict(dict)
  for path in filter(_is_product, paths):
    module = table.module_of(path)
    folder = os.path.dirname(path)
    for number, header in _includes(top, path) if module else ():
      used = os.path.dirname(header)
      if used != folder and table.module_of(header) == module:
        edges[folder].setdefault(used, _Edge(path, number, header))
  return edges


def _path(edges, start, end, seen):
  """Returns the folders from `start` to `end` along `edges`; [] if none."""
  if start == end:
    return [start]
  seen.add(start)
  for used in sorted(edges.get(start, ())):
    rest = _path(edges, used, end, seen) if used not in seen else []
    if rest:
      return [start] + rest
  return []


def check(table, top, paths):
  """Yields one violation for each include that closes a cycle of folders."""
  edges = _edges(table, top, paths)
  for folder in sorted(edges):
    for used, edge in sorted(edges[folder].items()):
      back = _path(edges, used, folder, set())
      if back:
        yield Violation(
            edge.path, edge.line,
            f'the folders {" -> ".join([folder] + back)} include each other',
            f'move what is shared into a folder below both ({edge.header})')
