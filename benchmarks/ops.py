#!/usr/bin/env python3
"""TensorFlow's side of ops.cc: single ops on one core or on all.

  ops.py [--only REGEX] [--seconds S] [--all_cores]

Needs a Python with TensorFlow. Reads ops_cases.json beside this file, whose
format benchmarks/kernels/ops_cases.h describes. Prints one JSON object on the
last line. Graph optimizers are off, as on Weft's side: each copy of an op runs.
"""
import argparse
import json
import os
import re

import tensorflow_timing

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '-1')

_CASES = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      'ops_cases.json')
_WARMUP = 2


def _parse():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--only', default='', metavar='REGEX')
  parser.add_argument('--seconds', type=float, default=0.2,
                      help='time limit of each case')
  parser.add_argument('--all_cores', action='store_true',
                      help='use all cores of the machine for an op')
  parser.add_argument('--steps', type=int, default=1000,
                      help='steps to time of each case, at most')
  return parser.parse_args()


def _use_cores(flags):
  """Returns how many; must be called before TensorFlow creates threads."""
  if not flags.all_cores:
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
  return len(os.sched_getaffinity(0))


class _Builder:
  """The graph of one case, in TensorFlow."""

  def __init__(self, tf, np):
    from tensorflow.python.framework import op_def_library
    self._tf, self._np, self._op_def_library = tf, np, op_def_library
    self._random = np.random.RandomState(7)
    self.initializers = []

  def _value(self, spec):
    """Returns an input that is not a variable, as a numpy array."""
    dtype = self._tf.as_dtype(spec['dtype']).as_numpy_dtype
    if 'value' in spec:
      return self._np.array(spec['value'], dtype)
    if 'values' in spec:
      return self._np.array(spec['values'], dtype)
    if 'below' in spec:
      return self._random.randint(
          spec['below'], size=spec['shape']).astype(dtype)
    return self._random.uniform(-1, 1, spec['shape']).astype(dtype)

  def _input(self, spec):
    tf = self._tf
    if isinstance(spec, list):
      return [self._input(one) for one in spec]
    if not spec.get('variable'):
      return tf.constant(self._value(spec))
    dtype = tf.as_dtype(spec['dtype'])
    variable = tf.raw_ops.VariableV2(shape=spec['shape'], dtype=dtype)
    ones = tf.ones(spec['shape'], dtype)
    self.initializers.append(tf.raw_ops.Assign(ref=variable, value=ones).op)
    return variable

  def _reader(self, result):
    """Returns an op that waits for a copy; as in Weft, it reads an output."""
    tf = self._tf
    if isinstance(result, tf.Operation):
      return result
    first = tf.nest.flatten(result)[0]
    is_ref = first.dtype._is_ref_dtype  # pylint: disable=protected-access
    return first.op if is_ref else tf.identity(first).op

  def build(self, case, op_def):
    """Returns the last of the copies, which run one after the other."""
    tf = self._tf
    # None selects the default.
    arguments = {attr.name: None for attr in op_def.attr
                 if attr.HasField('default_value')}
    for arg, spec in zip(op_def.input_arg, case['inputs']):
      arguments[arg.name] = self._input(spec)
      arguments.pop(arg.type_attr, None)
    for name, value in case.get('attrs', {}).items():
      is_type = isinstance(value, dict)
      arguments[name] = tf.as_dtype(value['type']) if is_type else value
    last = None
    for _ in range(case['repeat']):
      with tf.control_dependencies([last] if last is not None else []):
        result = self._op_def_library.apply_op(case['op'], **arguments)
      last = self._reader(result)
    return last


def _config(tf, cores):
  config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=cores,
                                    inter_op_parallelism_threads=1)
  options = config.graph_options
  options.optimizer_options.opt_level = -1
  options.rewrite_options.disable_meta_optimizer = True
  return config


def _microseconds_of(tf, np, op_def, case, flags, cores):
  builder = _Builder(tf, np)
  with tf.Graph().as_default() as graph:
    last = builder.build(case, op_def)
    with tf.compat.v1.Session(graph=graph,
                              config=_config(tf, cores)) as session:
      session.run(builder.initializers)
      step = session.make_callable(last)
      median = tensorflow_timing.median_of(step, _WARMUP, flags.steps,
                                           flags.seconds)
      return median * 1e6 / case['repeat']


def main():
  flags = _parse()
  cores = _use_cores(flags)
  import numpy as np
  import tensorflow as tf
  from tensorflow.python.framework import op_def_registry
  tf.compat.v1.disable_v2_behavior()
  with open(_CASES, encoding='utf-8') as file:
    cases = json.load(file)
  results = {}
  for case in cases:
    if re.search(flags.only, case['name']):
      figure = _microseconds_of(tf, np, op_def_registry.get(case['op']), case,
                                flags, cores)
      print('%-44s %12.3f us' % (case['name'], figure), flush=True)
      results[case['name']] = {'median': figure, 'unit': 'us'}
  print(json.dumps({'workload': 'ops', 'tf': tf.__version__,
                    'params': {'cores': cores, 'seconds': flags.seconds},
                    'results': results}))


if __name__ == '__main__':
  main()
