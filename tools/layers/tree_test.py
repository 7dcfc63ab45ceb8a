"""The order of the house, in this checkout."""

import unittest

from tools import source_tree
from tools import xml_unittest
from tools.layers import layers
from tools.layers import layer_table as house


class TreeTest(unittest.TestCase):

  def test_the_house_is_in_order(self):
    violations = layers.check(source_tree.root())
    if violations:
      self.fail('\n' + '\n'.join(map(house.describe, violations)))


if __name__ == '__main__':
  xml_unittest.main()
