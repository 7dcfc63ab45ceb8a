#!/usr/bin/env python3
"""Training steps of more models of the same kinds as those of `models`.

more_models.py --graphs DIR [--only NAMES] writes each as DIR/NAME.pb, which
`models --graphs=DIR --only=NAMES` trains. Without --graphs, TensorFlow trains
them here in the same way: the median of --steps steps after five warm-up steps.
Each model generates its own random input, and has a node `loss`, a target
`train` and a target `init_all`. Needs a Python with TensorFlow; prints one JSON
object on the last line.
"""
import argparse
import json
import os

os.environ.setdefault('TF_CPP_MIN_LOG_LEVEL', '3')
os.environ.setdefault('CUDA_VISIBLE_DEVICES', '-1')

import tensorflow_timing

_MODELS = {}
_WARMUP = 5


def _model(build):
  _MODELS[build.__name__] = build
  return build


def _get(tf, name, shape, initializer):
  return tf.get_variable(name, shape, initializer=initializer,
                         use_resource=False)


def _variable(tf, name, shape, stddev=0.05):
  return _get(tf, name, shape,
              tf.truncated_normal_initializer(stddev=stddev, seed=1))


def _zeros(tf, name, size):
  return _get(tf, name, [size], tf.zeros_initializer())


def _ones(tf, name, size):
  return _get(tf, name, [size], tf.ones_initializer())


def _conv(tf, x, name, size, filters, stride=1):
  kernel = _variable(tf, name, [size, size, int(x.shape[-1]), filters])
  return tf.nn.conv2d(x, kernel, strides=[1, stride, stride, 1],
                      padding='SAME')


def _bias(tf, x, name):
  return tf.nn.bias_add(x, _zeros(tf, name, int(x.shape[-1])))


def _conv_relu(tf, x, name, size, filters, stride=1):
  return tf.nn.relu(
      _bias(tf, _conv(tf, x, name, size, filters, stride), name + '_bias'))


def _dense(tf, x, name, units):
  kernel = _variable(tf, name, [int(x.shape[1]), units])
  return _bias(tf, tf.matmul(x, kernel), name + '_bias')


def _batch_norm(tf, x, name):
  size = int(x.shape[-1])
  return tf.nn.fused_batch_norm(x, _ones(tf, name + '_scale', size),
                                _zeros(tf, name + '_offset', size),
                                is_training=True)[0]


def _layer_norm(tf, x, name):
  mean, variance = tf.nn.moments(x, [-1], keep_dims=True)
  size = int(x.shape[-1])
  return ((x - mean) * tf.rsqrt(variance + 1e-6) *
          _ones(tf, name + '_scale', size) + _zeros(tf, name + '_offset', size))


def _labels(tf, shape, classes):
  return tf.random_uniform(shape, 0, classes, tf.int32, seed=4)


def _classify(tf, logits, labels):
  return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(
      labels=labels, logits=logits))


def _decide(tf, logits):
  wanted = tf.cast(_labels(tf, logits.shape, 2), tf.float32)
  return tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(
      labels=wanted, logits=logits))


class _Clipped:
  """An optimizer that clips the global norm of the gradients."""

  def __init__(self, tf, optimizer):
    self._tf, self._optimizer = tf, optimizer

  def minimize(self, loss, name):
    pairs = self._optimizer.compute_gradients(loss)
    clipped, _ = self._tf.clip_by_global_norm([g for g, _ in pairs], 1.0)
    return self._optimizer.apply_gradients(
        list(zip(clipped, [v for _, v in pairs])), name=name)


@_model
def vgg(tf):
  h = tf.random_normal([32, 32, 32, 3], seed=3)
  for i, filters in enumerate((32, 64, 128)):
    for j in 'ab':
      h = _conv_relu(tf, h, f'conv{i}{j}', 3, filters)
    h = tf.nn.max_pool(h, 2, 2, 'VALID')
  h = tf.reshape(h, [32, 4 * 4 * 128])
  h = tf.nn.dropout(tf.nn.relu(_dense(tf, h, 'full1', 256)), rate=0.5, seed=9)
  return (_classify(tf, _dense(tf, h, 'full2', 10), _labels(tf, [32], 10)),
          tf.train.AdamOptimizer(1e-3))


