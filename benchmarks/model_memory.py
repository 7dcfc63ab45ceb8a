#!/usr/bin/env python3
"""TensorFlow's side of NAME_peak in models.cc: memory of training.

  model_memory.py --only NAME [--steps N]

Needs a Python with TensorFlow. Imports model_graphs/NAME.pb. Prints one JSON
object on the last line: the peak growth of this process in MiB, from before the
session to the last step.
"""
import argparse
import json
import os

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '-1')

_GRAPHS = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                       'model_graphs')


def _parse():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--only', required=True, help='name of the model')
  parser.add_argument('--steps', type=int, default=20)
  return parser.parse_args()


def _kibibytes(key):
  """Returns a field of /proc/self/status (man 5 proc) in KiB."""
  with open('/proc/self/status', encoding='ascii') as status:
    return next(int(line.split()[1]) for line in status
                if line.startswith(key + ':'))


def _reset_peak():
  with open('/proc/self/clear_refs', 'w', encoding='ascii') as clear:
    clear.write('5\n')


def main():
  options = _parse()
  import tensorflow.compat.v1 as tf
  tf.disable_v2_behavior()
  graph = tf.GraphDef()
  with open(os.path.join(_GRAPHS, options.only + '.pb'), 'rb') as file:
    graph.ParseFromString(file.read())
  tf.import_graph_def(graph, name='')
  _reset_peak()
  before = _kibibytes('VmRSS')
  with tf.Session() as session:
    session.run('init_all')
    for _ in range(5 + options.steps):
      session.run(['loss:0', 'train'])
    peak = _kibibytes('VmHWM')
  print(json.dumps({
      'workload': 'memory', 'tf': tf.__version__,
      'params': {'steps': options.steps, 'only': options.only},
      'results': {options.only + '_peak': {
          'median': (peak - before) / 1024, 'unit': 'MiB'}}}))


if __name__ == '__main__':
  main()
