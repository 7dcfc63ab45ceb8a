#!/usr/bin/env python3
"""Records the order in which TensorFlow's TopKV2 returns columns on a CPU.

  python3 tools/tensorflow_top_k.py

Writes libs/kernels/nn/testdata/tensorflow_top_k.txt, which describes its
format. libs/kernels/nn/top_k_order_test.cc compares it with Weft's order. Needs
a Python with TensorFlow 2.21.
"""
import os
import random

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'

# pylint: disable=wrong-import-position
import ml_dtypes
import numpy as np
import tensorflow as tf
from tensorflow.python.ops import gen_nn_ops

FILE = os.path.join(os.path.dirname(__file__), '..', 'libs', 'kernels', 'nn',
                    'testdata', 'tensorflow_top_k.txt')
HEADER = """\
# Columns that TopKV2 of TensorFlow %s returns with sorted=false on a CPU;
# written by tools/tensorflow_top_k.py.
#
#   TYPE INDEX_TYPE ROWS COLUMNS K RANGE SEED SPECIALS: INDEX...
#
# Up to 32 indices, or "#" and the 64-bit FNV-1a hash of all of them, 8 bytes
# each, the lowest first.
#
# With x = x * 6364136223846793005 + 1442695040888963407 (64 bits, from SEED on)
# the input is (x >> 33) %% RANGE for each x, less RANGE / 2 for signed types.
# With SPECIALS the numbers 0 to 4 stand for NaN, infinity, -infinity, -0 and 0
# instead.
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
INDEX_TYPES = {'int16': tf.int16, 'int32': tf.int32, 'int64': tf.int64}
SPECIALS = [np.nan, np.inf, -np.inf, -0.0, 0.0]
WORD = (1 << 64) - 1


def numbers(seed, count):
  x = seed
  for _ in range(count):
    x = (x * 6364136223846793005 + 1442695040888963407) & WORD
    yield x >> 33


def make_input(name, rows, columns, limit, seed, specials):
  values = [x % limit for x in numbers(seed, rows * columns)]
  if not name.startswith('uint'):
    shift = limit // 2
    values = [SPECIALS[x] if specials and x < 5 else x - shift for x in values]
  return np.array(values).astype(TYPES[name]).reshape(rows, columns)


def indices_of(x, k, index_type):
  with tf.device('cpu:0'):
    values, indices = gen_nn_ops.top_kv2(
        tf.constant(x), k, sorted=False, index_type=INDEX_TYPES[index_type])
  indices = indices.numpy().astype(np.int64)
  expected = np.take_along_axis(x, indices, axis=1)
  assert values.numpy().tobytes() == expected.tobytes()
  return indices.reshape(-1)


def notation(indices):
  if len(indices) <= 32:
    return ' '.join(str(i) for i in indices)
  value = 0xcbf29ce484222325
  for byte in indices.astype('<i8').tobytes():
    value = ((value ^ byte) * 0x100000001b3) & WORD
  return '#%016x' % value


def cases():
  rng = random.Random(7)
  sizes = list(range(1, 18)) + [31, 32, 33, 100, 127, 500, 1000, 2000]
  for columns in sizes:
    wanted = {1, 2, 3, columns // 2, columns - 1, columns,
              rng.randint(1, columns)}
    for k in sorted(k for k in wanted if 1 <= k <= columns):
      names = ['float', rng.choice(list(TYPES)), rng.choice(list(TYPES))]
      for name in sorted(set(names)):
        for specials in ((0, 1) if name in FLOATS and k > 1 else (0,)):
          yield (name, rng.choice(list(INDEX_TYPES)), rng.choice([1, 1, 3]),
                 columns, k, rng.choice([7, 20, 120]),
                 rng.randrange(1 << 16), specials)


def main():
  lines = []
  for case in cases():
    name, index_type, rows, columns, k, limit, seed, specials = case
    x = make_input(name, rows, columns, limit, seed, specials)
    text = notation(indices_of(x, k, index_type))
    lines.append('%s: %s' % (' '.join(str(part) for part in case), text))
  os.makedirs(os.path.dirname(FILE), exist_ok=True)
  with open(FILE, 'w', encoding='utf-8') as new:
    new.write(HEADER % tf.__version__ + '\n' + '\n'.join(lines) + '\n')


if __name__ == '__main__':
  main()