@_model
def mobilenet(tf):
  h = tf.random_normal([32, 32, 32, 3], seed=3)
  h = tf.nn.relu6(_batch_norm(tf, _conv(tf, h, 'stem', 3, 32), 'stem'))
  sizes = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1))
  for i, (filters, stride) in enumerate(sizes):
    kernel = _variable(tf, f'depth{i}', [3, 3, int(h.shape[-1]), 1])
    h = tf.nn.depthwise_conv2d(h, kernel, [1, stride, stride, 1], 'SAME')
    h = tf.nn.relu6(_batch_norm(tf, h, f'depth{i}'))
    h = _conv(tf, h, f'point{i}', 1, filters)
    h = tf.nn.relu6(_batch_norm(tf, h, f'point{i}'))
  logits = _dense(tf, tf.reduce_mean(h, [1, 2]), 'full', 10)
  return (_classify(tf, logits, _labels(tf, [32], 10)),
          tf.train.RMSPropOptimizer(1e-3, momentum=0.9))


@_model
def inception(tf):
  h = _conv_relu(tf, tf.random_normal([16, 48, 48, 3], seed=3), 'stem', 7, 32,
                 2)
  h = tf.nn.max_pool(h, 3, 2, 'SAME')
  h = tf.nn.lrn(h, 4, bias=1.0, alpha=0.001 / 9.0, beta=0.75)
  for i in range(3):
    name = f'block{i}_'
    ones = _conv_relu(tf, h, name + 'ones', 1, 32)
    threes = _conv_relu(tf, h, name + 'threes0', 1, 32)
    threes = _conv_relu(tf, threes, name + 'threes1', 3, 64)
    fives = _conv_relu(tf, h, name + 'fives0', 1, 8)
    fives = _conv_relu(tf, fives, name + 'fives1', 5, 16)
    pooled = tf.nn.max_pool(h, 3, 1, 'SAME')
    pooled = _conv_relu(tf, pooled, name + 'pooled', 1, 16)
    h = tf.concat([ones, threes, fives, pooled], 3)
  h = tf.reshape(tf.nn.avg_pool(h, 6, 6, 'SAME'), [16, 2 * 2 * 128])
  return (_classify(tf, _dense(tf, h, 'full', 10), _labels(tf, [16], 10)),
          tf.train.MomentumOptimizer(0.01, 0.9, use_nesterov=True))


@_model
def gru(tf):
  batch, steps, depth, units = 64, 30, 100, 256
  x = tf.random_normal([steps, batch, depth], seed=3)
  gates = _variable(tf, 'gates', [depth + units, 2 * units])
  gates_bias = _ones(tf, 'gates_bias', 2 * units)
  new = _variable(tf, 'new', [depth + units, units])
  new_bias = _zeros(tf, 'new_bias', units)

  def step(i, h):
    both = tf.nn.bias_add(tf.matmul(tf.concat([x[i], h], 1), gates), gates_bias)
    r, u = tf.split(tf.sigmoid(both), 2, 1)
    c = tf.matmul(tf.concat([x[i], r * h], 1), new)
    return i + 1, u * h + (1 - u) * tf.tanh(tf.nn.bias_add(c, new_bias))

  _, h = tf.while_loop(lambda i, h: i < steps, step,
                       [tf.constant(0), tf.zeros([batch, units])])
  return (_classify(tf, _dense(tf, h, 'full', 10), _labels(tf, [batch], 10)),
          _Clipped(tf, tf.train.GradientDescentOptimizer(0.1)))


