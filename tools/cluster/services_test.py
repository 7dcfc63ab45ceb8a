"""Tests the search for services."""

import os
import tempfile
import unittest
import unittest.mock

from tools import xml_unittest
from tools.cluster import services

_JOBS = ['ps', 'worker']


class ServicesTest(unittest.TestCase):

  def setUp(self):
    super().setUp()
    self.top = self.enterContext(tempfile.TemporaryDirectory())

  def make(self, folder, *jobs):
    for job in jobs:
      path = os.path.join(self.top, folder, job, job)
      os.makedirs(os.path.dirname(path), exist_ok=True)
      with open(path, 'w', encoding='utf-8'):
        os.chmod(path, 0o755)
    return os.path.join(self.top, folder)

  def test_given_folder_is_used(self):
    folder = self.make('services', *_JOBS)
    self.assertEqual(services.in_folder(folder, _JOBS), {
        'ps': f'{folder}/ps/ps', 'worker': f'{folder}/worker/worker'})

  def test_folder_without_a_service_is_refused(self):
    folder = self.make('services', 'ps')
    with self.assertRaisesRegex(services.Missing, 'worker/worker'):
      services.in_folder(folder, _JOBS)

  def test_optimized_build_is_used(self):
    self.make('bazel-out/k8-fastbuild/bin/services', *_JOBS)
    folder = self.make('bazel-out/k8-opt/bin/services', *_JOBS)
    self.assertEqual(services.find(self.top, ['ps'], self.fail),
                     {'ps': f'{folder}/ps/ps'})

  def test_missing_services_are_built(self):
    tools = self.make('bin', 'bazel')
    with open(f'{tools}/bazel/bazel', 'w', encoding='utf-8') as bazel:
      bazel.write('#!/bin/sh\n[ $1 = info ] && echo built || '
                  'mkdir -p built/services && '
                  f'cp -r {self.make("as_built", *_JOBS)}/* built/services\n')
    said = []
    with unittest.mock.patch.dict(
        os.environ, HOME=self.top,
        PATH=f'{tools}/bazel:{os.environ["PATH"]}'):
      found = services.find(self.top, _JOBS, said.append)
    self.assertEqual(sorted(found), _JOBS)
    self.assertIn('//services/ps //services/worker', said[0])

  def test_without_bazel_the_remedy_is_named(self):
    with unittest.mock.patch.dict(os.environ, PATH=self.top):
      with self.assertRaisesRegex(services.Missing, 'tools/setup.sh'):
        services.find(self.top, _JOBS, lambda _: None)


if __name__ == '__main__':
  xml_unittest.main()
