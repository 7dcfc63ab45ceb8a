#!/usr/bin/python3
"""Checks the whole checkout against the rules of docs/style.md.

Only rules that a program can check are here. Prints each violation as
`file:line: what; remedy`. Run it by hand with
`PYTHONPATH=. tools/style/style.py`; as a test it is //tools/style:tree_test.
"""

import collections
import os
import sys

from tools import source_tree
from tools.style import cpp_rules
from tools.style import term_rules

# Of .h and .cc files, in one folder of libs.
MAX_FILES = 60
_TEXTS = ('.h', '.cc', '.cu', '.fbs', '.md', '.py', '.sh', '.bzl', '.patch')
_NAMED_TEXTS = ('BUILD', '.bazelrc', 'local_cluster', 'measure_build')
# These name the old terms: the pages, to map them to the new ones, and this
# folder, to find them.
_NAME_OLD_TERMS = ('docs/style.md', 'docs/glossary.md', 'docs/design/layout.md')
_THIS_FOLDER = 'tools/style/'


def _has_terms(path):
  """Returns true if the rules of terms hold in this file."""
  return ((path.endswith(_TEXTS) or os.path.basename(path) in _NAMED_TEXTS) and
          path not in _NAME_OLD_TERMS and not path.startswith(_THIS_FOLDER))


def _check_folders(paths):
  """Yields a violation for each folder of libs with too many sources."""
  sizes = collections.Counter(
      os.path.dirname(path) for path in paths
      if path.startswith('libs/') and path.endswith(('.h', '.cc')))
  for folder, size in sorted(sizes.items()):
    if size > MAX_FILES:
      yield source_tree.Violation(
          folder, 1, f'this folder has {size} .h and .cc files',
          f'divide it into folders of at most {MAX_FILES}')


def check(top):
  """Returns all violations of the checkout at `top`."""
  paths = list(source_tree.files(top))
  violations = list(_check_folders(paths))
  for path in paths:
    is_cpp = source_tree.is_cpp(path)
    if not is_cpp and not _has_terms(path):
      continue
    with open(os.path.join(top, path), encoding='utf-8') as file:
      text = file.read()
    if is_cpp:
      violations.extend(cpp_rules.check(path, text))
    if _has_terms(path):
      violations.extend(term_rules.check(path, text))
  return violations


def main():
  violations = check(source_tree.root())
  for violation in violations:
    print(source_tree.describe(violation))
  return 1 if violations else 0


if __name__ == '__main__':
  sys.exit(main())
