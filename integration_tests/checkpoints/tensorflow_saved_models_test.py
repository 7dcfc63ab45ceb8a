"""SavedModels from Weft to TensorFlow and back.

Weft's Estimators export each canned model. TensorFlow loads the export and
makes the same predictions. `weft predict` returns the same answers as
TensorFlow from TensorFlow's exports, of version 1 and of version 2.

The test runs where TF_PYTHON names a Python with TensorFlow.
"""

import json
import os
import tempfile
import unittest

from integration_tests.testing import programs
from tools import xml_unittest

# Loads each model below a folder with both of TensorFlow's loaders, and prints
# its predictions for the same rows and its signatures.
_ASK = """
import glob, json, os, sys
import tensorflow as tf
tf1 = tf.compat.v1
def example(age, job, city):
  bytes_of = lambda x: tf.train.Feature(
      bytes_list=tf.train.BytesList(value=[x]))
  return tf.train.Example(features=tf.train.Features(feature={
      'age': tf.train.Feature(float_list=tf.train.FloatList(value=[age])),
      'job': bytes_of(job), 'city': bytes_of(city)})).SerializeToString()
people = [example(25, b'cook', b'Ulm'), example(33.5, b'smith', b'Rome'),
          example(61, b'cook', b'Oslo'), example(48, b'\\xff', b'?')]
def plain(values):
  return {key: [x.decode() if isinstance(x, bytes) else x
                for x in value.flatten().tolist()]
          for key, value in values.items()}
answers = {}
for path in sorted(glob.glob(sys.argv[1] + '/*/[0-9]*')):
  loaded = tf.saved_model.load(path)
  signatures = sorted(loaded.signatures)
  name = 'predict' if 'predict' in signatures else 'twice'
  new = loaded.signatures[name](examples=tf.constant(people))
  with tf1.Graph().as_default(), tf1.Session() as session:
    graph = tf1.saved_model.load(session, ['serve'], path)
    signature = graph.signature_def[name]
    old = session.run(
        {key: info.name for key, info in signature.outputs.items()},
        {signature.inputs['examples'].name: people})
    methods = {key: value.method_name
               for key, value in graph.signature_def.items()}
  answers[os.path.basename(os.path.dirname(path))] = {
      'signatures': methods,
      'old': plain(old),
      'new': plain({key: value.numpy() for key, value in new.items()})}
print(json.dumps(answers))
"""

# Writes a SavedModel of each version, and prints their answers.
_WRITE = """
import json, sys
import tensorflow as tf
tf1 = tf.compat.v1
folder, vocabulary = sys.argv[1:]
keys = ['b', 'd', 'a']
x = [[1.5, -2.0], [0.25, 3.0], [0.1, 0.0]]
with tf1.Graph().as_default(), tf1.Session() as session:
  xs = tf1.placeholder(tf.float32, [None, 2], 'x')
  ks = tf1.placeholder(tf.string, [None], 'k')
  w = tf1.get_variable('w', initializer=[[1.0], [2.0]], use_resource=False)
  b = tf1.get_variable('b', initializer=[0.5], use_resource=True)
  y = tf.nn.relu(tf.matmul(xs, w) + b)
  table = tf.lookup.StaticHashTable(
      tf.lookup.TextFileInitializer(
          vocabulary, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
          tf.lookup.TextFileIndex.LINE_NUMBER), -1)
  ids = table.lookup(ks)
  sparse = tf1.sparse_placeholder(tf.float32, [None, 2], 's')
  product = tf.sparse.sparse_dense_matmul(sparse, w)
  session.run([tf1.global_variables_initializer(), tf1.tables_initializer()])
  info = tf1.saved_model.build_tensor_info
  builder = tf1.saved_model.Builder(folder + '/one')
  builder.add_meta_graph_and_variables(
      session, ['serve'],
      {'serving_default': tf1.saved_model.build_signature_def(
          {'x': info(xs), 'k': info(ks)}, {'y': info(y), 'ids': info(ids)},
          'tensorflow/serving/predict'),
       'sparse': tf1.saved_model.build_signature_def(
          {'s': info(sparse)}, {'product': info(product)},
          'tensorflow/serving/predict')},
      assets_collection=tf1.get_collection(tf1.GraphKeys.ASSET_FILEPATHS),
      main_op=tf1.tables_initializer(), strip_default_attrs=True)
  builder.save()
  one = session.run([y, ids], {xs: x, ks: keys})
  parts = {'indices': [[0, 1], [2, 0]], 'values': [1.5, -2.0],
           'dense_shape': [3, 2]}
  of_sparse = session.run(product, {sparse: tf1.SparseTensorValue(**parts)})
class Model(tf.Module):
  def __init__(self):
    super().__init__()
    self.w = tf.Variable([[1.0], [-1.0]])
    self.table = tf.lookup.StaticHashTable(
        tf.lookup.TextFileInitializer(
            vocabulary, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE, tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER), -1)
  @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float32, 'x'),
                                tf.TensorSpec([None], tf.string, 'k')])
  def ask(self, x, k):
    return {'y': tf.nn.sigmoid(x @ self.w), 'ids': self.table.lookup(k)}
model = Model()
tf.saved_model.save(model, folder + '/two',
                    signatures={'serving_default': model.ask})
two = model.ask(tf.constant(x), tf.constant(keys))
print(json.dumps({
    'request': {'inputs': {'x': x, 'k': keys}},
    'sparse': {'request': {'inputs': {'s': parts}, 'signature_name': 'sparse'},
               'outputs': of_sparse.tolist()},
    'one': {'y': one[0].tolist(), 'ids': one[1].tolist()},
    'two': {key: two[key].numpy().tolist() for key in ('y', 'ids')}}))
"""

