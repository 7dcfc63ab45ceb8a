"""Runs tools/quickstart.sh with scripts in place of Bazel, driver and cluster."""

import os
import shutil
import subprocess
import tempfile
import unittest

from tools import xml_unittest

_TOOLS = os.path.dirname(os.path.abspath(__file__))
_COPIED = ('quickstart.sh', 'gpu_architectures.sh', 'bazel_progress.py',
           'build_estimate.py', 'build_events.py', 'build_profiles.json',
           'build_weights.py', 'build_weights.tsv.gz')

# The scripts, by path; $STATE is the folder that contains the checkout.
_SCRIPTS = {
    'checkout/tools/setup.sh': '''
echo "$@" > "$STATE/setup"
echo "setup: everything is installed"''',
    'checkout/tools/local_cluster': '''
for argument; do
  case "$argument" in
    --log_dir=*) logs="${argument#*=}" ;;
    --checkpoint_root=*) root="${argument#*=}" ;;
  esac
done
mkdir -p "$logs" "$root/fashion_mnist"
[ -e "$STATE/no_training" ] && exit 3
echo "worker:0 | step 7"
echo "test accuracy 0.8712" > "$logs/worker_0.log"
echo 'model_checkpoint_path: "model.ckpt-7"
all_model_checkpoint_paths: "model.ckpt-3"' > "$root/fashion_mnist/checkpoint"''',
    'bin/bazel': '''
case "$1" in
  info) echo "$STATE/bazel-bin"; exit ;;
esac
echo "$@" > "$STATE/build"
for line in $(seq 100); do echo "INFO: noise $line" >&2; done
[ ! -e "$STATE/no_build" ]''',
    'bin/nvidia-smi': '''
[ -e "$STATE/gpus" ] || exit 9
case "$1" in
  -L) exit ;;
  *) cat "$STATE/gpus" ;;
esac''',
    'bazel-bin/examples/hello': 'echo Hello',
    'bazel-bin/examples/simple_client': 'echo 1.0',
}


class QuickstartTest(unittest.TestCase):

  def setUp(self):
    super().setUp()
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.state = folder.name
    self.data = os.path.join(self.state, 'data')
    for path, script in _SCRIPTS.items():
      self.write(path, f'#!/bin/sh\n{script}\n')
      os.chmod(os.path.join(self.state, path), 0o755)
    self.write('checkout/tools/trim_cache.py')
    for name in _COPIED:
      shutil.copy(os.path.join(_TOOLS, name),
                  os.path.join(self.state, 'checkout/tools', name))

  def write(self, name, text=''):
    path = os.path.join(self.state, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'w', encoding='utf-8') as file:
      file.write(text)

  def read(self, name):
    with open(os.path.join(self.state, name), encoding='utf-8') as file:
      return file.read()

  def defines(self):
    """Returns the options of the build that depend on the machine."""
    return [option for option in self.read('build').split()
            if option.startswith('--define=')]

  def quickstart(self, *arguments):
    return subprocess.run(
        ['bash', f'{self.state}/checkout/tools/quickstart.sh', *arguments],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False, timeout=60,
        env={'PATH': f'{self.state}/bin:/usr/bin:/bin', 'STATE': self.state,
             'HOME': self.state, 'WEFT_QUICKSTART_DIR': self.data})

  def test_success_ends_with_the_next_commands(self):
    ended = self.quickstart()
    self.assertEqual(ended.returncode, 0, ended.stdout)
    end = ended.stdout.partition('== Done')[2]
    newest = f'{self.data}/fashion_mnist/model.ckpt-7'
    self.assertIn(f'test accuracy 0.8712\ncheckpoint: {newest}\n', end)
    for command in (
        'tools/quickstart.sh',
        f'bazel run --config=opt {" ".join(self.defines())} //tools:weft -- '
        f"checkpoint ls '{newest}'",
        'tools/local_cluster --ps=2 --workers=2 --client -- '
        'bazel-bin/examples/simple_client {target} init'):
      self.assertIn(f'\n    {command}\n', end)

  def test_output_of_bazel_goes_to_the_log(self):
    ended = self.quickstart()
    # A real run also has progress: ten lines of build and twelve of training.
    self.assertLessEqual(len(ended.stdout.splitlines()), 38)
    log = f'{self.data}/quickstart.log'
    self.assertIn(log, ended.stdout.splitlines()[0])
    self.assertIn('noise 100', self.read(log))
    self.assertEqual(self.read('setup').split(),
                     ['--quickstart', f'--log={log}'])

  def test_failed_build_shows_the_end_of_the_log(self):
    self.write('no_build')
    ended = self.quickstart()
    self.assertEqual(ended.returncode, 1)
    lines = ended.stdout.splitlines()
    self.assertEqual(lines[-21:-1], [f'INFO: noise {n}' for n in range(81, 101)])
    self.assertIn(f'{self.data}/quickstart.log', lines[-1])

  def test_failed_training_names_the_logs(self):
    self.write('no_training')
    ended = self.quickstart()
    self.assertEqual(ended.returncode, 1)
    self.assertIn(f'logs are in {self.data}/tasks', ended.stdout)

  def test_gpu_kernels_need_a_driver(self):
    ended = self.quickstart()
    self.assertIn('--define=cuda=off', self.read('build').split())
    self.assertIn('no NVIDIA driver', ended.stdout)

  def test_gpus_choose_the_architectures(self):
    for capabilities, architectures in (('9.0\n', '90'),
                                        ('9.0\n8.0\n9.0\n', '80,90')):
      self.write('gpus', capabilities)
      self.assertEqual(self.quickstart().returncode, 0)
      self.assertIn(f'--define=cuda_archs={architectures}',
                    self.read('build').split())

  def test_old_driver_builds_for_all_architectures(self):
    self.write('gpus', 'Field "compute_cap" is not a valid field\n')
    ended = self.quickstart()
    self.assertEqual(ended.returncode, 0, ended.stdout)
    self.assertNotIn('--define=cuda', self.read('build'))

  def test_second_run_continues_and_fresh_starts_over(self):
    self.quickstart()
    self.assertRegex(self.quickstart().stdout, '(?m)^continues from ')
    self.assertNotIn('continues from', self.quickstart('--fresh').stdout)


if __name__ == '__main__':
  xml_unittest.main()
