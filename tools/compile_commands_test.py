"""Tests the entries that compile_commands makes from compilations."""

import unittest

from tools import compile_commands
from tools import source_tree
from tools import xml_unittest


def _action(file, *flags):
  return {'arguments': ['gcc', *flags, '-c', file, '-o', 'out.o']}


class CompileCommandsTest(unittest.TestCase):

  def entries(self, *actions):
    return list(compile_commands.entries(actions, '/execution_root'))

  def test_a_file_is_named_where_people_edit_it(self):
    entry, = self.entries(_action('libs/a.cc', '-Ix'))
    path = source_tree.root() + '/libs/a.cc'
    self.assertEqual(entry, {
        'directory': '/execution_root', 'file': path,
        'arguments': ['gcc', '-Ix', '-c', path, '-o', 'out.o']})

  def test_flags_that_clang_rejects_are_dropped(self):
    entry, = self.entries(_action(
        'libs/a.cc', '-fno-canonical-system-headers', '-D__DATE__="redacted"'))
    self.assertEqual(entry['arguments'][1], '-c')

  def test_the_precompiled_header_is_dropped(self):
    entry, = self.entries(_action(
        'libs/a.cc', '-Werror=invalid-pch', '-include', 'bazel/x.h', '-DLAST'))
    self.assertEqual(entry['arguments'][1:3], ['-DLAST', '-c'])

  def test_only_own_sources_are_listed_once(self):
    found = self.entries(
        _action('external/x/a.cc'), _action('bazel-out/k8/bin/a.pb.cc'),
        _action('libs/a.cc', '-DFIRST'), _action('libs/a.cc', '-DSECOND'),
        {'arguments': ['ar', 'a.o']})
    self.assertEqual(len(found), 1)
    self.assertIn('-DFIRST', found[0]['arguments'])


if __name__ == '__main__':
  xml_unittest.main()
