"""Reads the table of layers in docs/architecture.md.

A module includes only modules of lower layers. Modules of one layer do not
include each other, nor does the runtime side include the client side.
"""

import collections
import re

# The rules of layers take these from here.
from tools.source_tree import describe
from tools.source_tree import Violation

PATH = 'docs/architecture.md'

Module = collections.namedtuple('Module', 'name layer side')

_ROW = re.compile(r'^\|\s*(\d+)\s*\|\s*`([^`]+)`\s*\|\s*(\w*)\s*\|')
_SIDES = ('', 'runtime', 'client')


class LayerTable:
  """The modules and their layers."""

  def __init__(self, modules):
    self.modules = {module.name: module for module in modules}

  def module_of(self, path):
    """Returns the module that contains a file or package, or None."""
    parts = path.split('/')
    for length in (2, 1):
      module = self.modules.get('/'.join(parts[:length]))
      if module:
        return module
    return None

  def refusal(self, user, used):
    """Returns why module `user` may not use module `used`; '' if it may."""
    if user == used:
      return ''
    if user.side and used.side and user.side != used.side:
      return (f'{user.name} ({user.side} side) uses {used.name} '
              f'({used.side} side)')
    if user.layer == used.layer:
      return f'{user.name} uses {used.name} of the same layer {user.layer}'
    if user.layer < used.layer:
      return (f'{user.name} (layer {user.layer}) uses {used.name} '
              f'(layer {used.layer})')
    return ''


def read_table(page):
  """Returns the LayerTable in the text of docs/architecture.md."""
  modules = []
  for line in page.splitlines():
    row = _ROW.match(line)
    if row:
      layer, name, side = row.groups()
      if side not in _SIDES:
        raise ValueError(f'{PATH}: {name} has the unknown side "{side}"')
      modules.append(Module(name.strip('/'), int(layer), side))
  if not modules:
    raise ValueError(f'{PATH} has no table of modules')
  return LayerTable(modules)
