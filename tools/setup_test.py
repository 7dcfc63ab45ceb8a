"""Tests what tools/setup.sh installs and prints, with fake apt programs."""

import os
import subprocess
import tempfile
import unittest

from tools import xml_unittest

_SETUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'setup.sh')
_BUILT_FROM = {'bazel-bootstrap', 'libabsl-dev', 'dataset-fashion-mnist'}
_TEST_ONLY = {'libgtest-dev', 'libgmock-dev', 'libbenchmark-dev',
              'clang-format-14', 'clang-14', 'lld-14', 'python3-venv'}
_SIZES = '''Need to get 1,234 MB/1,300 MB of archives.
After this operation, 2.5 GB of additional disk space will be used.'''

_FAKES = {
    'dpkg-query': '''
for last; do :; done
grep -qsx "$last" "$STATE/installed" && printf installed''',
    'apt-cache': 'echo "Package: $2"',
    'apt-get': '''
case "$*" in
  *--print-uris*) cat "$STATE/sizes"; exit ;;
  update) exit ;;
esac
echo "$*" >> "$STATE/calls"
echo "noise of apt"
[ -e "$STATE/broken" ] && exit 100
for package; do echo "$package" >> "$STATE/installed"; done''',
    'sudo': '"$@"',
}


class SetupTest(unittest.TestCase):

  def setUp(self):
    super().setUp()
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.state = folder.name
    self.log = os.path.join(folder.name, 'log')
    self.write('sizes', _SIZES)
    os.mkdir(os.path.join(self.state, 'bin'))
    for name, script in _FAKES.items():
      path = self.write(f'bin/{name}', f'#!/bin/sh\n{script}\n')
      os.chmod(path, 0o755)

  def write(self, name, text=''):
    path = os.path.join(self.state, name)
    with open(path, 'w', encoding='utf-8') as file:
      file.write(text)
    return path

  def read(self, name):
    with open(os.path.join(self.state, name), encoding='utf-8') as file:
      return file.read()

  def setup_sh(self, *arguments):
    return subprocess.run(
        ['bash', _SETUP, *arguments], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, check=False, timeout=60,
        env={'PATH': f'{self.state}/bin:/usr/bin:/bin', 'STATE': self.state,
             'HOME': self.state})

  def installed(self):
    return set(self.read('installed').split())

  def test_quickstart_omits_packages_of_tests(self):
    ended = self.setup_sh('--quickstart')
    self.assertEqual(ended.returncode, 0, ended.stderr)
    self.assertLessEqual(_BUILT_FROM, self.installed())
    self.assertFalse(_TEST_ONLY & self.installed())

  def test_plain_setup_installs_what_all_targets_use(self):
    self.assertEqual(self.setup_sh('an-extra-package').returncode, 0)
    self.assertLessEqual(
        (_BUILT_FROM | _TEST_ONLY | {'an-extra-package'}) - {'python3-venv'},
        self.installed())

  def test_size_is_printed_before_installing(self):
    out = self.setup_sh('--quickstart').stdout
    size = out.index('setup: 1234 MB to download, 2500 MB on disk\n')
    self.assertLess(size, out.index('noise of apt'))

  def test_unreadable_size_does_not_stop_it(self):
    self.write('sizes', 'E: something else')
    ended = self.setup_sh('--quickstart')
    self.assertEqual(ended.returncode, 0, ended.stderr)
    self.assertIn('apt does not say how many MB', ended.stdout)
    self.assertLessEqual(_BUILT_FROM, self.installed())

  def test_second_run_does_not_call_apt(self):
    self.setup_sh('--quickstart')
    calls = self.read('calls')
    self.assertEqual(self.setup_sh('--quickstart').stdout,
                     'setup: everything is installed\n')
    self.assertEqual(self.read('calls'), calls)

  def test_log_gets_the_output_of_apt(self):
    out = self.setup_sh('--quickstart', f'--log={self.log}').stdout
    self.assertNotIn('noise', out)
    self.assertIn('noise of apt', self.read('log'))

  def test_failure_names_the_place_of_the_reason(self):
    self.write('broken')
    ended = self.setup_sh('--quickstart', f'--log={self.log}')
    self.assertEqual(ended.returncode, 1)
    self.assertIn(f"apt's own message is in {self.log};", ended.stderr)
    self.assertIn("message is above;", self.setup_sh().stderr)

  def test_unknown_option_is_refused(self):
    ended = self.setup_sh('--quick')
    self.assertEqual(ended.returncode, 2)
    self.assertIn('usage:', ended.stderr)


if __name__ == '__main__':
  xml_unittest.main()
