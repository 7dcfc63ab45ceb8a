"""The rooms of the house and who may use whom, read from README.md's table.

A room includes only rooms of lower floors; rooms of one floor do not include
each other, nor does one wing include the other.
"""

import collections
import re

Room = collections.namedtuple('Room', 'name floor wing')
Violation = collections.namedtuple('Violation', 'path line what remedy')

_ROW = re.compile(r'^\|\s*(\d+)\s*\|\s*`([^`]+)`\s*\|\s*(\w*)\s*\|')
_WINGS = ('', 'runtime', 'client')


def describe(violation):
  """path:line: what; remedy"""
  return '%s:%d: %s; %s' % violation


class House:
  """All rooms."""

  def __init__(self, rooms):
    self.rooms = {room.name: room for room in rooms}

  def room_of(self, path):
    """The room that a file or package path lies in, or None."""
    parts = path.split('/')
    for length in (2, 1):
      room = self.rooms.get('/'.join(parts[:length]))
      if room:
        return room
    return None

  def refusal(self, user, used):
    """Why a file of room `user` may not use room `used`; '' if it may."""
    if user == used:
      return ''
    if user.wing and used.wing and user.wing != used.wing:
      return (f'{user.name} ({user.wing} wing) uses {used.name} '
              f'({used.wing} wing)')
    if user.floor == used.floor:
      return f'{user.name} uses {used.name} on its own floor {used.floor}'
    if user.floor < used.floor:
      return (f'{user.name} (floor {user.floor}) uses {used.name} '
              f'(floor {used.floor})')
    return ''


def read_house(readme):
  """Returns the House of the table in README.md's text."""
  rooms = []
  for line in readme.splitlines():
    row = _ROW.match(line)
    if row:
      floor, name, wing = row.groups()
      if wing not in _WINGS:
        raise ValueError(f'README.md: {name} lies in no wing "{wing}"')
      rooms.append(Room(name.strip('/'), int(floor), wing))
  if not rooms:
    raise ValueError('README.md holds no table of rooms')
  return House(rooms)
