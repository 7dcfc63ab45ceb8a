"""TensorFlow runs the functions and pipelines that a Weft program builds.

The program writes its graph, and prints its runs and their results. TensorFlow
imports the graph, runs the same, and gets the same results.

The test runs where TF_PYTHON names a Python with TensorFlow.
"""

import os
import tempfile
import unittest

from integration_tests.testing import programs
from tools import xml_unittest

# Repeats the runs in the lines of standard input, and prints its own results.
_REPLAY = """
import sys
import tensorflow as tf
tf1 = tf.compat.v1
graph = tf1.GraphDef()
with open(sys.argv[1], 'rb') as file:
  graph.ParseFromString(file.read())
with tf1.Graph().as_default() as g:
  tf1.import_graph_def(graph, name='')
  with tf1.Session(graph=g) as session:
    for line in sys.stdin.read().splitlines():
      what, name = line.split()[:2]
      if what == 'run':
        session.run(g.get_operation_by_name(name))
        print(what, name)
        continue
      try:
        value = session.run(name)
        print('get', name, *['%g' % x for x in value.flatten()])
      except tf.errors.OutOfRangeError:
        print('end', name)
"""


@unittest.skipUnless(os.environ.get('TF_PYTHON'),
                     'TF_PYTHON names no Python with TensorFlow')
class TensorFlowRunsBuiltGraphsTest(unittest.TestCase):

  def test_tensorflow_computes_the_same_values(self):
    folder = self.enterContext(tempfile.TemporaryDirectory())
    graph = f'{folder}/graph.pb'
    ours = programs.run(
        self, [programs.binary('integration_tests/testing/built_graph'), graph])
    theirs = programs.run_tensorflow(self, _REPLAY, graph, text=ours)
    self.assertGreater(len(ours.splitlines()), 40)
    self.assertEqual([line.rstrip() for line in theirs.splitlines()],
                     [line.rstrip() for line in ours.splitlines()])


if __name__ == '__main__':
  xml_unittest.main()
