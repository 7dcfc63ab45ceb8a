#!/usr/bin/env python3
"""TensorFlow's side of control_flow.cc: loops and a recurrent network.

  control_flow.py [--steps N] [--seconds S]

Needs a Python with TensorFlow. Runs in this process, with sessions and loops of
frames (tf.while_loop without v2 control flow). Prints one JSON object on the
last line. control_flow.cc describes the metrics.
"""
import argparse
import json
import os
import statistics

import tensorflow_timing

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '-1')

_WARMUP = 5
_BATCH, _LENGTH, _CHARACTERS, _UNITS = 16, 32, 64, 128


def _parse():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('--steps', type=int, default=200,
                      help='steps to time for each metric, at most')
  parser.add_argument('--seconds', type=float, default=5.0,
                      help='time limit of each measurement')
  return parser.parse_args()


def _counter(tf):
  """i = 0; while (i < 10000) i = i + 1."""
  last = tf.while_loop(lambda i: i < 10000, lambda i: i + 1, [0])
  session = tf.Session()
  return session.make_callable(last)


def _gradient(tf):
  """x = tanh(x * w), 1000 times, with its gradients."""
  x = tf.zeros([16])
  w = tf.fill([16], 0.5)
  last = tf.while_loop(lambda i, v: i < 1000,
                       lambda i, v: (i + 1, tf.tanh(v * w)), [0, x])
  session = tf.Session()
  return session.make_callable(tf.gradients(last[1], [x, w]))


def _lstm(tf, inputs):
  """Applies BasicLSTMCell to all characters, unrolled like dynamic_rnn.

  One TensorArray holds the inputs, another one the outputs.
  """
  kernel = tf.get_variable('kernel', [_CHARACTERS + _UNITS, 4 * _UNITS])
  bias = tf.get_variable('bias', [4 * _UNITS],
                         initializer=tf.zeros_initializer())
  rows = tf.TensorArray(tf.float32, _LENGTH).unstack(
      tf.transpose(inputs, [1, 0, 2]))
  outputs = tf.TensorArray(tf.float32, _LENGTH)

  def body(i, c, h, outputs):
    gates = tf.matmul(tf.concat([rows.read(i), h], 1), kernel)
    gates = tf.nn.bias_add(gates, bias)
    new, candidate, forget, out = tf.split(gates, 4, axis=1)
    c = c * tf.sigmoid(forget + 1.0) + tf.sigmoid(new) * tf.tanh(candidate)
    h = tf.tanh(c) * tf.sigmoid(out)
    return i + 1, c, h, outputs.write(i, h)

  zeros = tf.zeros([_BATCH, _UNITS])
  last = tf.while_loop(lambda i, *_: i < _LENGTH, body,
                       [0, zeros, zeros, outputs], parallel_iterations=32)
  return tf.transpose(last[3].stack(), [1, 0, 2])


def _char_rnn(tf, np):
  fed = tf.placeholder(tf.int32, [_BATCH, _LENGTH])
  outputs = _lstm(tf, tf.one_hot(fed, _CHARACTERS))
  w = tf.get_variable('w', [_UNITS, _CHARACTERS])
  logits = tf.matmul(tf.reshape(outputs, [-1, _UNITS]), w)
  loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
      labels=tf.reshape(fed, [-1]), logits=logits))
  train = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
  session = tf.Session()
  session.run(tf.global_variables_initializer())
  step = session.make_callable([loss, train], feed_list=[fed])
  characters = (np.arange(_BATCH * _LENGTH, dtype=np.int32) * 7 %
                _CHARACTERS).reshape(_BATCH, _LENGTH)
  return lambda: step(characters)


def main():
  options = _parse()
  import numpy as np
  import tensorflow.compat.v1 as tf
  tf.disable_v2_behavior()
  results = {}

  def measure(name, make):
    with tf.Graph().as_default():
      tf.set_random_seed(1)
      times = tensorflow_timing.times_of(make(), _WARMUP, options.steps,
                                         options.seconds)
    median = statistics.median(times)
    results[name] = {'median': median * 1e6, 'unit': 'us'}
    return len(times) / sum(times)

  measure('while_10000', lambda: _counter(tf))
  measure('while_gradient_1000', lambda: _gradient(tf))
  rate = measure('char_rnn_step', lambda: _char_rnn(tf, np))
  results['char_rnn_rate'] = {'median': rate, 'unit': 'steps/s'}
  print(json.dumps({'workload': 'control_flow', 'tf': tf.__version__,
                    'params': {'steps': options.steps,
                               'seconds': options.seconds},
                    'results': results}))


if __name__ == '__main__':
  main()
