"""`weft predict` and `weft saved_model` on exports of each canned model."""

import json
import os
import subprocess
import tempfile
import unittest
import unittest.mock

from integration_tests.testing import object_store
from integration_tests.testing import programs
from tools import xml_unittest

# The rows for which exported_models prints predictions.
_ROWS = {'examples': [
    {'age': 25.0, 'job': 'cook', 'city': 'Ulm'},
    {'age': 33.5, 'job': 'smith', 'city': 'Rome'},
    {'age': 61.0, 'job': 'cook', 'city': ['Oslo']},
    {'age': [48.0], 'job': {'b64': '/w=='}, 'city': '?'}]}


def _flat(value):
  return ([x for inner in value for x in _flat(inner)]
          if isinstance(value, list) else [value])


class SavedModelsTest(unittest.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = self.enterContext(tempfile.TemporaryDirectory())

  def export(self, *exports):
    """Returns the predictions of the models, {model: {key: values}}."""
    out = programs.run(
        self, [programs.binary('integration_tests/testing/exported_models'),
               self.folder, *exports])
    predictions = {}
    for line in out.splitlines():
      name, key, *values = line.split()
      predictions.setdefault(name, {})[key] = values
    self.assertEqual(len(predictions), 10)
    return predictions

  def weft(self, *arguments, request=None):
    return subprocess.run(
        [programs.binary('tools/weft'), *arguments], stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True, timeout=300, check=False,
        input=request)

  def predict(self, model, request, *flags):
    ended = self.weft('predict', f'--model={model}', '--json=-', *flags,
                      request=json.dumps(request))
    self.assertEqual(ended.returncode, 0, ended.stderr)
    return json.loads(ended.stdout)

  def assert_equal_values(self, answered, predicted, message):
    self.assertEqual(len(answered), len(predicted), message)
    for ours, theirs in zip(answered, predicted):
      if isinstance(ours, float):
        self.assertAlmostEqual(ours, float(theirs), msg=message,
                               delta=1e-6 * max(1, abs(ours)))
      else:
        self.assertEqual(str(ours), theirs, message)

  def assert_predicts(self, model, predictions):
    flags = ['--signature=predict'] if 'scaled' not in predictions else []
    rows = self.predict(model, _ROWS, *flags)['predictions']
    self.assertEqual(len(rows), 4)
    for key, predicted in predictions.items():
      answered = [row[key] if len(predictions) > 1 else row for row in rows]
      self.assert_equal_values(_flat(answered), predicted, f'{model} {key}')

  def test_predict_agrees_with_estimators(self):
    for name, predictions in self.export().items():
      self.assert_predicts(f'{self.folder}/{name}', predictions)

  def test_predict_reads_exports_in_object_store(self):
    with object_store.server('s3') as url, unittest.mock.patch.dict(
        os.environ, object_store.environment(url)):
      predictions = self.export('s3://bucket/exports')
      for name in ('combined_classifier', 'dnn_regressor'):
        self.assert_predicts(f's3://bucket/exports/{name}', predictions[name])

  def test_show_and_errors_describe_the_model(self):
    self.export()
    model = f'{self.folder}/linear_classifier'
    shown = json.loads(
        self.weft('saved_model', 'show', model, '--json').stdout)
    self.assertEqual(shown[0]['tags'], ['serve'])
    self.assertEqual(sorted(shown[0]['signatures']),
                     ['classification', 'predict', 'regression',
                      'serving_default'])
    self.assertEqual(
        shown[0]['signatures']['regression'],
        {'method_name': 'tensorflow/serving/regress',
         'inputs': {'inputs': {'dtype': 'string', 'shape': [-1],
                               'tensor': 'input_example_tensor:0'}},
         'outputs': {'outputs': {
             'dtype': 'float', 'shape': [-1, 1],
             'tensor': shown[0]['signatures']['regression']['outputs'][
                 'outputs']['tensor']}},
         'features': {'age': {'dtype': 'float', 'shape': [1]},
                      'city': {'dtype': 'string'},
                      'job': {'dtype': 'string'}}})
    table = self.weft('saved_model', 'show', model, '--table').stdout
    self.assertIn('serving_default: tensorflow/serving/classify\n', table)
    self.assertRegex(table, r'age +float +\[1\], required *\n')
    rows_json = json.dumps(_ROWS)
    for message, flags, request in [
        ('does not exist at', ['--model=/no/such'], rows_json),
        ("no signature 'f'; there are: classification, predict",
         [f'--model={model}', '--signature=f'], rows_json),
        ("tags 'train' could not be found",
         [f'--model={model}', '--tag_set=train'], rows_json),
        ('not a JSON object', [f'--model={model}'], '{'),
        ('but the request\'s "signature_name" is "g"',
         [f'--model={model}', '--signature=f'],
         '{"instances": [1], "signature_name": "g"}'),
        ('1 is not a string', [f'--model={model}'], '{"instances": [1]}'),
        ('has shape [?]', [f'--model={model}'], '{"inputs": "a"}'),
        ('Could not parse example', [f'--model={model}'],
         '{"instances": ["no Example"]}'),
    ]:
      ended = self.weft('predict', '--json=-', *flags, request=request)
      self.assertEqual(ended.returncode, 1, message)
      self.assertIn(message, ended.stderr)
      self.assertEqual(ended.stdout, '')


if __name__ == '__main__':
  xml_unittest.main()
