"""Tests the measurement of one commit, with a fake machine."""

import gzip
import json
import os
import subprocess
import sys
import tempfile
import unittest

from tools import xml_unittest
from tools.build_cost import bazel_home
from tools.build_cost import commit_run
from tools.build_cost import machine as machine_module
from tools.build_cost import source_change

EVENTS = '''\
structured_command_line {
  command_line_label: "original"
  sections {
    section_label: "residual"
    chunk_list {
      chunk: "//a:b"
      chunk: "//c/..."
      chunk: "-//c:d"
    }
  }
}
structured_command_line {
  sections {
    section_label: "residual"
    chunk_list {
      chunk: "//other"
    }
  }
}
options_parsed {
  cmd_line: "--copt=-g1"
  explicit_cmd_line: "--config=opt"
  explicit_cmd_line: "--define=name=\\"x\\""
  explicit_cmd_line: "--build_event_json_file=/tmp/x"
}
'''
PROFILE = {'traceEvents': [
    {'cat': 'action processing', 'name': 'Linking x', 'ts': 0, 'tid': 1,
     'dur': 3_000_000, 'out': 'out/x'},
    {'name': 'subprocess.run', 'ts': 1, 'tid': 1, 'dur': 2_000_000},
    {'cat': 'action processing', 'name': 'Testing //a', 'ts': 4_000_000,
     'tid': 1, 'dur': 3_000_000, 'out': 'out/test.log'},
    {'name': 'subprocess.run', 'ts': 4_000_001, 'tid': 1, 'dur': 1_000_000},
]}
ACTIONS = {
    'pathFragments': [{'id': 1, 'label': 'out'},
                      {'id': 2, 'label': 'x', 'parentId': 1}],
    'artifacts': [{'id': 1, 'pathFragmentId': 2}],
    'actions': [{'mnemonic': 'CppLink', 'arguments': ['ld'], 'outputIds': [1],
                 'primaryOutputId': 1}]}


class FakeMachine:
  """Imitates Bazel and the scripts; each command takes ten seconds."""

  def __init__(self, code=0, last_line='5 passed, 0 failed'):
    self.commands, self.environments = [], []
    self._code, self._last_line = code, last_line
    self._now = 0.0

  def run(self, command, folder, environment, output, errors=None):
    del folder, errors
    self.commands.append(command)
    self.environments.append(environment)
    self._now += 10
    text = self._answer(command, os.path.dirname(output))
    with open(output, 'w', encoding='utf-8') as file:
      file.write(text)
    return self._code if command[0].endswith('.sh') else 0

  def _answer(self, command, logs):
    if command[0].endswith('.sh'):
      with gzip.open(os.path.join(logs, 'profile.gz'), 'wt') as file:
        json.dump(PROFILE, file)
      with open(os.path.join(logs, 'events.txt'), 'w',
                encoding='utf-8') as file:
        file.write(EVENTS)
      return f'first line\n{self._last_line}\n'
    if command[1] == 'aquery':
      return json.dumps(ACTIONS)
    return {'server_pid': '77\n'}.get(command[-1], '/nowhere\n')

  def now(self):
    return self._now

  def processor_seconds(self, pid):
    assert pid == 77
    return len(self.commands), 100 * len(self.commands)

  def disk_bytes(self, path):
    return {'bazel': 50, 'weft-bazel': 20, '.cache': 75}[
        os.path.basename(path)]


class FakeGit:
  """Clones a checkout with the files that are changed."""

  def __init__(self, files):
    self._files = files

  def clone(self, _, folder):
    for name in self._files:
      path = os.path.join(folder, name)
      os.makedirs(os.path.dirname(path), exist_ok=True)
      with open(path, 'w', encoding='utf-8') as file:
        file.write('#ifndef A\n#define A\n#endif\n')

  def blob_ids(self, _):
    return {}


CHANGED_FILES = [change.file for change in source_change.CHANGES]


