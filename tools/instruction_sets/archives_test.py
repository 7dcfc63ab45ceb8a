"""Checks that the archives given as arguments share no code.

Each archive holds the code for one instruction set.
"""

import sys
import unittest

from tools import xml_unittest
from tools.instruction_sets import symbols


class ArchivesTest(unittest.TestCase):

  def setUp(self):
    self.archives = sys.argv[1:]
    self.assertEqual(symbols.tags(self.archives), ['v1', 'v3', 'v4'])

  def test_no_symbol_is_shared(self):
    found = list(symbols.shared(self.archives))
    self.assertEqual(
        found, [], 'put it into namespace WEFT_ISA; keep std:: templates out')

  def test_no_register_is_too_wide(self):
    self.assertEqual(list(symbols.too_wide(self.archives)), [])


if __name__ == '__main__':
  xml_unittest.main()
