"""Tests the launcher: the environment of programs, failures, and clean-up.

The services here are small scripts that can fail on request.
"""

import json
import os
import signal
import sys
import tempfile
import unittest

from tools import xml_unittest
from tools.cluster.launcher_under_test import Launcher, all_end

_STAY = [sys.executable, '-c',
         'import signal; print("running", flush=True); signal.pause()']


class LocalClusterTest(unittest.TestCase):

  def start(self, *arguments, **environment):
    launcher = Launcher(*arguments, **environment)
    self.addCleanup(launcher.close)
    return launcher

  def run_to_end(self, *arguments, **environment):
    launcher = self.start(*arguments, **environment)
    launcher.code = launcher.end()
    self.assertEqual(launcher.left(), [])
    return launcher


class ProgramTest(LocalClusterTest):
  """Tests the arguments, environment and output of the program."""

  def test_it_runs_as_each_worker_task(self):
    ended = self.run_to_end('--ps=2', '--workers=2', '--coordinator',
                            '--checkpoint_writers=1', '--', 'sh', '-c',
                            'echo $TF_CONFIG')
    self.assertEqual(ended.code, 0, ended.err)
    configs = {}
    for line in ended.out.splitlines():
      name, _, text = line.partition(' | ')
      configs[name.strip()] = json.loads(text)
    self.assertEqual([configs[f'worker:{i}']['task'] for i in (0, 1)],
                     [{'type': 'worker', 'index': i} for i in (0, 1)])
    cluster = configs['worker:0']['cluster']
    self.assertEqual({job: len(tasks) for job, tasks in cluster.items()},
                     {'coordinator': 1, 'ps': 2, 'worker': 2,
                      'checkpoint_writer': 1})
    self.assertEqual(configs['worker:1']['cluster'], cluster)
    for name in ('coordinator:0', 'ps:0', 'ps:1', 'checkpoint_writer:0'):
      self.assertRegex(ended.err, rf'(?m)^{name} +\| Started server')

  def test_it_runs_as_evaluators_beside_the_cluster(self):
    ended = self.run_to_end('--evaluators=1', '--', 'sh', '-c',
                            'echo $TF_CONFIG')
    self.assertEqual(ended.code, 0, ended.err)
    lines = dict(line.split(' | ') for line in ended.out.splitlines())
    config = json.loads(lines['evaluator:0'])
    self.assertEqual(config['task'], {'type': 'evaluator', 'index': 0})
    self.assertEqual(sorted(config['cluster']), ['ps', 'worker'])

  def test_cluster_runs_until_the_evaluator_has_ended(self):
    ended = self.run_to_end(
        '--evaluators=1', '--', 'sh', '-c',
        '[ {job_name} = worker ] || exit 6')
    self.assertEqual(ended.code, 6)
    self.assertIn('evaluator:0 ended with exit code 6', ended.err)

  def test_flags_in_place_of_the_environment(self):
    ended = self.run_to_end('--workers=2', '--', 'echo', '--job_name={job_name}',
                            '--task_index={task_index}', '{target}')
    self.assertRegex(ended.out, r'worker:1 \| --job_name=worker --task_index=1 '
                                r'zmq://127\.0\.0\.1:\d+\n')

  def test_the_first_failure_stops_the_others(self):
    ended = self.run_to_end(
        '--workers=2', '--', 'sh', '-c', '[ {task_index} = 0 ] || exit 5; cat',
        *['-'])
    self.assertEqual(ended.code, 5)
    self.assertIn('worker:1 ended with exit code 5', ended.err)

  def test_a_killed_program(self):
    ended = self.run_to_end('--', 'sh', '-c', 'kill -SEGV $$')
    self.assertEqual(ended.code, 128 + signal.SIGSEGV)
    self.assertIn('worker:0 was killed by SIGSEGV', ended.err)

  def test_client_has_standard_output_for_itself(self):
    ended = self.run_to_end('--client', '--', 'sh', '-c',
                            'printf "{target} $WEFT_TARGET"; exit 4')
    self.assertEqual(ended.code, 4)
    first, second = ended.out.split(' ')
    self.assertRegex(first, r'^zmq://127\.0\.0\.1:\d+$')
    self.assertEqual(second, first)
    self.assertIn('worker:0 | Started server', ended.err)

  def test_progress_in_place_is_no_flood_of_lines(self):
    ended = self.run_to_end('--', 'printf', r'\rstep 1\rstep 2\rstep 3\n')
    self.assertEqual(ended.out, 'worker:0 | step 3\n')

  def test_summary_is_the_last_line_of_each_program(self):
    ended = self.run_to_end(
        '--summary', '--workers=2', '--', 'sh', '-c',
        'echo begun; echo "ended {task_index}"; echo why >&2')
    self.assertEqual(sorted(ended.out.splitlines()),
                     ['worker:0 | ended 0', 'worker:1 | ended 1'])
    self.assertIn('worker:0 | why', ended.err)

  def test_output_of_tasks_is_written_to_log_dir(self):
    with tempfile.TemporaryDirectory() as folder:
      self.run_to_end(f'--log_dir={folder}/logs', '--', 'echo', 'hello')
      with open(f'{folder}/logs/worker_0.log', encoding='utf-8') as log:
        self.assertEqual(log.read(), 'hello\n')
      with open(f'{folder}/logs/ps_0.log', encoding='utf-8') as log:
        self.assertIn('Started server', log.read())

  def test_targets_are_printed_without_a_program(self):
    launcher = self.start('--ps=1', '--workers=1')
    cluster = json.loads(launcher.wait_for('{"ps"').partition(' ')[2])
    launcher.wait_for('worker:0 zmq://' + cluster['worker'][0])
    launcher.wait_for('Ctrl-C')
    launcher.send(signal.SIGINT)
    self.assertEqual(launcher.end(), 0, launcher.err)
    self.assertEqual(launcher.left(), [])


