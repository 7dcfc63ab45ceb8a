"""Checkpoints from Weft to TensorFlow and back.

A Weft program saves a checkpoint. TensorFlow reads every value, restores its
own variables from the checkpoint and saves them with its Saver. The Weft
program continues from that second checkpoint.

The test runs where TF_PYTHON names a Python with TensorFlow.
"""

import json
import os
import re
import tempfile
import unittest

from integration_tests.testing import programs
from tools import xml_unittest

# Prints the values of a checkpoint, as TensorFlow reads them, as JSON.
_READ = """
import json, sys
import tensorflow as tf
reader = tf.train.load_checkpoint(sys.argv[1])
print(json.dumps({name: reader.get_tensor(name).tolist()
                  for name in reader.get_variable_to_shape_map()}))
"""

# Restores variables of all names from one checkpoint and saves them to another,
# in the given number of shards.
_RESAVE = """
import sys
import tensorflow as tf
tf1 = tf.compat.v1
tf1.disable_eager_execution()
old, new, step, shards = sys.argv[1:]
reader = tf.train.load_checkpoint(old)
server_names = [f'/job:ps/task:{i}/cpu:0' for i in range(int(shards))]
cluster = tf1.train.ClusterSpec(
    {'ps': [f'localhost:{port}' for port in map(int, sys.stdin.read().split())]})
servers = [tf1.train.Server(cluster, job_name='ps', task_index=i)
           for i in range(int(shards))]
for i, (name, shape) in enumerate(
    sorted(reader.get_variable_to_shape_map().items())):
  with tf1.device(server_names[i % len(server_names)]):
    tf1.get_variable(name, shape, reader.get_variable_to_dtype_map()[name])
saver = tf1.train.Saver(sharded=True)
with tf1.Session(servers[0].target) as session:
  saver.restore(session, old)
  saver.save(session, new, global_step=int(step), write_meta_graph=False)
"""


@unittest.skipUnless(os.environ.get('TF_PYTHON'),
                     'TF_PYTHON names no Python with TensorFlow')
class TensorFlowRoundTripTest(unittest.TestCase):

  def setUp(self):
    super().setUp()
    self.folder = self.enterContext(tempfile.TemporaryDirectory())

  def weft(self, *arguments):
    return programs.run(
        self, [programs.binary('tools/weft'), 'checkpoint', *arguments])

  def train(self, folder, steps):
    return programs.run(
        self, [programs.binary('examples/saver_loop'), f'--dir={folder}',
               f'--steps={steps}', '--save_every=10'])

  def values(self, prefix):
    return json.loads(
        programs.run_tensorflow(self, _READ, prefix).splitlines()[-1])

  def test_weft_to_tensorflow_to_weft(self):
    self.train(f'{self.folder}/ours', steps=20)
    ours = f'{self.folder}/ours/model-20'
    self.assertEqual(self.values(ours)['global_step'], 20)
    ports = programs.free_ports(2)
    theirs = f'{self.folder}/theirs/model'
    os.mkdir(os.path.dirname(theirs))
    programs.run_tensorflow(self, _RESAVE, ours, theirs, '20', '2',
                            text=' '.join(map(str, ports)))
    # The same values, of the same types, with the right checksums.
    self.weft('verify', f'{theirs}-20')
    self.weft('diff', ours, f'{theirs}-20')
    out = self.train(os.path.dirname(theirs), steps=30)
    self.assertIn(f'restored {theirs}-20\n', out)
    self.assertEqual(re.findall(r'saved \S+/model-(\d+)', out), ['30'])

  def test_tensors_in_parts(self):
    self.train(f'{self.folder}/ours', steps=10)
    ours = f'{self.folder}/ours/model-10'
    parts = f'{self.folder}/parts'
    self.weft('convert', '--parts=weights_1=0:5', ours, parts)
    self.assertEqual(self.values(parts), self.values(ours))


if __name__ == '__main__':
  xml_unittest.main()