class CommitRunTest(unittest.TestCase):

  def measure(self, machine, scripts=('quickstart', 'test'), changes=True,
              files=tuple(CHANGED_FILES)):
    with tempfile.TemporaryDirectory() as folder:
      run = commit_run.CommitRun(
          machine, FakeGit(files), '1234abcd', folder, {'HOME': '/root'},
          lambda _: None)
      return run.measure(list(scripts), changes)

  def test_figures_of_a_script(self):
    found = self.measure(FakeMachine(), ['test'], False).scripts
    self.assertEqual(found, [commit_run.figures.ScriptFigures(
        'test', wall_seconds=10, processor_seconds=202, bazel_seconds=2,
        build_seconds=2, test_seconds=1, output_root_bytes=50,
        disk_cache_bytes=20, other_bytes=5, lines=2,
        last_line='5 passed, 0 failed')])

  def test_actions_have_the_digests_of_aquery(self):
    link, test = self.measure(FakeMachine(), ['test'], False).actions
    self.assertEqual(link[:4], ('test', 'CppLink', 'out/x', 2.0))
    self.assertEqual(len(link.digest), 16)
    self.assertEqual(test, ('test', 'TestRunner', 'out/test.log', 1.0, '?'))

  def test_aquery_gets_the_options_and_targets_of_the_script(self):
    machine = FakeMachine()
    self.measure(machine, ['quickstart'])
    self.assertIn(['bazel', 'aquery', '--config=opt', '--define=name="x"',
                   '--output=jsonproto', 'deps(//a:b + //c/...)'],
                  machine.commands)

  def test_each_script_has_a_home_of_its_own(self):
    machine = FakeMachine()
    self.measure(machine)
    homes = {environment['HOME'] for environment in machine.environments}
    self.assertEqual(len(homes), 2)
    self.assertEqual(machine.commands.count(['bazel', 'shutdown']), 2)

  def test_builds_after_changes_follow_the_tests(self):
    machine = FakeMachine()
    changes = self.measure(machine).changes
    self.assertEqual([change.file for change in changes], CHANGED_FILES)
    # The clock runs during the build; `bazel info` follows it.
    self.assertEqual(changes[0].wall_seconds, 10)
    self.assertEqual(changes[0].processor_seconds, 202)
    builds = [command for command in machine.commands
              if command[:2] == ['bazel', 'build']]
    self.assertEqual(len(builds), 1 + len(CHANGED_FILES))
    for build in builds:
      self.assertEqual(build[-2:], ['--define=cuda_archs=90', '//...'])
      # The profile of the tests is kept.
      self.assertRegex(build[2], r'--profile=.*/build_\w+_profile.gz')

  def test_missing_file_is_named_before_a_script_runs(self):
    machine = FakeMachine()
    with self.assertRaisesRegex(machine_module.CommandFailed,
                                f'1234abcd has no {CHANGED_FILES[1]}'):
      self.measure(machine, files=[CHANGED_FILES[0], CHANGED_FILES[2]])
    self.assertEqual(machine.commands, [])

  def test_failed_tests_do_not_end_the_measurement(self):
    found = self.measure(FakeMachine(1, '5 passed, 2 failed'), ['test']).scripts
    self.assertEqual(found[0].last_line, '5 passed, 2 failed')

  def test_failed_script_ends_it_with_its_last_lines(self):
    machine = FakeMachine(1, 'ERROR: no compiler')
    for script in commit_run.SCRIPTS:
      with self.assertRaisesRegex(machine_module.CommandFailed,
                                  'exited with 1(?s:.*)no compiler'):
        self.measure(machine, [script])
      self.assertEqual(machine.commands[-1], ['bazel', 'shutdown'])


class HomeTest(unittest.TestCase):

  def test_bazelrc_keeps_the_disk_cache_in_the_home(self):
    text = bazel_home.bazelrc('/h', '/l')
    self.assertIn('build --disk_cache=/h/.cache/weft-bazel\n', text)
    self.assertIn('build --profile=/l/profile.gz --noslim_profile\n', text)
    self.assertIn('info --profile=/l/info_profile.gz', text)

  def test_environment_has_another_home(self):
    found = bazel_home.script_environment(
        {'HOME': '/root', 'PATH': '/bin', 'WEFT_TEST_TOOLS': '/tools',
         'XDG_CACHE_HOME': '/root/.cache'}, '/h')
    self.assertEqual(found, {'HOME': '/h', 'PATH': '/bin',
                             'WEFT_TEST_TOOLS': '/tools'})

  def test_pip_keeps_its_configuration(self):
    with tempfile.TemporaryDirectory() as home:
      path = os.path.join(home, '.config/pip/pip.conf')
      os.makedirs(os.path.dirname(path))
      with open(path, 'w', encoding='utf-8'):
        pass
      found = bazel_home.script_environment({'HOME': home}, '/h')
    self.assertEqual(found['PIP_CONFIG_FILE'], path)


