#!/usr/bin/env python3
"""Records TensorFlow's definitions of the ops that Weft has.

  python3 tools/tensorflow_signatures.py [OP]...

Writes integration_tests/testdata/tensorflow_signatures.txt again, with the
given ops added, in the notation of OpDefBuilder (libs/graph/op_def.h). Needs a
Python with TensorFlow 2.21. Types that Weft lacks are left out.
integration_tests/graphs/op_signatures_test.cc compares the file with Weft's
registry.
"""
import os
import sys

import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import op_def_registry

FILE = os.path.join(os.path.dirname(__file__), '..', 'integration_tests',
                    'testdata', 'tensorflow_signatures.txt')
HEADER = """\
# The ops of TensorFlow %s that Weft has, in the notation of OpDefBuilder.
# Written by tools/tensorflow_signatures.py; types that Weft has not are left out.
"""
TYPES = ('float double int32 uint8 int16 int8 string complex64 int64 bool '
         'bfloat16 uint16 complex128 half resource variant uint32 uint64').split()
LISTS = {'s', 'i', 'f', 'b', 'type', 'shape'}


def type_name(number):
  return types_pb2.DataType.Name(number)[len('DT_'):].lower()


def argument(arg):
  text = (arg.type_attr or arg.type_list_attr or type_name(arg.type))
  if arg.is_ref:
    text = 'Ref(%s)' % text
  if arg.number_attr:
    text = '%s * %s' % (arg.number_attr, text)
  return '%s: %s' % (arg.name, text)


def quoted(value):
  return "'%s'" % value.decode('latin-1').encode('unicode_escape').decode()


def shape(value):
  if value.unknown_rank:
    return '{ unknown_rank: true }'
  return '{ %s }' % ' '.join('dim { size: %d }' % dim.size for dim in value.dim)


def one(kind, value):
  if kind == 's':
    return quoted(value)
  if kind == 'type':
    return 'DT_' + type_name(value).upper()
  if kind == 'shape':
    return shape(value)
  if kind == 'b':
    return 'true' if value else 'false'
  if kind == 'i':
    return str(value)
  if kind == 'f':
    return '%.9g' % value
  if kind == 'tensor':
    return '{ dtype: %s tensor_shape: %s %s }' % (
        'DT_' + type_name(value.dtype).upper(), shape(value.tensor_shape),
        ' '.join('int_val: %d' % v for v in value.int_val))
  raise ValueError('a default of kind %s has no notation' % kind)


def default(value):
  kind = value.WhichOneof('value')
  if kind != 'list':
    return one(kind, getattr(value, kind))
  kinds = [k for k in LISTS if getattr(value.list, k)]
  items = getattr(value.list, kinds[0]) if kinds else []
  return '[%s]' % ', '.join(one(kinds[0], item) for item in items)


def attribute(attr):
  text = attr.type
  if attr.HasField('allowed_values'):
    allowed = attr.allowed_values.list
    known = [type_name(t) for t in allowed.type if type_name(t) in TYPES]
    items = ', '.join([quoted(s) for s in allowed.s] + known)
    is_list = attr.type.startswith('list(')
    text = 'list({%s})' % items if is_list else '{%s}' % items
  if attr.has_minimum:
    text += ' >= %d' % attr.minimum
  if attr.HasField('default_value'):
    text += ' = ' + default(attr.default_value)
  return '%s: %s' % (attr.name, text)


def signature(name):
  """Returns the lines of one op."""
  op = op_def_registry.get(name)
  if op is None:
    raise SystemExit('TensorFlow %s has no op %s' % (tf.__version__, name))
  lines = ['op ' + name]
  lines += ['attr ' + attribute(attr) for attr in op.attr]
  lines += ['input ' + argument(arg) for arg in op.input_arg]
  lines += ['output ' + argument(arg) for arg in op.output_arg]
  for flag in ('is_stateful', 'is_commutative', 'is_aggregate',
               'allows_uninitialized_input'):
    if getattr(op, flag):
      lines.append(flag)
  if op.HasField('deprecation'):
    lines.append('removed %d %s' % (op.deprecation.version,
                                    op.deprecation.explanation))
  return '\n'.join(lines) + '\n'


def main():
  names = set(sys.argv[1:])
  if os.path.exists(FILE):
    with open(FILE, encoding='utf-8') as old:
      names |= {line.split()[1] for line in old if line.startswith('op ')}
  text = HEADER % tf.__version__
  for name in sorted(names):
    text += '\n' + signature(name)
  with open(FILE, 'w', encoding='utf-8') as new:
    new.write(text)


if __name__ == '__main__':
  main()