@_model
def unrolled_lstm(tf):
  batch, steps, units, words = 20, 20, 200, 10000
  ids = tf.random_uniform([batch, steps + 1], 0, words, tf.int32, seed=5)
  x = tf.nn.embedding_lookup(_variable(tf, 'embedding', [words, units]),
                             ids[:, :steps])
  x = tf.nn.dropout(x, rate=0.25, seed=2)
  layers = [(_variable(tf, f'kernel{i}', [2 * units, 4 * units]),
             _zeros(tf, f'bias{i}', 4 * units)) for i in range(2)]
  states = [(tf.zeros([batch, units]), tf.zeros([batch, units]))] * 2
  outputs = []
  for step in range(steps):
    h = x[:, step, :]
    for i, (kernel, bias) in enumerate(layers):
      before, c = states[i]
      gates = tf.matmul(tf.concat([h, before], 1), kernel)
      i_gate, new, f_gate, o_gate = tf.split(tf.nn.bias_add(gates, bias), 4, 1)
      c = c * tf.sigmoid(f_gate + 1.0) + tf.sigmoid(i_gate) * tf.tanh(new)
      h = tf.tanh(c) * tf.sigmoid(o_gate)
      states[i] = (h, c)
    outputs.append(h)
  h = tf.reshape(tf.stack(outputs, 1), [batch * steps, units])
  return (_classify(tf, _dense(tf, h, 'words', words),
                    tf.reshape(ids[:, 1:], [-1])),
          _Clipped(tf, tf.train.GradientDescentOptimizer(1.0)))


@_model
def text_convolution(tf):
  batch, words, depth = 64, 60, 128
  ids = tf.random_uniform([batch, words], 0, 20000, tf.int32, seed=5)
  x = tf.nn.embedding_lookup(_variable(tf, 'embedding', [20000, depth]), ids)
  pooled = []
  for size in (3, 4, 5):
    kernel = _variable(tf, f'kernel{size}', [size, depth, 1, 100])
    h = tf.nn.conv2d(tf.expand_dims(x, -1), kernel, [1, 1, 1, 1], 'VALID')
    h = tf.nn.relu(_bias(tf, h, f'bias{size}'))
    pooled.append(tf.nn.max_pool(h, [1, words - size + 1, 1, 1], [1, 1, 1, 1],
                                 'VALID'))
  h = tf.nn.dropout(tf.reshape(tf.concat(pooled, 3), [batch, 300]), rate=0.5,
                    seed=2)
  return (_classify(tf, _dense(tf, h, 'full', 2), _labels(tf, [batch], 2)),
          tf.train.AdamOptimizer(1e-3))


def _attention(tf, x, name, batch, steps, heads):
  depth = int(x.shape[1]) // heads
  def divide(y):
    return tf.transpose(tf.reshape(y, [batch, steps, heads, depth]),
                        [0, 2, 1, 3])
  q, k, v = [divide(y) for y in tf.split(
      _dense(tf, x, name + '_in', 3 * heads * depth), 3, 1)]
  later = 1.0 - tf.linalg.band_part(tf.ones([steps, steps]), -1, 0)
  scores = tf.matmul(q, k, transpose_b=True) * depth ** -0.5 - later * 1e9
  weights = tf.nn.dropout(tf.nn.softmax(scores), rate=0.1, seed=6)
  y = tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3])
  return _dense(tf, tf.reshape(y, [batch * steps, heads * depth]),
                name + '_out', heads * depth)


@_model
def transformer(tf):
  batch, steps, units, heads, words = 16, 64, 128, 4, 5000
  ids = tf.random_uniform([batch, steps + 1], 0, words, tf.int32, seed=5)
  h = tf.nn.embedding_lookup(_variable(tf, 'embedding', [words, units]),
                             ids[:, :steps])
  h = tf.reshape(h * units ** 0.5, [batch * steps, units])
  for i in range(2):
    x = _layer_norm(tf, h, f'before{i}')
    h = h + _attention(tf, x, f'attention{i}', batch, steps, heads)
    x = _dense(tf, _layer_norm(tf, h, f'after{i}'), f'wide{i}', 4 * units)
    x = 0.5 * x * (1 + tf.tanh(0.79788456 * (x + 0.044715 * x * x * x)))
    h = h + _dense(tf, x, f'narrow{i}', units)
  logits = _dense(tf, _layer_norm(tf, h, 'last'), 'words', words)
  return (_classify(tf, logits, tf.reshape(ids[:, 1:], [-1])),
          tf.train.AdamOptimizer(1e-3))


