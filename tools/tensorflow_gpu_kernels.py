#!/usr/bin/env python3
"""Records which of Weft's ops TensorFlow runs on a GPU, and for which types.

  python3 tools/tensorflow_gpu_kernels.py

Writes libs/kernels/tensorflow_gpu_kernels.cc, and tensorflow_gpu_memory.cc,
which lists their arguments in host memory, for the ops of
integration_tests/testdata/tensorflow_signatures.txt. Needs a Python with
TensorFlow 2.21 built for CUDA, but no GPU. Types that Weft lacks are left out.
"""
import collections
import os
import subprocess
import textwrap

import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.python.framework import kernels
from tensorflow.python.framework import op_def_registry

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
SIGNATURES = 'integration_tests/testdata/tensorflow_signatures.txt'
FILE = 'libs/kernels/tensorflow_gpu_kernels.cc'
TYPES = ('half bfloat16 float double int8 int16 int32 int64 uint8 uint16 uint32 '
         'uint64 bool complex64 complex128 string resource variant').split()
TEXT = """\
// Written by tools/tensorflow_gpu_kernels.py, from TensorFlow %s.
#include "libs/kernels/tensorflow_gpu_kernels.h"

namespace weft {
namespace {

constexpr TensorFlowGpuKernels kKernels[] = {
%s};

}  // namespace

absl::Span<const TensorFlowGpuKernels> AllTensorFlowGpuKernels() {
  return kKernels;
}

}  // namespace weft
"""

MEMORY_FILE = 'libs/kernels/tensorflow_gpu_memory.cc'
MEMORY_TEXT = """\
// Written by tools/tensorflow_gpu_kernels.py, from TensorFlow %s.
#include "libs/kernels/tensorflow_gpu_memory.h"

namespace weft {
namespace {

constexpr TensorFlowGpuMemory kMemory[] = {
%s};

}  // namespace

absl::Span<const TensorFlowGpuMemory> AllTensorFlowGpuMemory() {
  return kMemory;
}

}  // namespace weft
"""
NO_BYTES = {'string', 'resource', 'variant'}


def type_name(number):
  return types_pb2.DataType.Name(number)[len('DT_'):].lower()


def allowed_types(op):
  """Returns {attr: types}; an attr that is not listed allows any type."""
  return {attr.name: {type_name(t) for t in attr.allowed_values.list.type}
          for attr in op_def_registry.get(op).attr
          if attr.allowed_values.list.type}


def constraints(op, defs):
  """Returns {attr: types} of all kernels of an op together."""
  allowed = allowed_types(op)
  attrs = {c.name for kernel in defs for c in kernel.constraint
           if c.allowed_values.list.type}
  result = {}
  for attr in attrs:
    types = set()
    for kernel in defs:
      own = [c for c in kernel.constraint if c.name == attr]
      listed = own[0].allowed_values.list.type if own else []
      # A kernel that does not name the attribute takes every type.
      listed = {type_name(t) for t in listed}
      # Kernels of Prod accept Tidx uint64, which no node can have.
      listed &= allowed.get(attr, listed)
      types |= listed if own else set(TYPES)
    result[attr] = ' '.join(t for t in TYPES if t in types)
  every = ' '.join(TYPES)
  return {a: t for a, t in result.items() if t != every} or {'': ''}


def gpu_kernels():
  """Returns {op: its kernels}, with kernels for DEFAULT, which run on GPUs."""
  result = collections.defaultdict(list)
  for kernel in kernels.get_all_registered_kernels().kernel:
    if kernel.device_type in ('GPU', 'DEFAULT') and not kernel.label:
      result[kernel.op].append(kernel)
  return result


def cpp(attr, types, ops):
  lines = textwrap.wrap(' '.join(ops), 70, break_long_words=False)
  literals = ['"%s%s"' % (line, ' ' if line != lines[-1] else '')
              for line in lines]
  types = textwrap.wrap(types, 66) or ['']
  types = ['"%s%s"' % (line, ' ' if line != types[-1] else '')
           for line in types]
  return '{"%s",\n%s,\n%s},\n' % (attr, '\n'.join(types), '\n'.join(literals))


def data_attr(op):
  """Returns the attr with the type of most arguments, or ''."""
  definition = op_def_registry.get(op)
  if any(attr.name == 'T' for attr in definition.attr):
    return 'T'
  counts = collections.Counter(
      arg.type_attr
      for arg in list(definition.input_arg) + list(definition.output_arg)
      if arg.type_attr)
  first = next((a.type_attr for a in definition.input_arg if a.type_attr), '')
  return first or (counts.most_common(1)[0][0] if counts else '')


def memory(op, defs):
  """Returns (attr, its types with all on the host, the arguments otherwise)."""
  definition = op_def_registry.get(op)
  arguments = {a.name for a in list(definition.input_arg) +
               list(definition.output_arg)}
  attr = data_attr(op)
  whole, names, anywhere = set(), set(), False
  for kernel in defs:
    host = set(kernel.host_memory_arg)
    lists = [{type_name(t) for t in c.allowed_values.list.type}
             for c in kernel.constraint]
    if any(types and types <= NO_BYTES for types in lists):
      continue  # its type is always in host memory
    own = [c for c in kernel.constraint if c.name == attr]
    types = {type_name(t) for c in own for t in c.allowed_values.list.type}
    if arguments and arguments == host and (own or not attr):
      whole |= types
      anywhere |= not attr
    elif types != {'int32'}:
      names |= host
  if anywhere:
    return '', '', '*'
  whole = ' '.join(t for t in TYPES if t in whole - NO_BYTES)
  return (attr if whole else ''), whole, ' '.join(
      a for a in sorted(names))


def write(name, text):
  path = os.path.join(ROOT, name)
  with open(path, 'w', encoding='utf-8') as out:
    out.write(text)
  subprocess.run(['clang-format-14', '-i', path], check=True)


def main():
  if not tf.test.is_built_with_cuda():
    raise SystemExit('this TensorFlow was built without CUDA')
  with open(os.path.join(ROOT, SIGNATURES), encoding='utf-8') as signatures:
    ops = [line.split()[1] for line in signatures if line.startswith('op ')]
  found = gpu_kernels()
  groups = collections.defaultdict(list)
  for op in ops:
    if op not in found:
      continue
    for attr, types in sorted(constraints(op, found[op]).items()):
      groups[attr, types].append(op)
  rows = ''.join(cpp(attr, types, names)
                 for (attr, types), names in sorted(groups.items()))
  write(FILE, TEXT % (tf.__version__, rows))
  rows = [(op,) + memory(op, found[op]) for op in ops if op in found]
  write(MEMORY_FILE, MEMORY_TEXT % (tf.__version__, ''.join(
      '{%s},\n' % ', '.join('"%s"' % text for text in row)
      for row in rows if any(row[1:]))))


if __name__ == '__main__':
  main()
