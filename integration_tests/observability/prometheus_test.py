"""A real Prometheus scrapes a cluster of real processes.

The test queries Prometheus. It runs where tools/setup.sh --tests has installed
Prometheus.
"""

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

_START_SECONDS = 60
_STOP_SECONDS = 60
_STEPS = 7

_CONFIG = """
global:
  scrape_interval: 200ms
scrape_configs:
  - job_name: weft
    honor_labels: true
    static_configs:
      - targets: %s
"""


def _tool(name):
  """Returns the path of a program of Prometheus; skips the test without it."""
  python = os.environ.get('WEFT_TEST_PYTHON')
  path = python and os.path.join(os.path.dirname(python), name)
  if not path or not os.path.exists(path):
    # tools/test.sh sets this: it has installed the tools.
    assert 'WEFT_TEST_TOOLS_REQUIRED' not in os.environ, path
    raise unittest.SkipTest('needs tools/setup.sh --tests')
  return path


class Services:
  """A ps, a worker and a checkpoint writer that serve metrics."""

  JOBS = ('ps', 'worker', 'checkpoint_writer')

  def __init__(self, folder):
    ports = programs.free_ports(2 * len(self.JOBS))
    tasks = dict(zip(self.JOBS, ports))
    self.metrics = dict(zip(self.JOBS, ports[len(self.JOBS):]))
    self.worker = f'zmq://localhost:{tasks["worker"]}'
    cluster = json.dumps(
        {job: [f'localhost:{port}'] for job, port in tasks.items()})
    self._log = open(os.path.join(folder, 'services.log'), 'w+b')
    self._processes = [
        subprocess.Popen(
            [programs.binary(f'services/{job}/{job}'), f'--cluster={cluster}',
             f'--metrics_port={self.metrics[job]}', f'--root={folder}'],
            stderr=self._log)
        for job in self.JOBS]

  def stop(self):
    for process in self._processes:
      process.terminate()
    codes = [programs.wait_or_kill(process, _STOP_SECONDS)
             for process in self._processes]
    self._log.close()
    return codes

  def targets(self):
    return [f'127.0.0.1:{port}' for port in self.metrics.values()]

  def text(self, job):
    return http_tool.get(f'http://127.0.0.1:{self.metrics[job]}/metrics')


class Prometheus:
  """A Prometheus server on a free port of this machine."""

  def __init__(self, program, targets, folder):
    config = os.path.join(folder, 'prometheus.yml')
    with open(config, 'w', encoding='utf-8') as file:
      file.write(_CONFIG % json.dumps(targets))
    (port,) = programs.free_ports(1)
    self._tool = http_tool.HttpTool(
        'Prometheus',
        [program, f'--config.file={config}',
         f'--storage.tsdb.path={folder}/data',
         f'--web.listen-address=127.0.0.1:{port}'],
        f'http://127.0.0.1:{port}/api/v1/')

  def stop(self):
    self._tool.stop()

  def query(self, expression):
    """Returns the current values, {(job, task): value}."""
    query = urllib.parse.urlencode({'query': expression})
    result = json.loads(self._tool.get(f'query?{query}'))['data']['result']
    return {(one['metric'].get('job'), one['metric'].get('task')):
            float(one['value'][1]) for one in result}

  def wait_for(self, expression, condition):
    """Returns the values of `expression` once `condition` holds for them."""
    return self._tool.wait_for(f'the expected values of {expression}',
                               lambda: self.query(expression), condition,
                               _START_SECONDS)


class PrometheusTest(unittest.TestCase):

  @classmethod
  def setUpClass(cls):
    program = _tool('prometheus')
    folder = cls.enterClassContext(tempfile.TemporaryDirectory())
    cls.services = Services(folder)
    cls.addClassCleanup(cls.services.stop)
    cls.prometheus = Prometheus(program, cls.services.targets(), folder)
    cls.addClassCleanup(cls.prometheus.stop)
    # Each case then finds services that have started.
    cls.joined = cls.prometheus.wait_for(
        'weft_joined',
        lambda seen: sum(seen.values()) == len(Services.JOBS))

  def test_prometheus_counts_steps_of_a_program(self):
    all_tasks = {(job, '0') for job in Services.JOBS}
    self.assertEqual(set(self.joined), all_tasks)
    for i in range(_STEPS):
      arguments = [self.services.worker] + ['init'] * (i == 0)
      subprocess.run([programs.binary('examples/simple_client'), *arguments],
                     check=True, stdout=subprocess.DEVNULL, timeout=60)
    # A run has a step that adds and one that reads; the first has one more.
    steps = self.prometheus.wait_for(
        'weft_session_steps_total',
        lambda seen: seen.get(('worker', '0'), 0) >= 2 * _STEPS + 1)
    self.assertEqual(steps, {('ps', '0'): 0, ('worker', '0'): 2 * _STEPS + 1})
    self.assertEqual(
        self.prometheus.query('sum by (job, task) (weft_variable_bytes)'),
        {('ps', '0'): 0, ('worker', '0'): 4})
    self.assertEqual(self.prometheus.query('up == 0'), {})
    slowest = self.prometheus.query(
        'histogram_quantile(0.5, weft_session_step_seconds_bucket)')
    self.assertGreater(slowest[('worker', '0')], 0)

  def test_promtool_accepts_the_metrics(self):
    for job in Services.JOBS:
      checked = subprocess.run(
          [_tool('promtool'), 'check', 'metrics'], timeout=60, check=False,
          input=self.services.text(job), stdout=subprocess.PIPE,
          stderr=subprocess.STDOUT)
      self.assertEqual((checked.returncode, checked.stdout), (0, b''), job)


class TopTest(unittest.TestCase):

  def test_top_reports_numbers_of_each_task(self):
    with tempfile.TemporaryDirectory() as folder:
      services = Services(folder)
      self.addCleanup(services.stop)
      deadline = time.monotonic() + _START_SECONDS
      while True:
        top = subprocess.run(
            [programs.binary('tools/weft'), 'top', *services.targets(),
             '--once', '--interval=100ms'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            timeout=60, check=False)
        rows = json.loads(top.stdout) if top.returncode == 0 else []
        # A rate needs two answers of a task.
        if len(rows) == 3 and all(row.get('processors') is not None
                                  for row in rows):
          break
        self.assertLess(time.monotonic(), deadline, top)
      self.assertEqual([row['task'] for row in rows],
                       ['ps:0', 'worker:0', 'checkpoint_writer:0'])
      self.assertGreater(rows[0]['resident_bytes'], 1 << 20)
      self.assertEqual(rows[0]['steps_per_second'], 0)
      self.assertIsNone(rows[2]['steps_per_second'])


if __name__ == '__main__':
  xml_unittest.main()