class SourceChangeTest(unittest.TestCase):

  def test_source_gets_a_function_at_its_end(self):
    text = source_change.changed('int a;\n',
                                 source_change.Change('kernel', 'a.cc'))
    self.assertEqual(text, '''\
int a;

namespace weft {
int AddedToMeasureBuildOfKernel() { return 1; }
}  // namespace weft
''')

  def test_header_gets_it_within_its_guard(self):
    text = source_change.changed(
        '#ifndef A\n#endif\n#endif  // A\n',
        source_change.Change('header', 'a.h'))
    self.assertEqual(text, '''\
#ifndef A
#endif
namespace weft {
[[gnu::used]] inline int AddedToMeasureBuildOfHeader() { return 1; }
}  // namespace weft

#endif  // A
''')


class MachineTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = folder.name

  def path(self, name):
    return os.path.join(self.folder, name)

  def test_output_and_exit_code_of_a_program(self):
    code = machine_module.Machine().run(
        ['bash', '-c', 'echo $NAME; echo error >&2; exit 3'], self.folder,
        {'NAME': 'value'}, self.path('out'))
    self.assertEqual(code, 3)
    with open(self.path('out'), encoding='utf-8') as file:
      self.assertEqual(file.read(), 'value\nerror\n')

  def test_processor_seconds_include_ended_children(self):
    machine = machine_module.Machine()
    before = machine.processor_seconds(os.getpid())
    subprocess.run([sys.executable, '-c', 'sum(range(5_000_000))'], check=True)
    self.assertGreater(machine.processor_seconds(os.getpid())[1], before[1])

  def test_disk_bytes_are_those_of_blocks(self):
    machine = machine_module.Machine()
    with open(self.path('file'), 'wb') as file:
      file.write(b'x' * 100_000)
    self.assertGreaterEqual(machine.disk_bytes(self.folder), 100_000)
    self.assertEqual(machine.disk_bytes(self.path('none')), 0)

  def test_read_only_scratch_folder_is_deleted(self):
    with machine_module.scratch_folder() as folder:
      os.makedirs(os.path.join(folder, 'a', 'b'))
      os.chmod(os.path.join(folder, 'a'), 0o500)
    self.assertFalse(os.path.exists(folder))


class GitTest(unittest.TestCase):

  def git(self, *arguments):
    subprocess.run(
        ['git', '-c', 'user.name=a', '-c', 'user.email=a@b', *arguments],
        cwd=self.top, check=True, stdout=subprocess.DEVNULL)

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.top = os.path.join(folder.name, 'top')
    self.other = os.path.join(folder.name, 'other')
    os.mkdir(self.top)
    self.git('init', '--quiet')
    for text in ('old', 'new'):
      with open(os.path.join(self.top, 'file'), 'w', encoding='utf-8') as file:
        file.write(text)
      self.git('add', 'file')
      self.git('commit', '--quiet', '-m', text)

  def test_clone_has_the_files_of_the_commit(self):
    machine_module.Git(self.top).clone('HEAD~1', self.other)
    with open(os.path.join(self.other, 'file'), encoding='utf-8') as file:
      self.assertEqual(file.read(), 'old')

  def test_clone_takes_an_abbreviated_hash(self):
    git = machine_module.Git(self.top)
    git.clone(git.short('HEAD~1'), self.other)
    self.assertEqual(machine_module.Git(self.other).short('HEAD'),
                     git.short('HEAD~1'))

  def test_blob_ids_tell_versions_apart(self):
    git = machine_module.Git(self.top)
    old, new = git.blob_ids('HEAD~1'), git.blob_ids('HEAD')
    self.assertEqual(list(old), ['file'])
    self.assertNotEqual(old, new)

  def test_unknown_commit_is_named(self):
    with self.assertRaisesRegex(machine_module.CommandFailed, 'nosuch'):
      machine_module.Git(self.top).short('nosuch')


if __name__ == '__main__':
  xml_unittest.main()
