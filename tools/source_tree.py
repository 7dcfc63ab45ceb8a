"""Lists the files of the checkout, for tests that read all of them.

Such a test is tagged "external": Bazel does not know its inputs, so it runs
each time.
"""

import collections
import os

# A broken rule: the file and line, what is wrong there, and how to repair it.
Violation = collections.namedtuple('Violation', 'path line what remedy')

_CPP = ('.h', '.cc', '.cu')


def root():
  """Returns the checkout: the folder of this file, with links resolved."""
  return os.path.dirname(os.path.dirname(os.path.realpath(__file__)))


def files(top):
  """Yields the path of each file, relative to `top`.

  Leaves out hidden folders and those of Bazel's outputs.
  """
  for folder, folders, names in os.walk(top):
    folders[:] = sorted(
        name for name in folders
        if not name.startswith(('.', 'bazel-')) and name != '__pycache__')
    for name in sorted(names):
      yield os.path.relpath(os.path.join(folder, name), top)


def describe(violation):
  """Returns `path:line: what; remedy`."""
  return '%s:%d: %s; %s' % violation


def is_cpp(path):
  return path.endswith(_CPP)


def is_build(path):
  return os.path.basename(path) in ('BUILD', 'BUILD.bazel')
