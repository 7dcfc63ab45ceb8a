#!/usr/bin/env python3
"""Records TensorFlow's results for special values.

  python3 tools/tensorflow_special_values.py

Writes integration_tests/testdata/tensorflow_special_values.txt: the results of
element-wise ops for infinities, NaN, zeros of both signs, subnormal numbers,
the largest and the smallest number, for each type. The file describes its
format.
integration_tests/graphs/special_values_test.cc compares it with Weft's results.

Needs a Python with TensorFlow 2.21. Every value is computed alone and at
several places of a vector, in the calling thread: TensorFlow's own threads
flush subnormal numbers to zero.
"""
import os

os.environ['TF_ENABLE_ONEDNN_OPTS'] = '0'
os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'

# pylint: disable=wrong-import-position
import ml_dtypes
import numpy as np
import tensorflow as tf
from tensorflow.python.framework import op_def_library
from tensorflow.python.framework import op_def_registry

FILE = os.path.join(os.path.dirname(__file__), '..', 'integration_tests',
                    'testdata', 'tensorflow_special_values.txt')
HEADER = """\
# What TensorFlow %s gives for special values; written by
# tools/tensorflow_special_values.py.
#
#   unary TYPE VALUE...           the operands of the unary rows of that type
#   binary TYPE VALUE...          those of the binary rows: each with each, the
#                                 first operand changes slowest
#   OP TYPE RESULT_TYPE VALUE...  a row
#   OP TYPE = OTHER               the same row as that of OTHER
#   OP TYPE none                  TensorFlow has no such kernel
#
# A value is the number's bits in hexadecimal, or "nan"; "!" is
# INVALID_ARGUMENT, "?" is not compared: TensorFlow gives more than one result
# (alone and in a vector, say), or its process ends.
"""

FLOATS = {
    'float': np.float32,
    'double': np.float64,
    'half': np.float16,
    'bfloat16': ml_dtypes.bfloat16,
}
INTEGERS = {
    'int8': np.int8, 'uint8': np.uint8, 'int16': np.int16, 'uint16': np.uint16,
    'int32': np.int32, 'uint32': np.uint32, 'int64': np.int64,
    'uint64': np.uint64,
}
TYPES = {**FLOATS, **INTEGERS}

UNARY = '''
    Abs Acos Asin Atan Atanh Acosh Asinh Ceil Cos Cosh Digamma Elu Erf Erfc
    Erfinv Exp Expm1 Floor Inv Invert IsFinite IsInf IsNan LeakyRelu Lgamma Log
    Log1p Ndtri Neg OnesLike PopulationCount Reciprocal Relu Relu6 Rint Round
    Rsqrt Selu Sigmoid Sign Sin Sinh Softplus Softsign Sqrt Square Tan Tanh
    ZerosLike'''.split()
BINARY = '''
    Add AddV2 Atan2 BitwiseAnd BitwiseOr BitwiseXor Div DivNoNan EluGrad Equal
    FloorDiv FloorMod Greater GreaterEqual InvGrad LeakyReluGrad LeftShift Less
    LessEqual Maximum Minimum Mod Mul MulNoNan NextAfter NotEqual Pow RealDiv
    ReciprocalGrad Relu6Grad ReluGrad RightShift RsqrtGrad SeluGrad SigmoidGrad
    SoftplusGrad SoftsignGrad SqrtGrad SquaredDifference Sub TanhGrad
    TruncateDiv TruncateMod Xdivy Xlog1py Xlogy ApproximateEqual
    Polygamma'''.split()
DIVISIONS = {'Div', 'FloorDiv', 'FloorMod', 'Mod', 'TruncateDiv',
             'TruncateMod'}
# Results that differ by up to this many units in the last place are equal.
NEAR = 32


def unary_values(name):
  dtype = TYPES[name]
  if name in INTEGERS:
    info = np.iinfo(dtype)
    values = [info.max, info.min, 0, 1, 2, 3, 7, -1, -2, -7, 100, 127, 128, 255,
              256, info.max - 1, info.min + 1]
    kept = [v for v in values if info.min <= v <= info.max]
    return np.array(list(dict.fromkeys(kept)), dtype)
  info = ml_dtypes.finfo(dtype)
  small, tiny = float(info.smallest_subnormal), float(info.tiny)
  largest, eps = float(info.max), float(info.eps)
  values = [np.inf, np.nan, 0.0, largest, tiny, small, tiny / 2, 1, .5, 2, 3,
            100, eps, 1 + eps, 1 - eps / 2, 1 / 3, .1, .7, 1e-10, 12345.678,
            1.5, 2.5, 7.25, 88, 11, 20, 710]
  values = [v for v in values if v != v or v == np.inf or v <= largest]
  with np.errstate(all='ignore'):
    both = [s * v for v in values for s in ((1, -1) if v == v else (1,))]
    return np.array(both, dtype)


def binary_values(name):
  dtype = TYPES[name]
  if name in INTEGERS:
    info = np.iinfo(dtype)
    values = [info.max, info.min, 0, 1, -1, 2, 7, -7, 3, -2]
    kept = [v for v in values if info.min <= v <= info.max]
    return np.array(list(dict.fromkeys(kept)), dtype)
  info = ml_dtypes.finfo(dtype)
  values = [np.inf, -np.inf, np.nan, 0.0, -0.0, float(info.max),
            float(info.smallest_subnormal), 1, -1, 2, -2.5, 3, -.3]
  return np.array(values, dtype)


