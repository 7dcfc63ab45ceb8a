"""Each mutant still applies to the code."""

import os
import shutil
import tempfile
import unittest

from tools import source_tree
from tools import xml_unittest
from tools.mutants import mutants


class MutantsTest(unittest.TestCase):

  def setUp(self):
    self.top = source_tree.root()

  def test_there_are_twenty(self):
    self.assertGreaterEqual(len(mutants.names(self.top)), 20)

  def test_each_applies_and_comes_out_again(self):
    for name in mutants.names(self.top):
      patch = mutants.patch_of(self.top, name)
      with self.subTest(name), tempfile.TemporaryDirectory() as folder:
        files = mutants.files_of(patch)
        self.assertTrue(files)
        for path in files:
          os.makedirs(os.path.dirname(os.path.join(folder, path)),
                      exist_ok=True)
          shutil.copy(os.path.join(self.top, path),
                      os.path.join(folder, path))
        self.assertEqual(mutants.apply(patch, folder), '')
        for path in files:
          self.assertNotEqual(self.read(folder, path),
                              self.read(self.top, path))
        self.assertEqual(
            mutants.apply(patch, folder, reverse=True), '')
        for path in files:
          self.assertEqual(self.read(folder, path), self.read(self.top, path))

  def test_each_says_what_is_wrong(self):
    for name in mutants.names(self.top):
      with open(mutants.patch_of(self.top, name), encoding='utf-8') as f:
        with self.subTest(name):
          self.assertGreater(len(f.read().split('\n--- ')[0].strip()), 40)

  def test_each_is_hunted_by_a_test_there_is(self):
    for name in mutants.names(self.top):
      hunter = mutants.hunter_of(mutants.patch_of(self.top, name))
      module, test = hunter.target[len('//'):].split(':')
      with self.subTest(name):
        self.assertTrue(hunter.cases)
        build = self.read(self.top, os.path.join(module, 'BUILD'))
        self.assertTrue(f'name = "{test}"' in build or
                        test == 'module_test' and 'weft_module_test(' in build)

  def script(self, text):
    handle, path = tempfile.mkstemp()
    os.close(handle)
    with open(path, 'w', encoding='utf-8') as file:
      file.write('#!/bin/sh\n' + text)
    os.chmod(path, 0o755)
    return path

  def test_a_test_that_does_not_run_finds_nothing(self):
    with self.assertRaises(RuntimeError):
      mutants.hunt(self.script('exit 1'), 'Case', 1)

  def test_what_is_found_has_a_place(self):
    test = self.script('echo "[ RUN      ] Case"; echo "seed 7" >&2; exit 1')
    self.assertEqual(mutants.hunt(test, 'Case', 1), (True, 'seed 7'))

  def test_seed_of_a_traced_failure_is_the_place(self):
    test = self.script('echo "[ RUN      ] Case"; echo "a.cc:1: seed 12"\n'
                       'echo "[  FAILED  ] Case"; exit 1')
    self.assertEqual(mutants.hunt(test, 'Case', 1), (True, 'seed 12'))

  def read(self, top, path):
    with open(os.path.join(top, path), encoding='utf-8') as file:
      return file.read()


if __name__ == '__main__':
  xml_unittest.main()