class TroubleTest(LocalClusterTest):
  """Tests that a failure is reported and stops the cluster."""

  def test_service_that_cannot_start(self):
    ended = self.run_to_end('--ps=2', FAKE_ps_1='fail')
    self.assertEqual(ended.code, 1)
    self.assertIn('ps:1     | INVALID_ARGUMENT: no\n', ended.err)
    self.assertIn('ps:1 ended with exit code 3', ended.err)

  def test_a_service_that_dies_later(self):
    ended = self.run_to_end('--', *_STAY, FAKE_ps_0='die_later')
    self.assertEqual(ended.code, 1)
    self.assertIn('ps:0 was killed by SIGKILL', ended.err)

  def test_services_that_are_shut_down_by_others(self):
    with tempfile.TemporaryDirectory() as folder:
      pipe = os.path.join(folder, 'both_have_started')
      os.mkfifo(pipe)
      ended = self.run_to_end(FAKE_ps_0=f'shut_down:w:{pipe}',
                              FAKE_worker_0=f'shut_down:r:{pipe}')
    self.assertEqual(ended.code, 0, ended.err)

  def test_services_that_do_not_get_ready(self):
    ended = self.run_to_end('--ready_timeout=0.01', FAKE_ps_0='never_ready',
                            FAKE_worker_0='never_ready')
    self.assertEqual(ended.code, 1)
    self.assertIn('not ready after 0.01 s: ps:0, worker:0', ended.err)

  def test_taken_port_is_replaced_by_another_one(self):
    with tempfile.TemporaryDirectory() as folder:
      ended = self.run_to_end('--', 'echo', 'hello',
                              FAKE_ps_0=f'taken_once:{folder}/been')
    self.assertEqual(ended.code, 0, ended.err)
    self.assertIn('ps:0 found its port taken; trying again', ended.err)
    self.assertEqual(ended.out, 'worker:0 | hello\n')

  def test_a_port_that_is_taken_again(self):
    ended = self.run_to_end(FAKE_ps_0='taken')
    self.assertEqual(ended.code, 1)
    self.assertEqual(ended.err.count('ps:0 found its port taken'), 2, ended.err)

  def test_wrong_flags_are_refused_at_once(self):
    for arguments, code, text in (
        (['--', '/no/such/program'], 127, '/no/such/program'),
        (['--ps=0', '--workers=0'], 2, 'there must be a ps or a worker'),
        (['--workers=0', '--', 'echo'], 2, 'as the workers'),
        (['--client'], 2, 'needs a program'),
        (['--evaluators=1'], 2, '--evaluators needs a program'),
        (['--ps=x'], 2, '--ps'), (['--ps=-1'], 2, 'between 0 and'),
        (['--psss=1'], 2, '--psss'),
        (['--worker=2'], 2, 'Did you mean --workers?')):
      with self.subTest(arguments):
        ended = self.run_to_end(*arguments)
        self.assertEqual(ended.code, code, ended.err)
        self.assertIn(text, ended.err)
        self.assertNotIn('Started', ended.err)

  def test_missing_service_is_named(self):
    ended = self.run_to_end(services='/no/such/folder')
    self.assertEqual(ended.code, 1)
    self.assertIn('no program /no/such/folder/ps/ps', ended.err)


