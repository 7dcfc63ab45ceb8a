#!/usr/bin/env python3
"""Plants bugs, one at a time, and lets the simulated training find each.

  tools/planted_bugs/planted_bugs.py [--seeds=1000] [NAME...]

A bug is a patch in integration_tests/testdata/planted, with the reason above
it. Each is applied to a scratch copy of the checkout, built there with
--config=opt, and hunted by integration_tests/simulation_test until a seed ends
wrong, crashes or hangs. Exits non-zero if one is not found, or if a seed finds
something where nothing is planted.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile

_HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.dirname(os.path.dirname(_HERE)))

from tools import source_tree  # pylint: disable=wrong-import-position

_PATCHES = 'integration_tests/testdata/planted'
_TARGET = '//integration_tests:simulation_test'
_BINARY = 'bazel-bin/integration_tests/simulation_test'
_FILTER = '--gtest_filter=SimulationTest.EverySeedEndsRightOrWithCleanErrors'
# Without bugs; as many as find most of them.
_CLEAN_SEEDS = 100
_SECONDS_A_SEED = 30


def names(top):
  """Of all bugs, sorted."""
  folder = os.path.join(top, _PATCHES)
  return sorted(
      name[:-len('.patch')] for name in os.listdir(folder)
      if name.endswith('.patch'))


def patch_of(top, name):
  return os.path.join(top, _PATCHES, name + '.patch')


def files_of(patch):
  """The paths that the patch changes."""
  with open(patch, encoding='utf-8') as lines:
    return [line[len('+++ b/'):].strip() for line in lines
            if line.startswith('+++ b/')]


def apply(patch, folder, reverse=False):
  """Applies the patch to the files in `folder`; what went wrong, or ''."""
  command = ['git', 'apply', '--whitespace=nowarn', patch]
  if reverse:
    command.insert(2, '--reverse')
  # Not the repository that the folder may lie in.
  environment = dict(os.environ, GIT_CEILING_DIRECTORIES=os.path.dirname(folder))
  result = subprocess.run(command, cwd=folder, env=environment, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          universal_newlines=True)
  return result.stdout if result.returncode else ''


def copy_tree(top, folder):
  for path in source_tree.files(top):
    target = os.path.join(folder, path)
    os.makedirs(os.path.dirname(target), exist_ok=True)
    shutil.copy2(os.path.join(top, path), target)
  for name in ('.bazelrc', '.bazelversion'):
    if os.path.exists(os.path.join(top, name)):
      shutil.copy2(os.path.join(top, name), folder)


def build(folder):
  return subprocess.run(
      ['bazel', 'build', '--config=opt', '--noshow_progress', _TARGET],
      cwd=folder, check=False).returncode == 0


def hunt(folder, seeds):
  """(found, the first line of what was found or the last seed that ran)."""
  environment = dict(os.environ,
                     WEFT_SIMULATION_HUNT='1',
                     WEFT_SIMULATION_SEEDS=str(seeds),
                     # What was freed is overwritten.
                     MALLOC_PERTURB_='165',
                     GLIBC_TUNABLES='glibc.malloc.tcache_count=0')
  environment.pop('WEFT_SIMULATION_FIRST_SEED', None)
  try:
    result = subprocess.run([os.path.join(folder, _BINARY), _FILTER],
                            env=environment, check=False,
                            timeout=_SECONDS_A_SEED * seeds,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            universal_newlines=True)
  except subprocess.TimeoutExpired:
    return True, 'it hangs'
  told = [line for line in result.stderr.splitlines() if line]
  last = [line for line in told if line.startswith('seed ')][-1:]
  return result.returncode != 0, ' '.join(last) or 'nothing ran'


def find(name, top, folder, seeds):
  """Plants one bug and hunts it; takes it out again."""
  problem = apply(patch_of(top, name), folder)
  if problem:
    print(f'{name}: does not apply: {problem}')
    return False
  try:
    if not build(folder):
      print(f'{name}: does not build')
      return False
    found, where = hunt(folder, seeds)
  finally:
    apply(patch_of(top, name), folder, reverse=True)
  print(f'{name}: {"found at " + where if found else f"NOT FOUND in {seeds}"}',
        flush=True)
  return found


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument('--seeds', type=int, default=1000)
  parser.add_argument('names', nargs='*')
  options = parser.parse_args()
  top = source_tree.root()
  missed = 0
  with tempfile.TemporaryDirectory() as folder:
    copy_tree(top, folder)
    if not build(folder):
      return 1
    found, where = hunt(folder, _CLEAN_SEEDS)
    if found:
      print(f'nothing is planted, and {where} ends wrong')
      missed += 1
    for name in options.names or names(top):
      missed += not find(name, top, folder, options.seeds)
    subprocess.run(['bazel', 'clean', '--expunge'], cwd=folder, check=False)
  print(f'{missed} wrong')
  return 1 if missed else 0


if __name__ == '__main__':
  sys.exit(main())
