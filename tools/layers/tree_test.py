"""This checkout follows the rules of layers."""

import unittest

from tools import source_tree
from tools import xml_unittest
from tools.layers import layer_table
from tools.layers import layers


class TreeTest(unittest.TestCase):

  def test_tree_follows_the_rules(self):
    violations = layers.check(source_tree.root())
    if violations:
      self.fail('\n' + '\n'.join(map(layer_table.describe, violations)))


if __name__ == '__main__':
  xml_unittest.main()
