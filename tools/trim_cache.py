#!/usr/bin/python3
"""Keeps Bazel's disk cache within bounds: what was not used longest goes.

usage: trim_cache.py [--gb=N] [--cache=FOLDER]

  --gb     the bound; $WEFT_CACHE_GB, or 10
  --cache  default: ~/.cache/weft-bazel, as in .bazelrc

The scripts that build run it afterwards. Nothing used within the last hour
goes, and a build at work takes what is missing for what was never there: it
makes it again.

Bazel 4.2 does not touch an entry that it finds in the cache. So the time of
last use is that of the last reading, or that of writing where nobody keeps the
other (noatime). Most file systems (relatime) note a reading only if it is the
first after a change of the file or of its times: so all times are set anew
here, to what they are, and tell until the next trim who was used since.
"""

import argparse
import collections
import os
import sys
import time

_IN_USE_S = 3600.0
# What is left, of the bound: so that not every build has to delete.
_LEFT = 0.9

Entry = collections.namedtuple('Entry', 'used size path')


def entries(folder):
  """Yields what the cache holds; what goes meanwhile is left out."""
  for where, _, names in os.walk(folder):
    for name in names:
      path = os.path.join(where, name)
      try:
        stat = os.lstat(path)
      except OSError:
        continue
      yield Entry(max(stat.st_atime, stat.st_mtime), stat.st_size, path)


def notice_next_use(found):
  """Has the system write down when each of `found` is read next."""
  for entry in found:
    try:
      stat = os.lstat(entry.path)
      if stat.st_atime_ns <= stat.st_ctime_ns:
        continue  # it was not read since
      os.utime(entry.path, ns=(stat.st_atime_ns, stat.st_mtime_ns),
               follow_symlinks=False)
    except OSError:
      continue  # gone, or not ours


def excess(found, bound, now):
  """The entries of `found` to delete, so that about 0.9 * bound bytes stay."""
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
  """Returns how many bytes it deleted."""
  deleted = 0
  found = list(entries(folder))
  for entry in excess(found, bound, now):
    try:
      os.unlink(entry.path)
    except OSError:
      continue  # another did, or it is not ours: the next time, then
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
        f'"{text}" is no number of gigabytes (--gb, $WEFT_CACHE_GB)')
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
    print(f'{folder}: deleted the {deleted / 1e9:.1f} GB that nobody used for '
          f'longest, to keep {options.gb:g} GB ($WEFT_CACHE_GB)')
  return 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
