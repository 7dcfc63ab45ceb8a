"""Tests the detection of a shared symbol and of a register that is too wide."""

import sys
import unittest

from tools import xml_unittest
from tools.instruction_sets import symbols


def _archives(name):
  return [path for path in sys.argv[1:] if f'lib{name}_v' in path]


class SymbolsTest(unittest.TestCase):

  def test_separate_libraries(self):
    self.assertEqual(symbols.tags(_archives('separate')), ['v1', 'v3', 'v4'])
    self.assertEqual(list(symbols.shared(_archives('separate'))), [])
    self.assertEqual(list(symbols.too_wide(_archives('separate'))), [])

  def test_a_shared_template(self):
    found = list(symbols.shared(_archives('mingled')))
    self.assertEqual([line.split(' share ')[0] for line in found],
                     ['v1 and v3', 'v1 and v4', 'v3 and v4'], found)
    self.assertIn('OutsideItsNamespace', found[0])

  def test_a_wide_register_in_the_baseline(self):
    found = list(symbols.too_wide(_archives('mingled')))
    self.assertEqual([line.split(' uses ')[0] for line in found], ['v1'], found)


if __name__ == '__main__':
  xml_unittest.main()