@_model
def autoencoder(tf):
  def transposed(h, name, side, filters):
    kernel = _variable(tf, name, [3, 3, filters, int(h.shape[-1])])
    h = tf.nn.conv2d_transpose(h, kernel, [64, side, side, filters],
                               [1, 2, 2, 1])
    return _bias(tf, h, name + '_bias')

  x = tf.random_uniform([64, 28, 28, 1], seed=3)
  h = tf.nn.leaky_relu(_bias(tf, _conv(tf, x, 'conv1', 3, 32, 2), 'bias1'))
  h = tf.nn.leaky_relu(_bias(tf, _conv(tf, h, 'conv2', 3, 64, 2), 'bias2'))
  h = _dense(tf, tf.reshape(h, [64, 7 * 7 * 64]), 'code', 32)
  h = tf.nn.elu(_dense(tf, h, 'full', 7 * 7 * 64))
  h = transposed(tf.reshape(h, [64, 7, 7, 64]), 'back1', 14, 32)
  h = transposed(tf.nn.relu(h), 'back2', 28, 1)
  return (tf.reduce_mean(tf.square(tf.sigmoid(h) - x)),
          tf.train.AdamOptimizer(1e-3))


@_model
def unet(tf):
  h = tf.random_normal([8, 64, 64, 3], seed=3)
  sides = []
  for i, filters in enumerate((16, 32)):
    sides.append(_conv_relu(tf, h, f'down{i}', 3, filters))
    h = tf.nn.max_pool(sides[-1], 2, 2, 'VALID')
  h = _conv_relu(tf, h, 'bottom', 3, 64)
  for i, resize in ((1, tf.image.resize_bilinear),
                    (0, tf.image.resize_nearest_neighbor)):
    side = sides[i]
    h = tf.concat([resize(h, side.shape[1:3]), side], 3)
    h = _conv_relu(tf, h, f'up{i}', 3, int(side.shape[-1]))
  logits = tf.reshape(_conv(tf, h, 'top', 1, 2), [-1, 2])
  return (_classify(tf, logits, _labels(tf, [8 * 64 * 64], 2)),
          tf.train.AdamOptimizer(1e-3))


@_model
def factorization(tf):
  rows, columns, words, depth = 1024, 39, 100000, 10
  ids = tf.random_uniform([rows, columns], 0, words, tf.int32, seed=5)
  e = tf.nn.embedding_lookup(_variable(tf, 'embedding', [words, depth]), ids)
  linear = tf.reduce_sum(
      tf.nn.embedding_lookup(_variable(tf, 'linear', [words, 1]), ids), [1, 2])
  pairs = 0.5 * tf.reduce_sum(
      tf.square(tf.reduce_sum(e, 1)) - tf.reduce_sum(tf.square(e), 1), 1)
  h = tf.reshape(e, [rows, columns * depth])
  for i in range(3):
    h = tf.nn.relu(_dense(tf, h, f'full{i}', 400))
  deep = tf.reshape(_dense(tf, h, 'out', 1), [rows])
  return _decide(tf, linear + pairs + deep), tf.train.AdamOptimizer(1e-3)


