"""Tests which entries of a cache are kept and which are deleted."""

import contextlib
import io
import os
import tempfile
import time
import unittest
import unittest.mock

from tools import trim_cache
from tools import xml_unittest

_DAY = 24 * 3600.0
_NOW = 1e9


class TrimCacheTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = folder.name

  def add(self, name, size, read, written=0.0):
    """`read`, `written`: seconds before _NOW."""
    path = os.path.join(self.folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as file:
      file.write(b'x' * size)
    os.utime(path, (_NOW - read, _NOW - (written or read)))

  def left(self):
    return sorted(os.path.relpath(entry.path, self.folder)
                  for entry in trim_cache.entries(self.folder))

  def test_cache_within_the_bound_is_kept(self):
    self.add('cas/aa/1', 60, 9 * _DAY)
    self.add('ac/aa/2', 40, 9 * _DAY)
    self.assertEqual(trim_cache.trim(self.folder, 100, _NOW), 0)
    self.assertEqual(self.left(), ['ac/aa/2', 'cas/aa/1'])

  def test_least_recently_used_entries_are_deleted(self):
    for day in range(1, 12):
      self.add(f'cas/{day:02}', 10, day * _DAY)
    self.assertEqual(trim_cache.trim(self.folder, 100, _NOW), 20)
    self.assertEqual(self.left(), [f'cas/{day:02}' for day in range(1, 10)])

  def test_reading_counts_as_use(self):
    self.add('cas/read', 60, read=2 * _DAY, written=9 * _DAY)
    self.add('cas/only_written', 60, read=8 * _DAY, written=5 * _DAY)
    trim_cache.trim(self.folder, 100, _NOW)
    self.assertEqual(self.left(), ['cas/read'])

  def test_trim_keeps_times_and_detects_the_next_use(self):
    # The read time is after the last change of the times, which is now.
    self.add('cas/a', 60, read=-_NOW, written=9 * _DAY)
    path = os.path.join(self.folder, 'cas/a')
    before = os.stat(path)
    time_of_change = before.st_ctime_ns
    while time_of_change == before.st_ctime_ns:  # the clock is coarse
      trim_cache.trim(self.folder, 100, _NOW)
      time_of_change = os.stat(path).st_ctime_ns
    after = os.stat(path)
    self.assertEqual((after.st_atime_ns, after.st_mtime_ns),
                     (before.st_atime_ns, before.st_mtime_ns))

  def test_entries_of_a_running_build_are_kept(self):
    self.add('cas/new', 60, 60.0)
    self.add('cas/newer', 60, 30.0)
    self.assertEqual(trim_cache.trim(self.folder, 10, _NOW), 0)

  def test_entry_deleted_meanwhile_is_not_an_error(self):
    self.add('cas/a', 60, 2 * _DAY)
    self.add('cas/b', 60, _DAY)
    unlink = os.unlink

    def gone_first(path):
      unlink(path)
      unlink(path)

    with unittest.mock.patch('os.unlink', gone_first):
      self.assertEqual(trim_cache.trim(self.folder, 100, _NOW), 0)

  def test_missing_cache_is_not_an_error(self):
    self.assertEqual(
        trim_cache.trim(os.path.join(self.folder, 'none'), 0, _NOW), 0)


class MainTest(unittest.TestCase):

  def test_option_overrides_the_environment(self):
    with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(
        os.environ, {'WEFT_CACHE_GB': '1'}):
      path = os.path.join(folder, 'old')
      with open(path, 'wb') as file:
        file.write(b'x' * 1000)
      old = time.time() - _DAY
      os.utime(path, (old, old))
      with contextlib.redirect_stdout(io.StringIO()) as said:
        trim_cache.main(['--cache=' + folder])
        self.assertTrue(os.path.exists(path))
        trim_cache.main(['--cache=' + folder, '--gb=0'])
      self.assertFalse(os.path.exists(path))
      self.assertIn('to keep 0 GB', said.getvalue())

  def test_invalid_size_is_refused(self):
    for text in ('ten', '-1', 'nan', 'inf'):
      with self.assertRaises(SystemExit), contextlib.redirect_stderr(
          io.StringIO()) as said:
        trim_cache.main(['--gb=' + text])
      self.assertIn('not a number of gigabytes', said.getvalue())


if __name__ == '__main__':
  xml_unittest.main()