class RestartTest(LocalClusterTest):
  """Tests that --restart starts lost services again."""

  def test_lost_service_restarts_at_its_address(self):
    with tempfile.TemporaryDirectory() as folder:
      os.mkfifo(f'{folder}/been.pipe')
      ended = self.run_to_end(
          '--restart', '--restart_delay=0.01', '--', 'sh', '-c',
          'echo "$TF_CONFIG"; cat "$0"', f'{folder}/been.pipe',
          FAKE_ps_0=f'die_once:{folder}/been')
    self.assertEqual(ended.code, 0, ended.err)
    self.assertIn('ps:0 was killed by SIGKILL; starting it again in 0.01 s '
                  '(1 of 10 times)', ended.err)
    config, again = [json.loads(line.partition(' | ')[2])
                     for line in ended.out.splitlines()]
    self.assertEqual(again, config['cluster'])

  def test_too_many_losses_stop_the_cluster(self):
    ended = self.run_to_end('--restart', '--restart_delay=0', '--max_restarts=2',
                            '--', *_STAY, FAKE_ps_0='die_later')
    self.assertEqual(ended.code, 1)
    self.assertIn('(2 of 2 times)', ended.err)
    self.assertIn('ps:0 was killed by SIGKILL after 2 restarts; stopping',
                  ended.err)

  def test_failed_first_start_is_not_repeated(self):
    ended = self.run_to_end('--restart', FAKE_ps_0='fail')
    self.assertEqual(ended.code, 1)
    self.assertIn('ps:0 ended with exit code 3; stopping', ended.err)

  def test_shutdown_is_not_a_loss(self):
    with tempfile.TemporaryDirectory() as folder:
      pipe = os.path.join(folder, 'both_have_started')
      os.mkfifo(pipe)
      ended = self.run_to_end('--restart', FAKE_ps_0=f'shut_down:w:{pipe}',
                              FAKE_worker_0=f'shut_down:r:{pipe}')
    self.assertEqual(ended.code, 0, ended.err)
    self.assertNotIn('again', ended.err)

  def test_a_signal_ends_the_wait_for_a_restart(self):
    launcher = self.start('--restart', '--restart_delay=3600', '--', *_STAY,
                          FAKE_ps_0='die_later')
    launcher.wait_for('starting it again')
    launcher.send(signal.SIGTERM)
    self.assertEqual(launcher.end(), 128 + signal.SIGTERM, launcher.err)
    self.assertEqual(launcher.left(), [])

  def test_help_shows_the_flags(self):
    ended = self.run_to_end('--help')
    for flag in ('--restart ', '--restart_delay SECONDS', '--max_restarts N'):
      self.assertIn(flag, ended.out)


class StopTest(LocalClusterTest):
  """Tests that no process remains after signals."""

  def test_signals_while_the_program_runs(self):
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
      with self.subTest(number):
        launcher = self.start('--workers=2', '--', *_STAY)
        launcher.wait_for('running')
        launcher.send(number)
        self.assertEqual(launcher.end(), 128 + number, launcher.err)
        self.assertEqual(launcher.left(), [])

  def test_a_signal_before_all_are_ready(self):
    launcher = self.start('--', *_STAY, FAKE_ps_0='never_ready')
    launcher.wait_for('busy')
    launcher.send(signal.SIGINT)
    self.assertEqual(launcher.end(), 128 + signal.SIGINT, launcher.err)
    self.assertEqual(launcher.left(), [])
    self.assertNotIn('running', launcher.out)

  def test_the_second_signal_kills_at_once(self):
    launcher = self.start(FAKE_ps_0='stay')
    launcher.wait_for('Ctrl-C')
    launcher.send(signal.SIGINT)
    launcher.wait_for('SIGINT: stopping')
    launcher.send(signal.SIGINT)
    self.assertEqual(launcher.end(), 128 + signal.SIGINT)
    self.assertNotIn('still runs after', launcher.err)
    self.assertTrue(all_end(launcher.running()))
    self.assertEqual(launcher.left(), [])

  def test_a_quit_kills_at_once(self):
    launcher = self.start('--', *_STAY, FAKE_ps_0='stay')
    launcher.wait_for('running')
    running = launcher.running()
    launcher.send(signal.SIGQUIT)
    self.assertEqual(launcher.end(), 128 + signal.SIGQUIT)
    self.assertTrue(all_end(running))
    self.assertEqual(launcher.left(), [])

  def test_service_that_ignores_the_stop_is_killed(self):
    launcher = self.start('--', 'echo', 'hello', FAKE_ps_0='stay')
    self.assertEqual(launcher.end(), 0)
    self.assertIn('ps:0 still runs after 5 s', launcher.err)
    self.assertEqual(launcher.left(), [])

  def test_a_killed_launcher(self):
    # The program has a child that left its session.
    launcher = self.start('--workers=2', '--', 'sh', '-c',
                          'setsid sleep 1000 & echo running; wait')
    launcher.wait_for('running')
    running = launcher.running()
    self.assertGreaterEqual(len(running), 4)  # launcher, ps, two programs
    launcher.kill()
    self.assertTrue(all_end(running))
    self.assertEqual(launcher.left(), [])

  def test_children_of_a_program_that_ends(self):
    ended = self.run_to_end('--', 'sh', '-c', 'setsid sleep 1000 & echo running')
    self.assertEqual(ended.code, 0, ended.err)

  def test_closed_standard_output_stops_it(self):
    launcher = self.start('--', 'yes', close_after=1)
    self.assertEqual(launcher.end(), 128 + signal.SIGPIPE)
    self.assertEqual(launcher.left(), [])


if __name__ == '__main__':
  xml_unittest.main()
