#!/usr/bin/env python3
"""Plants bugs, one at a time, and lets the simulated training find each.

  tools/mutants/mutants.py [--seeds=1000] [NAME...]

A mutant is a patch in integration_tests/testdata/mutants, with the reason above
it. Each is applied to a scratch copy of the checkout, built there with
--config=opt, and hunted until a seed ends wrong, crashes or hangs; the next is
built meanwhile. The hunter is integration_tests/simulation_test, or what the
patch names above its first file, a smaller simulation:

  Hunted by //libs/bus:transport_schedule_test TransportScheduleTest.*

Exits non-zero if one is not found, or if a seed finds something where nothing
is planted.
"""

import argparse
import collections
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent import futures

_HERE = os.path.dirname(os.path.realpath(__file__))
sys.path.insert(0, os.path.dirname(os.path.dirname(_HERE)))

from tools import source_tree  # pylint: disable=wrong-import-position

_PATCHES = 'integration_tests/testdata/mutants'
# A test, and which of its cases.
Hunter = collections.namedtuple('Hunter', 'target cases')
_TRAINING = Hunter('//integration_tests:simulation_test',
                   'SimulationTest.EverySeedEndsRightOrWithCleanErrors')
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


def hunter_of(patch):
  with open(patch, encoding='utf-8') as lines:
    for line in lines:
      if line.startswith('Hunted by '):
        return Hunter(*line.split()[2:])
  return _TRAINING


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


def has_target(folder, target):
  """Whether there is such a test: some need CUDA's toolkit."""
  return subprocess.run(['bazel', 'query', '--noshow_progress', target],
                        cwd=folder, check=False, stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL).returncode == 0


def build(folder, target, binary):
  """The test, as `binary`; whether it builds."""
  built = subprocess.run(
      ['bazel', 'build', '--config=opt', '--noshow_progress', target],
      cwd=folder, check=False).returncode == 0
  if built:
    path = target.replace('//', 'bazel-bin/').replace(':', '/')
    shutil.copy(os.path.join(folder, path), binary)
  return built


def hunt(binary, cases, seeds):
  """(found, where); raises an error if no case of the test has begun."""
  environment = dict(os.environ,
                     WEFT_SIMULATION_HUNT='1',
                     WEFT_SIMULATION_SEEDS=str(seeds),
                     # What was freed is overwritten.
                     MALLOC_PERTURB_='165',
                     GLIBC_TUNABLES='glibc.malloc.tcache_count=0')
  environment.pop('WEFT_SIMULATION_FIRST_SEED', None)
  try:
    result = subprocess.run([binary, '--gtest_filter=' + cases],
                            env=environment, check=False,
                            timeout=_SECONDS_A_SEED * seeds,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            universal_newlines=True)
  except subprocess.TimeoutExpired as hung:
    return True, 'a hang, ' + place((hung.stdout or b'').decode(),
                                    (hung.stderr or b'').decode())
  finally:
    os.remove(binary)
  if '[ RUN ' not in result.stdout:
    raise RuntimeError(f'{binary} {cases} runs nothing: {result.stderr}')
  return result.returncode != 0, place(result.stdout, result.stderr)


def place(stdout, stderr):
  """The last seed that the test printed, or the first case that failed."""
  seeds = [line for line in stderr.splitlines() if line.startswith('seed ')]
  # A test that does not print each seed names it in its failure.
  traced = re.findall(r'\bseed \d+', stdout)
  failed = [line for line in stdout.splitlines() if '[  FAILED  ]' in line]
  return ''.join(seeds[-1:] or traced[:1] or failed[:1] or
                 ['no place that it tells'])


def plant(name, top, folder, binary):
  """Builds the hunter of one bug, which is taken out again; '' or why not."""
  problem = apply(patch_of(top, name), folder)
  if problem:
    return f'does not apply: {problem}'
  try:
    target = hunter_of(patch_of(top, name)).target
    return '' if build(folder, target, binary) else 'does not build'
  finally:
    apply(patch_of(top, name), folder, reverse=True)


def find(name, binary, cases, seeds):
  """Hunts what is planted in the binary; whether it was found."""
  found, where = hunt(binary, cases, seeds)
  print(f'{name}: {"found at " + where if found else f"NOT FOUND in {seeds}"}',
        flush=True)
  return found


def stays_clean(binary, hunter):
  found, where = hunt(binary, hunter.cases, _CLEAN_SEEDS)
  if found:
    print(f'nothing is planted, and {hunter.target} ends wrong at {where}',
          flush=True)
  return not found


def hunt_all(bugs, top, folder, seeds):
  """How many things are wrong."""
  wrong = 0
  with tempfile.TemporaryDirectory() as binaries, \
       futures.ThreadPoolExecutor(os.cpu_count()) as hunters:
    hunts = []
    hunter_by_bug = {name: hunter_of(patch_of(top, name)) for name in bugs}
    for hunter in set(hunter_by_bug.values()):
      if not has_target(folder, hunter.target):
        print(f'{hunter.target}: there is none here, nor are its bugs hunted',
              flush=True)
        hunter_by_bug = {name: other for name, other in hunter_by_bug.items()
                         if other != hunter}
        continue
      clean = os.path.join(binaries, f'clean{len(hunts)}')
      if not build(folder, hunter.target, clean):
        return 1
      hunts.append(hunters.submit(stays_clean, clean, hunter))
    for name, hunter in hunter_by_bug.items():
      binary = os.path.join(binaries, name)
      problem = plant(name, top, folder, binary)
      if problem:
        print(f'{name}: {problem}', flush=True)
        wrong += 1
      else:
        hunts.append(hunters.submit(find, name, binary, hunter.cases, seeds))
    return wrong + sum(not hunted.result() for hunted in hunts)


def main():
  parser = argparse.ArgumentParser()
  parser.add_argument('--seeds', type=int, default=1000)
  parser.add_argument('names', nargs='*')
  options = parser.parse_args()
  top = source_tree.root()
  with tempfile.TemporaryDirectory() as folder:
    copy_tree(top, folder)
    wrong = hunt_all(options.names or names(top), top, folder, options.seeds)
    subprocess.run(['bazel', 'clean', '--expunge'], cwd=folder, check=False)
  print(f'{wrong} wrong')
  return 1 if wrong else 0


if __name__ == '__main__':
  sys.exit(main())
