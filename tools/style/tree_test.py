"""This checkout and its new commits follow docs/style.md."""

import unittest

from tools import source_tree
from tools import xml_unittest
from tools.style import commit_subjects
from tools.style import style


class TreeTest(unittest.TestCase):

  def test_tree_follows_the_style(self):
    violations = style.check(source_tree.root())
    if violations:
      self.fail('\n' + '\n'.join(map(source_tree.describe, violations)))

  def test_commit_subjects_are_short(self):
    try:
      commits = commit_subjects.long_subjects(source_tree.root())
    except commit_subjects.NotChecked as reason:
      self.skipTest(str(reason))
    if commits:
      self.fail('\n' + '\n'.join(map(commit_subjects.describe, commits)))


if __name__ == '__main__':
  xml_unittest.main()
