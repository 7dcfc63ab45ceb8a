"""This checkout follows docs/style.md."""

import unittest

from tools import source_tree
from tools import xml_unittest
from tools.style import style


class TreeTest(unittest.TestCase):

  def test_tree_follows_the_style(self):
    violations = style.check(source_tree.root())
    if violations:
      self.fail('\n' + '\n'.join(map(source_tree.describe, violations)))


if __name__ == '__main__':
  xml_unittest.main()
