"""Reads and writes the record of a commit: the cost of each of its actions.

A record is a table of tab-separated values with one line per action that ran
a process. Its columns are the fields of Action. The file is named after the
commit; it is compressed if it is long.
"""

import collections
import gzip
import os

_TEST = 'TestRunner'
_LONGEST_PLAIN = 200_000  # bytes

# script: quickstart or test; key: the primary output; digest: of the inputs.
Action = collections.namedtuple('Action',
                                'script mnemonic key seconds digest')


class BadRecord(Exception):
  """There is no record, or it cannot be read."""


def is_test(action):
  return action.mnemonic == _TEST


def join(script, timed_actions, digests):
  """Returns the actions of a script: times by the profile, digests by aquery.

  An action that aquery does not know gets the digest "?", which never matches.
  """
  for timed in timed_actions:
    known = digests.get(timed.key)
    mnemonic = _TEST if timed.is_test else known.mnemonic if known else '?'
    yield Action(script, mnemonic, timed.key, round(timed.seconds, 3),
                 known.digest if known else '?')


def _encode(actions):
  lines = ['\t'.join(Action._fields)]
  lines += ['\t'.join(map(str, action)) for action in sorted(actions)]
  return ('\n'.join(lines) + '\n').encode()


def _decode(text):
  for line in text.splitlines()[1:]:
    script, mnemonic, key, seconds, digest = line.split('\t')
    yield Action(script, mnemonic, key, float(seconds), digest)


def write(folder, commit, actions):
  """Writes the record of `commit`, replacing an older one; returns the path."""
  path, data = os.path.join(folder, f'{commit}.tsv'), _encode(actions)
  os.makedirs(folder, exist_ok=True)
  for old in (path, path + '.gz'):
    if os.path.exists(old):
      os.remove(old)
  if len(data) > _LONGEST_PLAIN:
    # No time stamp: equal records are equal files.
    path, data = path + '.gz', gzip.compress(data, mtime=0)
  with open(path, 'wb') as file:
    file.write(data)
  return path


def read(folder, commit):
  """Returns the actions that write() was given."""
  for ending, opener in (('.tsv', open), ('.tsv.gz', gzip.open)):
    path = os.path.join(folder, commit + ending)
    if os.path.exists(path):
      with opener(path, 'rt', encoding='utf-8') as file:
        return _parse(path, file.read())
  raise BadRecord(
      f'{folder}: no record of {commit}; on a checkout of that commit, '
      f'run: tools/measure_build --record {commit}')


def _parse(path, text):
  try:
    return list(_decode(text))
  except ValueError as error:
    raise BadRecord(f'{path}: not a record of actions ({error})') from error
