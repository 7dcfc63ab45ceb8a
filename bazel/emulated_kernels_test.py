"""Tests the translation of kernel launches to calls."""

import unittest

from bazel.emulated_kernels import emulated
from tools import xml_unittest


class EmulatedKernelsTest(unittest.TestCase):

  def test_a_launch_becomes_a_call(self):
    self.assertEqual(
        emulated('  Not<<<BlocksFor(n), kThreads, 0, stream>>>(n, x);\n'),
        '  ::weft::EmulatedLaunch(BlocksFor(n), kThreads, 0, stream, '
        '[=]() mutable { Not(n, x); });\n')

  def test_a_kernel_has_arguments_of_types(self):
    text = emulated('f; ns::Train<T, Rule<Wide<T>>>\n    <<<a, b, 0, s>>>(x);')
    self.assertIn('{ ns::Train<T, Rule<Wide<T>>>(x); })', text)
    self.assertTrue(text.startswith('f; ::weft::EmulatedLaunch('))

  def test_arguments_may_be_calls(self):
    text = emulated('K<<<a, dim3(1, c), 0, s>>>(static_cast<T*>(x),\n  g(y));')
    self.assertIn('K(static_cast<T*>(x),\n  g(y)); });', text)

  def test_line_numbers_do_not_change(self):
    text = 'a\nb<T>\n  <<<c,\n d, 0, s>>>(\n e);\nf<<<1, 2, 3, 4>>>(g);\n'
    self.assertEqual(emulated(text).count('\n'), text.count('\n'))

  def test_other_code_does_not_change(self):
    text = 'if (a << b >> c) { x = y<Z<int>>(1); }'
    self.assertEqual(emulated(text), text)

  def test_malformed_launch_is_an_error(self):
    for text in ('(a)<<<b, c>>>(d)', 'k<<<b, c>>>;', 'k<<<b, c>>>(d'):
      with self.assertRaises(ValueError):
        emulated(text)


if __name__ == '__main__':
  xml_unittest.main()
