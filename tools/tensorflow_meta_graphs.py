#!/usr/bin/env python3
"""Writes checkpoints with TensorFlow, and their MetaGraphDefs.

  python3 tools/tensorflow_meta_graphs.py

Writes integration_tests/testdata/meta_graph, whose README lists the contents.
integration_tests/checkpoints/meta_graph_test.cc reads them.

Needs a Python with TensorFlow 2.21.
"""
import json
import os

os.environ['TF_ENABLE_ONEDNN_OPTS'] = '0'
os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'

# pylint: disable=wrong-import-position
from google.protobuf import any_pb2
import numpy as np
import tensorflow as tf
from tensorflow.core.protobuf import meta_graph_pb2
from tensorflow.core.protobuf import saver_pb2

v1 = tf.compat.v1
FOLDER = os.path.join(os.path.dirname(__file__), '..', 'integration_tests',
                      'testdata', 'meta_graph')
ROWS = np.arange(12, dtype=np.float32).reshape(4, 3) / 8
LABELS = np.array([[1, 0], [0, 1], [1, 1], [0, 0]], np.float32)


def values(*shape):
  count = int(np.prod(shape))
  return (np.arange(count, dtype=np.float32).reshape(shape) - 3) / 16


def variable(name, shape, **kwargs):
  # Each part of a partitioned variable gets the first values.
  def init(part, **_):
    return tf.constant(values(*part))
  return v1.get_variable(name, shape, initializer=init, **kwargs)


def build_model():
  """A linear model with variables of both kinds, one of them partitioned."""
  x = v1.placeholder(tf.float32, [None, 3], name='x')
  labels = v1.placeholder(tf.float32, [None, 2], name='labels')
  w = variable('w', [3, 2], use_resource=False,
               regularizer=lambda v: 0.01 * tf.nn.l2_loss(v))
  b = variable('b', [2], use_resource=True)
  table = variable('table', [5, 2], use_resource=False,
                   partitioner=v1.fixed_size_partitioner(2))
  y = tf.add(tf.matmul(x, w) + b, tf.reduce_sum(tf.convert_to_tensor(table), 0), name='y')
  v1.losses.mean_squared_error(labels, y)
  step = v1.train.get_or_create_global_step()
  train = v1.train.MomentumOptimizer(0.1, 0.9).minimize(
      v1.losses.get_total_loss(name='total'), global_step=step, name='train')
  average = tf.train.ExponentialMovingAverage(0.5)
  with tf.control_dependencies([train]):
    averages = average.apply([w])
  v1.add_to_collection(v1.GraphKeys.MODEL_VARIABLES, w)
  v1.add_to_collection(v1.GraphKeys.TRAIN_OP, averages)
  v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, y)
  v1.get_variable('seen', [], trainable=False, collections=[
      v1.GraphKeys.LOCAL_VARIABLES, v1.GraphKeys.METRIC_VARIABLES])
  return y


def build_flow(y):
  """A cond, a loop and a queue with its runner."""
  total = tf.reduce_sum(y)
  v1.cond(total > 0, lambda: total * 2, lambda: total - 1, name='choice')
  v1.while_loop(lambda i, s: i < 3, lambda i, s: (i + 1, s + total),
                [tf.constant(0), tf.constant(0.0)], name='loop')
  queue = v1.FIFOQueue(8, [tf.float32], [[]], name='queue')
  runner = v1.train.QueueRunner(queue, [queue.enqueue(total, name='put')])
  v1.train.add_queue_runner(runner)


def add_other_collections():
  for number in 3, 2**40:
    v1.add_to_collection('some_numbers', number)
  v1.add_to_collection('some_fractions', 0.375)
  v1.add_to_collection('some_bytes', b'a\xff\x00b')
  message = any_pb2.Any()
  message.Pack(saver_pb2.SaverDef(max_to_keep=9))
  v1.add_to_collection('some_messages', message)


def save(name, **kwargs):
  """Trains three steps, saves, and records the values before and after."""
  with tf.Graph().as_default() as graph, v1.Session(graph=graph) as session:
    build_flow(build_model())
    add_other_collections()
    saver = v1.train.Saver(**kwargs)
    v1.add_to_collection(v1.GraphKeys.SAVERS, saver)
    session.run([v1.global_variables_initializer(),
                 v1.local_variables_initializer()])
    feeds = {'x:0': ROWS, 'labels:0': LABELS}
    train = v1.get_collection(v1.GraphKeys.TRAIN_OP)[-1]
    for _ in range(3):
      session.run(train, feeds)
    saver.save(session, os.path.join(FOLDER, name), global_step=3,
               write_state=False)
    tensors = ['y:0', 'total:0', 'choice/Merge:0', 'loop/Exit_1:0']
    rounds = []
    for _ in range(2):
      found = session.run(tensors, feeds)
      rounds.append([np.ravel(value).tolist() for value in found])
      session.run(train, feeds)
    return {'tensors': tensors, 'rounds': rounds}


def add_signatures():
  """Adds the signatures that exporters of models add to a MetaGraphDef."""
  meta = meta_graph_pb2.MetaGraphDef()
  with open(os.path.join(FOLDER, 'whole-3.meta'), 'rb') as file:
    meta.ParseFromString(file.read())
  meta.meta_info_def.tags.extend(['serve', 'train'])
  meta.meta_info_def.function_aliases['f'] = 'g'
  signature = meta.signature_def['serving_default']
  signature.inputs['rows'].name = 'x:0'
  signature.outputs['scores'].name = 'y:0'
  signature.method_name = 'tensorflow/serving/predict'
  asset = meta.asset_file_def.add(filename='vocabulary.txt')
  asset.tensor_info.name = 'x:0'
  meta.object_graph_def.nodes.add()
  with open(os.path.join(FOLDER, 'signatures.meta'), 'wb') as file:
    file.write(meta.SerializeToString(deterministic=True))


def main():
  v1.disable_eager_execution()
  v1.disable_control_flow_v2()
  expected = {
      'tensorflow_version': tf.__version__,
      'x': ROWS.ravel().tolist(),
      'labels': LABELS.ravel().tolist(),
      'whole': save('whole', max_to_keep=7, keep_checkpoint_every_n_hours=2.5),
      'sharded': save('sharded', sharded=True),
  }
  with open(os.path.join(FOLDER, 'expected.json'), 'w') as file:
    json.dump(expected, file, indent=1)
    file.write('\n')
  add_signatures()


if __name__ == '__main__':
  main()
