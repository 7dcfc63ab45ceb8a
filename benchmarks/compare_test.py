"""Tests of the program compare, with small scripts for both sides."""

import contextlib
import io
import json
import os
import sys
import tempfile
import textwrap
import unittest
from unittest import mock

from benchmarks import compare
from tools import xml_unittest

# Logs its name and arguments, and prints a figure.
_SIDE = '''
import json, sys
with open({log!r}, 'a') as log:
  print({name!r}, *sys.argv[1:], file=log)
print('something to skip')
print(json.dumps({{'workload': 'x', **{more!r}, 'results': {{
    'noop_callable': {{'median': {value}, 'unit': 'us'}}}}}}))
'''


class CompareTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = folder.name
    self.log = self.path('log')

  def path(self, *names):
    return os.path.join(self.folder, *names)

  def write(self, name, text):
    os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
    with open(self.path(name), 'w', encoding='utf-8') as file:
      file.write(f'#!{sys.executable}\n' + textwrap.dedent(text))
    os.chmod(self.path(name), 0o755)

  def tensorflow(self, script, value):
    self.write('baselines/' + script, _SIDE.format(
        log=self.log, name='tensorflow ' + script, value=value,
        more={'tf': '2.0'}))

  def weft(self, program, value, optimized=True):
    self.write('weft/' + program, _SIDE.format(
        log=self.log, name='weft ' + program, value=value,
        more={'optimized': optimized}))

  def compare(self, *arguments, both=True):
    """Returns (exit code, standard output, standard error)."""
    out, err = io.StringIO(), io.StringIO()
    sides = ['--weft=' + self.path('weft')]
    if both:
      sides += ['--tensorflow_python=' + sys.executable,
                '--baselines=' + self.path('baselines')]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
      try:
        code = compare.main([*sides, *arguments])
      except SystemExit as end:
        code = end.code
    return code, out.getvalue(), err.getvalue()

  def ran(self):
    with open(self.log, encoding='utf-8') as file:
      return [' '.join(line.split()[:2]) for line in file]

  def test_sides_alternate_and_swap_order(self):
    self.tensorflow('null_step.py', 30)
    self.weft('null_step', 10)
    code, out, _ = self.compare('--runs=3', '--only=null_step')
    self.assertEqual(code, 0)
    self.assertEqual(self.ran(), [
        'tensorflow null_step.py', 'weft null_step',
        'weft null_step', 'tensorflow null_step.py',
        'tensorflow null_step.py', 'weft null_step'])
    self.assertIn('| null_step | noop_callable | 30 us | 10 us | 3 × |', out)
    self.assertIn('TensorFlow 2.0', out)
    self.assertNotIn('--config=opt', out)

  def test_both_sides_run_the_same_steps(self):
    self.tensorflow('null_step.py', 30)
    self.weft('null_step', 10)
    self.compare('--runs=1', '--only=null_step')
    with open(self.log, encoding='utf-8') as file:
      tensorflow, weft = file.read().splitlines()
    self.assertIn('--steps 1000', tensorflow)
    self.assertIn('--json --steps=1000', weft)

  def test_estimator_group_has_own_python_and_data(self):
    self.tensorflow('estimator.py', 30)
    self.weft('estimator', 10)
    code, _, _ = self.compare('--runs=2', '--only=adult_csv', both=False)
    self.assertEqual(code, 0)
    self.assertFalse(os.path.exists(self.log), 'ran without rows')
    flags = ('--runs=2', '--only=adult_csv', '--data=/rows',
             '--estimator_python=' + sys.executable)
    code, _, err = self.compare(*flags, both=False)
    self.assertEqual(code, 2)
    self.assertIn('need --baselines', err)
    code, _, _ = self.compare(*flags, '--baselines=' + self.path('baselines'),
                              both=False)
    self.assertEqual(code, 0)
    with open(self.log, encoding='utf-8') as file:
      lines = file.read().splitlines()
    self.assertEqual(sorted(lines), [
        f'tensorflow estimator.py --input csv --seed {n}' for n in (1, 2)] + [
        f'weft estimator --json --data=/rows/adult --input=csv --seed={n}'
        for n in (1, 2)])

  def test_tensorflow_saves_are_durable(self):
    self.write('baselines/common.py', f"""
        import os, types
        log = open({self.log!r}, 'a')
        os.sync = lambda: print('tensorflow sync', file=log, flush=True)
        class Saver:
          def save(self, session, path, step):
            print('tensorflow save', path, step, file=log, flush=True)
            return path
        tf = types.SimpleNamespace(train=types.SimpleNamespace(Saver=Saver))
        import_tf = lambda: tf
        """)
    self.write('baselines/checkpoint.py', """
        import json
        import common
        def main():
          for step in range(2):
            assert common.import_tf().train.Saver().save(None, 'm', step) == 'm'
          print(json.dumps({'workload': 'checkpoint', 'results': {
              'save': {'median': 3, 'unit': 's'}}}))
        """)
    self.weft('checkpoint', 10)
    code, out, _ = self.compare('--runs=1', '--only=other/checkpoint$')
    self.assertEqual(code, 0, out)
    self.assertEqual(self.ran()[:4], ['tensorflow save', 'tensorflow sync'] * 2)
    self.assertIn('|  | save | 3 s |', out)

  def test_steps_of_model_replicas_are_added(self):
    # Worker 0 steps from second 0 to 3, worker 1 from 1 to 4.
    self.write('baselines/common.py', """
        import json
        class Cluster:
          def __init__(self, ps, worker, serve):
            self.spec = {'ps': [''] * ps, 'worker': [''] * worker}
          __enter__ = lambda self: self
          __exit__ = lambda self, *_: None
        class Child:
          def __init__(self, script, *arguments):
            flags = dict(zip(arguments[1::2], arguments[2::2]))
            self.steps, self.task = int(flags['--steps']), int(flags['--task'])
          read_line = kill = lambda self: None
          write_line = lambda self, line: None
          def read_json(self):
            return {'begin': self.task, 'end': 3 + self.task, 'loss': 2.5,
                    'steps': self.steps,
                    'latency': {'median': 30, 'unit': 'ms'}}
        value = lambda x, unit: {'median': x, 'unit': unit}
        emit = lambda workload, params, results: print(
            json.dumps({'results': results}))
        """)
    self.weft('models', 10)
    code, out, _ = self.compare('--runs=1', '--only=models_cluster')
    self.assertEqual(code, 0, out)
    for metric, figure in (('lenet_global_steps', '50 steps/s'),
                           ('wide_global_steps', '50 steps/s'),
                           ('wide_worker0_step', '30 ms'),
                           ('wide_loss', '2.5 nats')):
      self.assertIn(f'| {metric} | {figure} |', out)
    with open(self.log, encoding='utf-8') as file:
      self.assertEqual(file.read().split(), [
          'weft', 'models', '--json', '--cluster', '--only=lenet,wide',
          '--steps=100'])

  def test_failed_side_is_reported_and_others_run(self):
    self.tensorflow('null_step.py', 30)
    self.write('weft/null_step',
               "import sys\nsys.exit('no such cluster')")
    self.write('baselines/cross_task_step.py', "print('no JSON')")
    self.weft('cross_task_step', 10)
    code, out, err = self.compare('--runs=2', '--only=null|cross')
    self.assertEqual(code, 1)
    for number in (1, 2):
      self.assertIn(f'- weft between/null_step, run {number}: exit status 1: '
                    'no such cluster', out)
      self.assertIn(f'- tensorflow between/cross_task_step, run {number}: its '
                    'last line is not the JSON object', out)
    self.assertIn('no such cluster', err)
    self.assertIn('| null_step | noop_callable | 30 us |  |  |', out)
    self.assertIn('| cross_task_step | noop_callable |  | 10 us |  |', out)

  def test_hung_side_is_killed_with_its_children(self):
    # compare would wait for each process that holds the pipe.
    self.write('weft/null_step', '''
        import signal, subprocess, sys
        subprocess.Popen([sys.executable, '-c', 'import signal; signal.pause()'])
        signal.pause()
        ''')
    code, out, _ = self.compare('--runs=1', '--only=null', '--timeout=0.5',
                                both=False)
    self.assertEqual(code, 1)
    self.assertIn('no result in 0.5 s', out)

  def test_missing_program_is_a_failed_side(self):
    code, out, _ = self.compare('--runs=1', '--only=null', both=False)
    self.assertEqual(code, 1)
    self.assertIn('No such file', out)

  def test_weft_alone(self):
    self.weft('null_step', 10)
    code, out, _ = self.compare('--runs=1', '--only=null', both=False)
    self.assertEqual(code, 0)
    self.assertEqual(self.ran(), ['weft null_step'])
    self.assertIn('| noop_callable |  | 10 us |  |', out)

  def test_unoptimized_build_is_reported(self):
    self.weft('null_step', 10, optimized=False)
    _, out, _ = self.compare('--runs=1', '--only=null', both=False)
    self.assertIn('not built with --config=opt', out)

  def test_json_file_is_in_the_user_directory(self):
    self.weft('null_step', 10)
    with mock.patch.dict(os.environ,
                         {'BUILD_WORKING_DIRECTORY': self.folder}):
      self.compare('--runs=2', '--only=null', '--json=out.json', both=False)
    with open(self.path('out.json'), encoding='utf-8') as file:
      work = json.load(file)['workloads']['between/null_step']
    self.assertEqual(work['metrics']['noop_callable']['weft']['median'], 10)
    self.assertEqual(len(work['runs']['weft']), 2)

  def test_invalid_flags_fail_before_any_run(self):
    self.weft('null_step', 10)
    for flags, text in ((['--only=nothing_like_it'], 'names no workload'),
                        (['--only=('], '--only'),
                        (['--runs=0'], '--runs'),
                        (['--tensorflow_python=x'], '--baselines')):
      with self.subTest(flags=flags):
        code, _, err = self.compare(*flags, both=False)
        self.assertEqual(code, 2)
        self.assertIn(text, err)
    self.assertFalse(os.path.exists(self.log))

  def test_list_prints_the_workloads(self):
    code, out, _ = self.compare('--list', '--only=push', both=False)
    self.assertEqual((code, out), (0, 'between/push\nother/push_local\n'))


if __name__ == '__main__':
  xml_unittest.main()