_CLASSIFY = 'tensorflow/serving/classify'
_REGRESS = 'tensorflow/serving/regress'
_PREDICT = 'tensorflow/serving/predict'
_MULTI_CLASS = {'serving_default': _CLASSIFY, 'classification': _CLASSIFY,
                'predict': _PREDICT}
_BINARY = {**_MULTI_CLASS, 'regression': _REGRESS}
_REGRESSION = {'serving_default': _REGRESS, 'regression': _REGRESS,
               'predict': _PREDICT}
# The signatures of each model are those of TensorFlow's model.
_SIGNATURES = {
    'linear_classifier': _BINARY,
    'vocabulary_classifier': _BINARY,
    'dnn_classifier': _MULTI_CLASS,
    'combined_classifier': _BINARY,
    'baseline_classifier': _MULTI_CLASS,
    'linear_regressor': _REGRESSION,
    'dnn_regressor': _REGRESSION,
    'combined_regressor': _REGRESSION,
    'baseline_regressor': _REGRESSION,
    'model_fn': {'serving_default': _PREDICT, 'twice': _PREDICT},
}


@unittest.skipUnless(os.environ.get('TF_PYTHON'),
                     'TF_PYTHON names no Python with TensorFlow')
class TensorFlowSavedModelsTest(unittest.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = self.enterContext(tempfile.TemporaryDirectory())

  def predict(self, path, request):
    out = programs.run(
        self, [programs.binary('tools/weft'), 'predict', f'--model={path}',
               '--json=-'], input=json.dumps(request))
    return json.loads(out)

  def assert_close(self, ours, theirs, message):
    self.assertEqual(len(ours), len(theirs), message)
    for mine, other in zip(ours, theirs):
      if isinstance(other, float):
        self.assertAlmostEqual(float(mine), other, msg=message,
                               delta=1e-6 * max(1, abs(other)))
      else:
        self.assertEqual(mine, str(other), message)

  def test_tensorflow_predicts_the_same_from_weft(self):
    out = programs.run(
        self, [programs.binary('integration_tests/testing/exported_models'),
               self.folder])
    theirs = json.loads(
        programs.run_tensorflow(self, _ASK, self.folder).splitlines()[-1])
    self.assertEqual({name: model['signatures']
                      for name, model in theirs.items()}, _SIGNATURES)
    compared = set()
    for line in out.splitlines():
      name, key, *ours = line.split()
      for loader in ('old', 'new'):
        self.assert_close(ours, theirs[name][loader][key],
                          f'{name} {key} {loader}')
      compared.add(name)
    self.assertEqual(compared, set(_SIGNATURES))

  def test_weft_predicts_the_same_from_tensorflow(self):
    vocabulary = f'{self.folder}/vocabulary.txt'
    with open(vocabulary, 'w', encoding='utf-8') as file:
      file.write('a\nb\nc\n')
    theirs = json.loads(programs.run_tensorflow(
        self, _WRITE, self.folder, vocabulary).splitlines()[-1])
    os.remove(vocabulary)
    for version in ('one', 'two'):
      ours = self.predict(f'{self.folder}/{version}', theirs['request'])
      self.assertEqual(ours['outputs']['ids'], theirs[version]['ids'])
      for mine, other in zip(ours['outputs']['y'], theirs[version]['y']):
        self.assertAlmostEqual(mine[0], other[0], delta=1e-6)
    sparse = theirs['sparse']
    self.assertEqual(
        self.predict(f'{self.folder}/one', sparse['request'])['outputs'],
        sparse['outputs'])


if __name__ == '__main__':
  xml_unittest.main()
