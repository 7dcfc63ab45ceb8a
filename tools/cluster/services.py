"""Finds the programs of the services; builds them if they are missing."""

import glob
import os
import shutil
import subprocess
import sys

from tools import bazel_progress
from tools import trim_cache


class Missing(Exception):
  """A service is missing; the text says what to do."""


def _paths(folder, jobs):
  return {job: os.path.join(folder, job, job) for job in jobs}


def _absent(paths):
  return [path for path in paths.values() if not os.access(path, os.X_OK)]


def in_folder(folder, jobs):
  """Returns job -> path of the service's program."""
  paths = _paths(os.path.abspath(folder), jobs)
  absent = _absent(paths)
  if absent:
    raise Missing(f'no program {absent[0]}; --services_dir is a folder like '
                  'bazel-bin/services, with ps/ps in it')
  return paths


def _built(checkout, jobs):
  """Returns in_folder for an optimized build, or None if it is incomplete."""
  for folder in glob.glob(f'{checkout}/bazel-out/*-opt/bin/services'):
    paths = _paths(folder, jobs)
    if not _absent(paths):
      return paths
  return None


def _build(checkout, jobs, say):
  targets = [f'//services/{job}' for job in jobs]
  say('building ' + ' '.join(targets))
  if not shutil.which('bazel'):
    raise Missing('bazel is not installed; run tools/setup.sh')
  try:
    subprocess.run([sys.executable, bazel_progress.__file__, 'services',
                    'bazel', 'build', '--config=opt', *targets],
                   cwd=checkout, stdout=2, check=True)
    subprocess.run([sys.executable, trim_cache.__file__], stdout=2, check=False)
    found = subprocess.run(
        ['bazel', 'info', '--config=opt', 'bazel-bin'], cwd=checkout, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
  except subprocess.CalledProcessError as error:
    raise Missing(f'the services of {jobs} cannot be built') from error
  folder = os.path.join(checkout, found.stdout.strip(), 'services')
  return in_folder(folder, jobs)


def find(checkout, jobs, say):
  """Returns job -> path of the service's program, built if needed."""
  return _built(checkout, jobs) or _build(checkout, jobs, say)