@_model
def cross(tf):
  rows, columns = 256, 429
  x = first = tf.random_normal([rows, columns], seed=3)
  for i in range(4):
    weights = _variable(tf, f'cross{i}', [columns, 1])
    x = _bias(tf, first * tf.matmul(x, weights), f'cross{i}_bias') + x
  h = first
  for i, units in enumerate((512, 256)):
    h = _dense(tf, h, f'full{i}', units)
    mean, variance = tf.nn.moments(h, [0])
    h = tf.nn.relu(tf.nn.batch_normalization(
        h, mean, variance, _zeros(tf, f'offset{i}', units),
        _ones(tf, f'scale{i}', units), 1e-3))
  logits = _dense(tf, tf.concat([x, h], 1), 'out', 1)
  return (_decide(tf, logits),
          tf.train.FtrlOptimizer(0.05, l1_regularization_strength=1e-3))


@_model
def mlp(tf):
  h = tf.random_normal([100, 784], seed=3)
  for i, units in enumerate((1024, 512)):
    h = tf.nn.relu(_dense(tf, h, f'full{i}', units))
  return (_classify(tf, _dense(tf, h, 'out', 10), _labels(tf, [100], 10)),
          tf.train.AdamOptimizer(1e-3))


@_model
def wavenet(tf):
  batch, steps, depth = 8, 1024, 32
  h = tf.nn.conv1d(tf.random_normal([batch, steps, 1], seed=3),
                   _variable(tf, 'in', [2, 1, depth]), 1, 'SAME')
  skipped = 0
  for i in range(6):
    kernel = _variable(tf, f'dilated{i}', [2, depth, 2 * depth])
    x = tf.nn.convolution(h, kernel, padding='SAME', dilations=[2 ** i])
    value, gate = tf.split(x, 2, 2)
    y = tf.nn.conv1d(tf.tanh(value) * tf.sigmoid(gate),
                     _variable(tf, f'point{i}', [1, depth, depth]), 1, 'SAME')
    skipped = skipped + y
    h = h + y
  y = tf.nn.conv1d(tf.nn.relu(skipped), _variable(tf, 'out', [1, depth, 64]), 1,
                   'SAME')
  return (_classify(tf, tf.reshape(y, [batch * steps, 64]),
                    _labels(tf, [batch * steps], 64)),
          tf.train.AdamOptimizer(1e-3))


def _build(tf, name):
  tf.set_random_seed(7)
  loss, optimizer = _MODELS[name](tf)
  loss = tf.identity(loss, name='loss')
  train = optimizer.minimize(loss, name='train')
  init = tf.group(tf.global_variables_initializer(), name='init_all')
  return loss, train, init


def _write(graph, folder, name):
  os.makedirs(folder, exist_ok=True)
  with open(os.path.join(folder, name + '.pb'), 'wb') as file:
    file.write(graph.as_graph_def().SerializeToString())


def _measure(tf, graph, name, steps, results):
  with graph.as_default():
    loss, train, init = _build(tf, name)
  with tf.Session(graph=graph) as session:
    session.run(init)
    last = []
    median = tensorflow_timing.median_of(
        lambda: last.append(session.run([loss, train])[0]), _WARMUP, steps, 60)
  results[name + '_step'] = {'median': median * 1e3, 'unit': 'ms'}
  results[name + '_loss'] = {'median': float(last[-1]), 'unit': 'nats'}


def main():
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
  parser.add_argument('--graphs', metavar='DIR')
  parser.add_argument('--only', default=','.join(_MODELS), metavar='NAMES')
  parser.add_argument('--steps', type=int, default=60)
  flags = parser.parse_args()
  names = flags.only.split(',')
  unknown = [name for name in names if name not in _MODELS]
  if unknown:
    parser.error('no such model: ' + ', '.join(unknown))
  import tensorflow.compat.v1 as tf
  tf.disable_v2_behavior()
  tf.disable_control_flow_v2()
  results = {}
  for name in names:
    graph = tf.Graph()
    if flags.graphs is None:
      _measure(tf, graph, name, flags.steps, results)
      continue
    with graph.as_default():
      _build(tf, name)
    _write(graph, flags.graphs, name)
  if flags.graphs is None:
    print(json.dumps({'workload': 'more_models', 'tf': tf.__version__,
                      'params': {'steps': flags.steps}, 'results': results}))


if __name__ == '__main__':
  main()
