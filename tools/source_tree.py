"""The checkout as it lies on disk, for tests that look at all of it.

Such a test is tagged "external", for Bazel does not know what it reads: it runs
each time.
"""

import collections
import os

# A broken rule: the file and line, what is wrong there, and how to repair it.
Violation = collections.namedtuple('Violation', 'path line what remedy')

_CPP = ('.h', '.cc', '.cu')


def root():
  """The checkout: where this file really lies, behind Bazel's links to it."""
  return os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def files(top):
  """Yields the path, from `top`, of each file; hidden and output folders not."""
  for folder, folders, names in os.walk(top):
    folders[:] = sorted(
        name for name in folders
        if not name.startswith(('.', 'bazel-')) and name != '__pycache__')
    for name in sorted(names):
      yield os.path.relpath(os.path.join(folder, name), top)


def describe(violation):
  """path:line: what; remedy"""
  return '%s:%d: %s; %s' % violation


def is_cpp(path):
  return path.endswith(_CPP)


def is_build(path):
  return os.path.basename(path) in ('BUILD', 'BUILD.bazel')
