"""Measures one commit: its two scripts, and builds after small changes."""

import collections
import json
import os
import re

from tools.build_cost import action_digests
from tools.build_cost import action_record
from tools.build_cost import bazel_home
from tools.build_cost import bazel_profile
from tools.build_cost import figures
from tools.build_cost import machine as machine_module
from tools.build_cost import source_change

SCRIPTS = {'quickstart': 'tools/quickstart.sh', 'test': 'tools/test.sh'}
# The last line of tools/test.sh when it ran tests, passed or not.
_COUNT_OF_TESTS = re.compile(r'\d+ passed, \d+ failed')
# The build of tools/test.sh on a machine without a GPU.
_BUILD_ALL = ['bazel', 'build', '--define=cuda_archs=90', '//...']

# scripts, changes: lists of ScriptFigures and ChangeFigures.
CommitResult = collections.namedtuple('CommitResult',
                                      'commit scripts changes actions')


class CommitRun:
  """Measures a checkout of one commit.

  folder: where the homes and logs of the scripts are created
  environment: the environment of the user
  say: a function that is called with lines about the progress
  """

  def __init__(self, machine, git, commit, folder, environment, say):
    self._machine = machine
    self._git = git
    self._commit = commit
    self._folder = folder
    self._environment = environment
    self._say = say
    self._checkout = os.path.join(folder, 'checkout')
    self._result = CommitResult(commit, [], [], [])

  def measure(self, scripts, with_changes):
    """Returns the CommitResult; with_changes: also after changes of files."""
    self._git.clone(self._commit, self._checkout)
    if with_changes:
      source_change.check_files(self._checkout, self._commit)
    for script in scripts:
      self._measure_script(script, with_changes and script == 'test')
    return self._result

  def _measure_script(self, script, with_changes):
    home = bazel_home.BazelHome(
        self._machine, self._checkout, os.path.join(self._folder, script),
        self._environment)
    home.create()
    try:
      self._say(f'{self._commit}: running {SCRIPTS[script]}')
      self._result.scripts.append(self._run_script(script, home))
      self._result.actions.extend(self._actions(script, home))
      if with_changes:
        self._measure_changes(home)
    finally:
      home.shut_down()

  def _run_script(self, script, home):
    began = self._machine.now()
    code = home.run([os.path.join(self._checkout, SCRIPTS[script])],
                    'output.txt')
    wall = self._machine.now() - began
    lines = home.read('output.txt').splitlines()
    check_finished(script, code, lines)
    own, children = home.processor_seconds()
    timed = bazel_profile.read(home.log('profile.gz'))
    return figures.ScriptFigures(
        script, wall, own + children, own,
        bazel_profile.total_seconds(timed, False),
        bazel_profile.total_seconds(timed, True),
        *self._disk(home), len(lines), lines[-1] if lines else '')

  def _disk(self, home):
    """Returns bytes: Bazel's output root, its disk cache, the rest."""
    root = self._machine.disk_bytes(home.cache('bazel'))
    cache = self._machine.disk_bytes(home.cache('weft-bazel'))
    return root, cache, self._machine.disk_bytes(home.cache()) - root - cache

  def _actions(self, script, home):
    """Returns the record of the actions of a script."""
    home.check(bazel_home.aquery(
        *bazel_home.command_line(home.read('events.txt'))),
               'actions.json', 'aquery_errors.txt')
    known = action_digests.digests(
        json.loads(home.read('actions.json')),
        self._git.blob_ids(self._commit),
        _Dependencies(home.info('execution_root')))
    timed = bazel_profile.read(home.log('profile.gz'))
    return list(action_record.join(script, timed, known))

  def _measure_changes(self, home):
    # This build does only the work that is due to the other options of a build.
    home.check(self._build_all(home, 'unchanged'), 'build_unchanged.txt')
    for change in source_change.CHANGES:
      self._say(f'{self._commit}: building after a change of {change.file}')
      source_change.apply(change, self._checkout)
      self._result.changes.append(self._build_after(change, home))

  def _build_after(self, change, home):
    processor = sum(home.processor_seconds())
    began = self._machine.now()
    home.check(self._build_all(home, change.name), f'build_{change.name}.txt')
    wall = self._machine.now() - began
    return figures.ChangeFigures(
        change.name, change.file, wall,
        sum(home.processor_seconds()) - processor)

  def _build_all(self, home, name):
    """Returns a command that keeps the files which the script's build wrote."""
    profile = home.log(f'build_{name}_profile.gz')
    return [*_BUILD_ALL[:2], f'--profile={profile}', '--build_event_text_file=',
            *_BUILD_ALL[2:]]


class _Dependencies:
  """Reads .d files below Bazel's execution root."""

  def __init__(self, root):
    self._root = root

  def __call__(self, path):
    try:
      with open(os.path.join(self._root, path), encoding='utf-8') as file:
        return action_digests.read_dependencies(file.read())
    except OSError:
      return None


def check_finished(script, code, lines):
  """Raises unless the script did all its work; tests may have failed."""
  if code == 0:
    return
  if script == 'test' and lines and _COUNT_OF_TESTS.search(lines[-1]):
    return
  raise machine_module.CommandFailed(
      f'{SCRIPTS[script]} exited with {code}; its last lines:\n'
      + bazel_home.last_lines('\n'.join(lines)))
