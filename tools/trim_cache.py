#!/usr/bin/python3
"""Limits Bazel's disk cache: deletes the least recently used entries.

usage: trim_cache.py [--gb=N] [--cache=FOLDER]

  --gb     the bound; $WEFT_CACHE_GB, or 10
  --cache  default: ~/.cache/weft-bazel, as in .bazelrc

The scripts that build run it afterwards. Entries that were used within the last
hour are kept. A running build treats a deleted entry as a cache miss and
creates it again.

Bazel 4.2 does not touch an entry that it finds in the cache. The time of last
use is therefore the access time, or the modification time if the file system
does not update access times (noatime). Most file systems (relatime) update the
access time only at the first read after a change of the file or of its times.
This script therefore sets all times to their present values, so that the next
read updates the access time.
"""

import argparse
import collections
import os
import sys
import time

_IN_USE_S = 3600.0
# The share of the bound that a trim leaves, so that not every build deletes.
_LEFT = 0.9

Entry = collections.namedtuple('Entry', 'used size path')


def entries(folder):
  """Yields the entries of the cache; skips files deleted meanwhile."""
  for where, _, names in os.walk(folder):
    for name in names:
      path = os.path.join(where, name)
      try:
        stat = os.lstat(path)
      except OSError:
        continue
      yield Entry(max(stat.st_atime, stat.st_mtime), stat.st_size, path)


def notice_next_use(found):
  """Makes the system record the next read of each of `found`."""
  for entry in found:
    try:
      stat = os.lstat(entry.path)
      if stat.st_atime_ns <= stat.st_ctime_ns:
        continue  # not read since the last trim
      os.utime(entry.path, ns=(stat.st_atime_ns, stat.st_mtime_ns),
               follow_symlinks=False)
    except OSError:
      continue  # deleted, or owned by another user


def excess(found, bound, now):
  """Returns the entries to delete, to keep about 0.9 * bound bytes."""
  size = sum(entry.size for entry in found)
  if size <= bound:
    return []
  gone = []
  for entry in sorted(found):
    if size <= bound * _LEFT or now - entry.used < _IN_USE_S:
      break
    gone.append(entry)
    size -= entry.size
  return gone


def trim(folder, bound, now):
  """Returns the number of deleted bytes."""
  deleted = 0
  found = list(entries(folder))
  for entry in excess(found, bound, now):
    try:
      os.unlink(entry.path)
    except OSError:
      continue  # deleted meanwhile, or owned by another user
    deleted += entry.size
  notice_next_use(found)
  return deleted


def _gigabytes(text):
  try:
    number = float(text)
  except ValueError:
    number = -1.0
  if not 0 <= number < float('inf'):
    raise argparse.ArgumentTypeError(
        f'"{text}" is not a number of gigabytes (--gb, $WEFT_CACHE_GB)')
  return number


def main(arguments):
  """Returns the exit code."""
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
  parser.add_argument('--gb', type=_gigabytes,
                      default=os.environ.get('WEFT_CACHE_GB') or '10')
  parser.add_argument('--cache', default='~/.cache/weft-bazel')
  options = parser.parse_args(arguments)
  folder = os.path.expanduser(options.cache)
  deleted = trim(folder, options.gb * 1e9, time.time())
  if deleted:
    print(f'{folder}: deleted {deleted / 1e9:.1f} GB, least recently used '
          f'first, to keep {options.gb:g} GB ($WEFT_CACHE_GB)')
  return 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