class Op:
  """An op for one type; raises TensorFlow's error if there is no kernel."""

  def __init__(self, op, dtype, count):
    graph = tf.Graph()
    with graph.as_default():
      self._feeds = [tf.compat.v1.placeholder(dtype) for _ in range(count)]
      definition = op_def_registry.get(op)
      inferred = {a.type_attr for a in definition.input_arg}
      arguments = {a.name: None for a in definition.attr
                   if a.HasField('default_value') and a.name not in inferred}
      names = [a.name for a in definition.input_arg]
      arguments.update(zip(names, self._feeds))
      result = op_def_library.apply_op(op, **arguments)
    # The calling thread does not flush subnormal numbers to zero.
    self._result = result
    self._session = tf.compat.v1.Session(
        graph=graph,
        config=tf.compat.v1.ConfigProto(inter_op_parallelism_threads=-1,
                                        intra_op_parallelism_threads=1))

  def __call__(self, *operands):
    return self._session.run(self._result, dict(zip(self._feeds, operands)))


def bits(array):
  if array.dtype == np.bool_:
    return array.astype(np.int64)
  unsigned = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
  return array.view(unsigned[array.dtype.itemsize])


def is_nan(x):
  return bool(x != x)


def are_near(a, b, is_float):
  """Returns true if two results count as equal."""
  if not is_float:
    return a == b
  if is_nan(a) or is_nan(b):
    return is_nan(a) and is_nan(b)
  if np.isinf(a) or np.isinf(b) or a == 0 or b == 0:
    return a == b and np.signbit(a) == np.signbit(b)
  if np.signbit(a) != np.signbit(b):
    return False
  return abs(int(bits(np.array([a]))[0]) - int(bits(np.array([b]))[0])) <= NEAR


def notation(x):
  if x.dtype == np.bool_:
    return '1' if x else '0'
  if x.dtype.kind not in 'iu' and is_nan(x):
    return 'nan'
  return '%x' % int(bits(np.array([x]))[0])


def unusual(op, name, operands):
  """Returns "!" or "?" for each element that must not be computed, or None."""
  marks = [None] * len(operands[0])
  if name not in INTEGERS or len(operands) != 2:
    return marks
  lowest = np.iinfo(TYPES[name]).min
  for i, (x, y) in enumerate(zip(*operands)):
    if op in DIVISIONS and y == 0:
      marks[i] = '!'
    elif op in DIVISIONS and lowest < 0 and x == lowest and y == -1:
      marks[i] = '?'
    elif op == 'Pow' and y < 0:
      marks[i] = '!'
  return marks


def row(op, name, operands):
  """Returns the type and notations of the results, or None without a kernel."""
  marks = unusual(op, name, operands)
  safe = [np.array([1 if m else v for m, v in zip(marks, x)], x.dtype)
          for x in operands]
  try:
    function = Op(op, TYPES[name], len(operands))
    alone = [function(*(x[i:i + 1] for x in safe))[0]
             for i in range(len(safe[0]))]
  except (TypeError, ValueError, tf.errors.InvalidArgumentError,
          tf.errors.NotFoundError, tf.errors.UnimplementedError):
    return None
  n = len(alone)
  places = []
  for turn, odd in ((0, 0), (3, 1), (10, 5)):
    turned = [np.roll(x, turn) for x in safe]
    turned = [np.concatenate([x, x[:33 + odd]]) for x in turned]
    result = function(*turned)
    places.append([result[(i + turn) % n] for i in range(n)])
    places.append([result[n + (i + turn) % n] if (i + turn) % n < 33 + odd
                   else places[-1][i] for i in range(n)])
  is_float = alone[0].dtype.kind not in 'iub'
  values = []
  for i in range(n):
    if marks[i]:
      values.append(marks[i])
    elif all(are_near(p[i], alone[i], is_float) for p in places):
      values.append(notation(places[0][i]))
    else:
      values.append('?')
  return alone[0].dtype.name, values


RESULT_TYPES = {'float32': 'float', 'float64': 'double', 'float16': 'half'}


def rows(ops, operands_of):
  seen = {}
  for op in ops:
    for name in TYPES:
      result = row(op, name, operands_of(name))
      if result is None:
        yield '%s %s none' % (op, name)
        continue
      kind, values = result
      text = ' '.join([RESULT_TYPES.get(kind, kind)] + values)
      other = seen.setdefault((name, text), op)
      yield '%s %s %s' % (op, name, text if other == op else '= ' + other)


def pairs(name):
  values = binary_values(name)
  return [np.repeat(values, len(values)), np.tile(values, len(values))]


def main():
  tf.compat.v1.disable_eager_execution()
  lines = []
  for kind, values in (('unary', unary_values), ('binary', binary_values)):
    for name in TYPES:
      lines.append(' '.join([kind, name] + [notation(v) for v in values(name)]))
  lines += rows(UNARY, lambda name: [unary_values(name)])
  lines += rows(BINARY, pairs)
  with open(FILE, 'w', encoding='utf-8') as new:
    new.write(HEADER % tf.__version__)
    new.write('\n'.join(lines) + '\n')


if __name__ == '__main__':
  main()
