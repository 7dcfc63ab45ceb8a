"""The real TensorBoard reads the event files of Weft's programs.

The test checks what TensorBoard serves over HTTP. It runs where tools/setup.sh
--tests has installed TensorBoard.
"""

import fnmatch
import json
import os
import subprocess
import tempfile
import time
import unittest
import urllib.parse

from integration_tests.testing import http_tool
from integration_tests.testing import programs
from tools import xml_unittest

_STEPS = 20
_START_SECONDS = 120  # TensorBoard imports many modules


class TensorBoard:
  """A TensorBoard server on a free port of this machine."""

  def __init__(self, python, logdir):
    (port,) = programs.free_ports(1)
    # --load_fast=false selects TensorBoard's own reader, not the separate
    # process that may read in its place.
    self._tool = http_tool.HttpTool(
        'TensorBoard',
        [python, '-B', '-m', 'tensorboard.main', '--logdir', logdir, '--host',
         '127.0.0.1', '--port', str(port), '--load_fast=false',
         '--reload_interval=1'],
        f'http://127.0.0.1:{port}/')

  def stop(self):
    self._tool.stop()

  def get(self, path, query=''):
    """Returns the body of the response."""
    return self._tool.get(f'data/{path}?{query}')

  def data(self, path, **query):
    return json.loads(self.get(path, urllib.parse.urlencode(query)))

  def wait_for(self, expected, condition):
    """Returns once condition(), which sends requests, is true."""
    self._tool.wait_for(expected, condition, bool, _START_SECONDS)


class TensorBoardTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    python = os.environ.get('WEFT_TEST_PYTHON')
    if not python:
      # tools/test.sh sets this: it has installed the tools.
      assert 'WEFT_TEST_TOOLS_REQUIRED' not in os.environ
      raise unittest.SkipTest('needs tools/setup.sh --tests')
    logdir = cls.enterClassContext(tempfile.TemporaryDirectory())
    run = os.path.join(logdir, 'run')
    subprocess.run([programs.binary('examples/summaries'), run], check=True,
                   timeout=120)
    subprocess.run([programs.binary('integration_tests/testing/traced_training'),
                    logdir], check=True, timeout=120)
    # {run: tags of its metadata}. The hook also writes a timeline for each tag.
    timelines = fnmatch.filter(os.listdir(os.path.join(logdir, 'hook')),
                               'timeline-*.json')
    cls.traces = {
        'hook': {f'step_{name[9:-5]}' for name in timelines},
        'writer': {'the run'},
    }
    cls.board = TensorBoard(python, logdir)
    cls.addClassCleanup(cls.board.stop)
    cls.board.wait_for('all events', cls._all_is_read)

  @classmethod
  def _all_is_read(cls):
    # TensorBoard shows events at once; the note is the last one of each step.
    if 'run' not in cls.board.data('plugin/text/tags'):
      return False
    texts = cls.board.data('plugin/text/text', run='run', tag='note')
    if not texts or texts[-1]['step'] != _STEPS - 1:
      return False
    graphs = cls.board.data('plugin/graphs/info')
    return all(tags <= set(graphs.get(run, {}).get('tags', ()))
               for run, tags in cls.traces.items())

  def test_scalars(self):
    tags = self.board.data('plugin/scalars/tags')
    self.assertEqual(['loss'], list(tags['run']))
    values = self.board.data('plugin/scalars/scalars', run='run', tag='loss')
    self.assertEqual(list(range(_STEPS)), [step for _, step, _ in values])
    # Each step reduces the error of each weight by a fifth.
    for _, step, value in values:
      self.assertAlmostEqual(14 * 0.64**step, value, delta=1e-4)
    times = [wall_time for wall_time, _, _ in values]
    self.assertEqual(sorted(times), times)
    self.assertLess(abs(times[-1] - time.time()), 3600)

  def test_histograms(self):
    self.assertEqual(['weights/spread'],
                     list(self.board.data('plugin/histograms/tags')['run']))
    histograms = self.board.data('plugin/histograms/histograms', run='run',
                                 tag='weights/spread')
    self.assertEqual(list(range(_STEPS)), [step for _, step, _ in histograms])
    # TensorBoard divides them into its own buckets: (left, right, count).
    for _, _, buckets in histograms:
      self.assertAlmostEqual(3, sum(count for _, _, count in buckets))
    _, _, last = histograms[-1]
    self.assertAlmostEqual(-2, last[0][0], delta=0.3)
    self.assertAlmostEqual(3, last[-1][1], delta=0.3)

  def test_images(self):
    self.assertEqual(['weights/image'],
                     list(self.board.data('plugin/images/tags')['run']))
    images = self.board.data('plugin/images/images', run='run',
                             tag='weights/image', sample=0)
    self.assertEqual(_STEPS - 1, images[-1]['step'])
    png = self.board.get('plugin/images/individualImage', images[-1]['query'])
    self.assertEqual(b'\x89PNG\r\n\x1a\n', png[:8])
    self.assertEqual((3, 1), (int.from_bytes(png[16:20], 'big'),
                              int.from_bytes(png[20:24], 'big')))

  def test_audio(self):
    self.assertEqual(
        ['error/audio/0'],
        list(self.board.data('plugin/audio/tags')['run']))
    sounds = self.board.data('plugin/audio/audio', run='run',
                             tag='error/audio/0', sample=0)
    self.assertEqual('audio/wav', sounds[-1]['contentType'])

  def test_text(self):
    self.assertEqual(['note'], self.board.data('plugin/text/tags')['run'])
    texts = self.board.data('plugin/text/text', run='run', tag='note')
    self.assertIn('<em>three</em> weights', texts[-1]['text'])

  def test_graph(self):
    info = self.board.data('plugin/graphs/info')
    self.assertTrue(info['run']['run_graph'])
    graph = self.board.get('plugin/graphs/graph', 'run=run').decode()
    for name in 'w', 'ScalarSummary', 'GradientDescent', 'MergeSummary':
      self.assertIn(f'name: "{name}"', graph)

  def test_run_metadata(self):
    self.assertGreaterEqual(len(self.traces['hook']), 2)
    graphs = self.board.data('plugin/graphs/info')
    for run, tags in self.traces.items():
      self.assertEqual(tags, set(graphs[run]['tags']))
      for tag in tags:
        self.assertTrue(graphs[run]['tags'][tag]['profile'])
        metadata = self._run_metadata(run, tag)
        self.assertIn('node_name: "GradientDescent/update_w/', metadata)
        self.assertIn('op_end_rel_nanos', metadata)
    self.assertIn('partition_graphs {', self._run_metadata('writer', 'the run'))
    # The run also has the graph in which TensorBoard shows the metadata.
    self.assertTrue(graphs['writer']['run_graph'])

  def _run_metadata(self, run, tag):
    query = urllib.parse.urlencode({'run': run, 'tag': tag})
    return self.board.get('plugin/graphs/run_metadata', query).decode()


if __name__ == '__main__':
  xml_unittest.main()
