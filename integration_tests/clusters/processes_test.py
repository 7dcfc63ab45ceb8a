"""The services and examples as real processes.

They connect to each other, stop cleanly, and report errors.
"""

from http import server as http_server
import json
import os
import signal
import subprocess
import threading
import unittest

from integration_tests.testing import programs
from tools import xml_unittest

_DEADLINE_S = 60


class Cloud(http_server.ThreadingHTTPServer):
  """The HTTP proxy of an emulated cloud machine.

  Its metadata service returns the keys of the machine's role, and its object
  store is empty.
  """

  def __init__(self):
    super().__init__(('127.0.0.1', 0), _CloudHandler)
    self.requests = []  # the URL and headers of each request
    threading.Thread(target=self.serve_forever, daemon=True).start()

  def environment(self):
    """Returns the environment of a process there, which has no own keys."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith('AWS_') and 'proxy' not in name.lower()}
    return {**kept, 'HOME': '/nowhere',
            'http_proxy': 'http://127.0.0.1:%d' % self.server_port,
            'AWS_ENDPOINT_URL_S3': 'http://store.test'}


class _CloudHandler(http_server.BaseHTTPRequestHandler):
  """Answers in place of the services that the URLs name."""
  _ROLE = 'http://169.254.169.254/latest/meta-data/iam/security-credentials/'

  def _answer(self):
    self.server.requests.append((self.path, dict(self.headers)))
    keys = {'AccessKeyId': 'role-key', 'SecretAccessKey': 'role-secret',
            'Token': 'role-token', 'Expiration': '2999-01-01T00:00:00Z'}
    body = {'http://169.254.169.254/latest/api/token': 'token',
            self._ROLE: 'role', self._ROLE + 'role': json.dumps(keys),
           }.get(self.path)
    self.send_response(404 if body is None else 200)
    self.send_header('Content-Length', str(len(body or '')))
    self.end_headers()
    self.wfile.write((body or '').encode())

  do_GET = do_PUT = do_HEAD = _answer  # pylint: disable=invalid-name

  def log_message(self, *unused_args):  # pylint: disable=arguments-differ
    pass


class ProcessesTest(unittest.TestCase):

  def setUp(self):
    super().setUp()
    self.ports = dict(zip(('ps', 'worker'), programs.free_ports(2)))
    self.cluster = ('{"ps": ["localhost:%(ps)d"], '
                    '"worker": ["localhost:%(worker)d"]}' % self.ports)
    self.servers = {}

  def tearDown(self):
    super().tearDown()
    for server in self.servers.values():
      server.kill()
      server.communicate()

  def start(self, job, *flags):
    """Starts a service and waits until it listens."""
    server = subprocess.Popen(
        [programs.binary(f'services/{job}/{job}'), f'--cluster={self.cluster}', *flags],
        stderr=subprocess.PIPE, text=True)
    self.servers[job] = server
    while True:
      line = server.stderr.readline()
      if 'Started server with target' in line:
        return server
      self.assertTrue(line, f'{job} ended before it started')

  def run_example(self, name, *arguments):
    return subprocess.run([programs.binary(f'examples/{name}'), *arguments],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=_DEADLINE_S, check=False)

  def target(self, job):
    return f'zmq://localhost:{self.ports[job]}'

  def refused(self, job, *flags, env=None):
    """Returns the standard error of a service that fails to start."""
    ended = subprocess.run([programs.binary(f'services/{job}/{job}'), *flags],
                           stderr=subprocess.PIPE, text=True, env=env,
                           timeout=_DEADLINE_S, check=False)
    self.assertEqual(ended.returncode, 1, ended.stderr)
    return ended.stderr

  def test_help_lists_all_flags_of_a_service(self):
    for job in ('coordinator', 'ps', 'worker', 'checkpoint_writer'):
      ended = subprocess.run(
          [programs.binary(f'services/{job}/{job}'), '--help'],
          stdout=subprocess.PIPE, text=True, timeout=_DEADLINE_S, check=False)
      for flag in ('--cluster', '--task_index', '--max_held_bytes_per_peer'):
        self.assertIn(f'{flag} (', ended.stdout)
      self.assertIn('--root (Checkpoint writer', ended.stdout)
      self.assertNotIn('--flagfile', ended.stdout)  # a flag of Abseil

  def test_argument_without_flag_is_refused(self):
    self.assertIn('unexpected argument "2222"', self.refused('ps', '2222'))

  def test_misspelled_flag_is_refused_with_suggestion(self):
    for flags in (['--task_indx=0'], ['--task_indx', '0'],
                  ['--drain', '--1s', '--insecure', '--task_indx=0']):
      self.assertIn('unknown flag --task_indx. Did you mean "task_index"?',
                    self.refused('ps', *flags))

  def test_server_in_program_is_reached_by_socket(self):
    hello = self.run_example('local_server')
    self.assertEqual(hello.stdout, 'Hello distributed Weft!\n', hello.stderr)

  def test_variable_outlives_its_clients(self):
    self.start('ps')
    self.start('worker')
    first = self.run_example('simple_client', self.target('ps'), 'init')
    self.assertEqual(first.stdout, '1.0\n', first.stderr)
    second = self.run_example('simple_client', self.target('ps'))
    self.assertEqual(second.stdout, '2.0\n', second.stderr)

  def test_weights_of_two_tasks_outlive_the_client(self):
    self.start('ps')
    self.start('worker')
    first = self.run_example('two_tasks', self.target('worker'), 'init')
    self.assertRegex(first.stdout, r'^y = \d\.\d+ x -\d\.\d+, loss', first.stderr)
    again = self.run_example('two_tasks', self.target('worker'))

    def loss(ended):
      return float(ended.stdout.split()[-1])
    self.assertLess(loss(again), loss(first) + 1e-6)
    self.assertLess(loss(again), 1e-3)

  def test_signal_stops_service_cleanly(self):
    for stop in (signal.SIGTERM, signal.SIGINT):
      server = self.start('ps')
      server.send_signal(stop)
      _, log = server.communicate(timeout=_DEADLINE_S)
      self.assertEqual(server.returncode, 0, log)
      self.assertIn('Stopped', log)

  def test_killed_ps_fails_step_and_can_restart(self):
    ps = self.start('ps')
    self.start('worker')
    first = self.run_example('two_tasks', self.target('worker'), 'init')
    self.assertEqual(first.returncode, 0, first.stderr)
    ps.kill()
    ps.communicate()
    self.start('ps')
    lost = self.run_example('two_tasks', self.target('worker'))
    self.assertEqual(lost.returncode, 1)
    self.assertIn('FAILED_PRECONDITION', lost.stderr)  # the weights are gone
    again = self.run_example('two_tasks', self.target('worker'), 'init')
    self.assertEqual(again.returncode, 0, again.stderr)

  def test_checkpoint_writer_needs_a_directory(self):
    cluster = ('--cluster={"checkpoint_writer": ["localhost:0"], '
               '"worker": ["localhost:0"]}')
    self.assertIn('/nowhere, is not a directory: ',
                  self.refused('checkpoint_writer', cluster, '--root=/nowhere'))

  def test_object_store_uses_machine_role_if_enabled(self):
    cluster = ('--cluster={"checkpoint_writer": ["localhost:0"], '
               '"worker": ["localhost:0"]}')
    root = '--root=s3://bucket/saves'
    for flags in ([], ['--use_instance_metadata']):
      with Cloud() as cloud:
        error = self.refused('checkpoint_writer', cluster, root, *flags,
                             env=cloud.environment())
        cloud.shutdown()
      self.assertIn('s3://bucket/saves, is not a directory', error)
      signed = [headers.get('Authorization', '')
                for url, headers in cloud.requests
                if url.startswith('http://store.test')]
      uses_metadata = any(
          url.startswith('http://169.') for url, _ in cloud.requests)
      self.assertEqual(uses_metadata, bool(flags), cloud.requests)
      if flags:
        self.assertTrue(signed)
        for authorization in signed:
          self.assertIn('Credential=role-key/', authorization)

  def test_invalid_configurations_are_refused(self):
    cluster = f'--cluster={self.cluster}'
    self.assertIn('cluster spec is empty', self.refused('ps'))
    self.assertIn('Task 7 was not defined in job "ps"',
                  self.refused('ps', cluster, '--task_index=7'))
    self.assertIn('Job "chief" was not defined',
                  self.refused('worker', cluster, '--job_name=chief'))
    self.assertIn('--insecure', self.refused('ps', cluster, '--bind=0.0.0.0'))
    self.start('ps')
    self.assertIn('ALREADY_EXISTS', self.refused('ps', cluster))


if __name__ == '__main__':
  xml_unittest.main()
