"""Runs workloads on TensorFlow and on Weft alternately; prints both figures.

  bazel run --config=opt //benchmarks:compare -- --tensorflow_python=PATH
      --baselines=DIR [--runs=3] [--only=REGEX] [--json=FILE]

If the benchmarks have been built, benchmarks/compare takes the same flags. PATH
is a Python with TensorFlow. DIR is the folder of the scripts that do the same
work with TensorFlow; each prints one JSON line. The tables, in Markdown, go to
standard output, progress goes to standard error. A side that fails is reported,
the other runs continue, and the exit code is 1.

Nothing else should run at the same time. The load of other processes is noted
below the table.
"""

import argparse
import datetime
import json
import os
import re
import shlex
import signal
import sys

from benchmarks import comparison
from benchmarks import comparison_text
from benchmarks import one_run
from benchmarks import workloads


def _parser():
  parser = argparse.ArgumentParser(
      prog='compare', description=__doc__, allow_abbrev=False,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  add = parser.add_argument
  add('--tensorflow_python', metavar='PATH',
      help='a Python with TensorFlow; without it only Weft runs')
  add('--baselines', metavar='DIR', help='required with --tensorflow_python')
  add('--estimator_python', metavar='PATH',
      help='a Python with TensorFlow 2.15, the last version with tf.estimator; '
      'without it only Weft runs the group estimator/')
  add('--data', metavar='DIR',
      help='the folder of adult/adult.csv and criteo_sample/; without it '
      'the group estimator/ is skipped')
  add('--weft', metavar='DIR',
      help='the built benchmarks (default: those of this checkout)')
  add('--runs', type=int, default=3, metavar='N', help='runs of each side')
  add('--only', default='', metavar='REGEX',
      help='runs the workloads of --list whose names match')
  add('--timeout', type=float, default=240, metavar='SECONDS',
      help='limit of one run')
  add('--json', metavar='FILE', help='also write all measurements')
  add('--list', action='store_true', help='print the workloads and end')
  return parser


def _path(text):
  """Returns a path from the user's directory, which "bazel run" changes."""
  return os.path.join(os.environ.get('BUILD_WORKING_DIRECTORY', ''), text)


_HERE = os.path.dirname(os.path.abspath(__file__))


def _built_programs():
  """Returns the folder of the programs: beside this file or in bazel-bin."""
  if os.access(os.path.join(_HERE, 'null_step'), os.X_OK):
    return _HERE
  return os.path.join(os.path.dirname(_HERE), 'bazel-bin', 'benchmarks')


class _Commands:
  """The command lines of both sides of each workload."""

  def __init__(self, flags):
    self._python = flags.tensorflow_python and _path(flags.tensorflow_python)
    self._estimator_python = (
        flags.estimator_python and _path(flags.estimator_python))
    self._scripts = flags.baselines and _path(flags.baselines)
    self._data = flags.data and _path(flags.data)
    self._programs = _path(flags.weft) if flags.weft else _built_programs()

  def of(self, workload, side, number):
    """Returns the command of round `number`; None: the side has none."""
    if side == 'weft':
      if workloads.DATA in workload.weft and not self._data:
        return None
      program, *arguments = self._words(workload.weft, number)
      return [os.path.join(self._programs, program), '--json', *arguments]
    python = self._estimator_python if workload.estimator else self._python
    if not python or not self._scripts or not workload.tensorflow:
      return None
    script, *arguments = self._words(workload.tensorflow, number)
    folder = _HERE if script.startswith('./') else self._scripts
    return [python, os.path.join(folder, script), *arguments]

  def _words(self, command, number):
    replaced = {workloads.BASELINES: self._scripts, workloads.DATA: self._data,
                workloads.ROUND: str(number)}
    words = shlex.split(command)
    for key, value in replaced.items():
      words = [word.replace(key, value or '') for word in words]
    return words


def _log(text):
  print(text, file=sys.stderr, flush=True)


def _measure(flags, chosen, result):
  """Runs all workloads in each round, and both sides of each in turn.

  A slow period of the machine then affects both sides of few workloads.
  """
  commands = _Commands(flags)
  for number in range(1, flags.runs + 1):
    for workload in chosen:
      # The order alternates, so that no side always runs after the other one.
      for side in comparison.SIDES[::1 if number % 2 else -1]:
        command = commands.of(workload, side, number)
        if command is None:
          continue
        run = one_run.run(command, flags.timeout)
        result.add(workload.name, side, number, run)
        _log(f'[{number}/{flags.runs}] {workload.name} {side}: '
             f'{run.seconds:.1f} s' + (f': {run.error}' if run.error else ''))


def _processor():
  with open('/proc/cpuinfo', encoding='utf-8') as file:
    for line in file:
      if line.startswith('model name'):
        return line.partition(':')[2].strip()
  return 'unknown'


def _machine():
  load = os.getloadavg()[0]
  return (f'{datetime.date.today()}, {os.cpu_count()} processors '
          f'({_processor()}), load {load:.2f} at the start.')


def _versions(result, names):
  """Returns a line with the versions and, if needed, a warning."""
  versions, optimized = set(), True
  for name in names:
    versions |= {run.get('tf') for run in
                 result.results(name, 'tensorflow').values()}
    optimized &= all(run.get('optimized', True) for run in
                     result.results(name, 'weft').values())
  line = 'TensorFlow ' + ', '.join(sorted(map(str, versions))) + '. ' if (
      versions) else ''
  return line + ('' if optimized else
                 '**Weft was not built with --config=opt.**')


def _print(flags, result, names, machine):
  failures = [f'{side} {name}, run {number}: {error}'
              for name, side, number, error in result.failures]
  print('\n'.join([
      f'{machine} Medians of {flags.runs} runs, (lowest to highest). '
      f'{_versions(result, names)}'.rstrip(), '',
      *comparison_text.markdown(result, names, workloads.GOALS),
      *(['', 'Failed:', '', *(f'- {text}' for text in failures)]
        if failures else [])]), flush=True)


def _write_json(path, result, names, machine):
  with open(path, 'w', encoding='utf-8') as file:
    json.dump({'machine': machine, **comparison_text.as_json(
        result, names, workloads.GOALS)}, file, indent=1)


def main(arguments):
  """Returns the exit code."""
  parser = _parser()
  flags = parser.parse_args(arguments)
  if flags.runs < 1:
    parser.error('--runs must be at least 1')
  if (flags.tensorflow_python or flags.estimator_python) and (
      not flags.baselines):
    parser.error('--tensorflow_python and --estimator_python need --baselines')
  try:
    chosen = [w for w in workloads.WORKLOADS if re.search(flags.only, w.name)]
  except re.error as failure:
    parser.error(f'--only: {failure}')
  if flags.list:
    print('\n'.join(w.name for w in chosen))
    return 0
  if not chosen:
    parser.error('--only names no workload; --list prints the names')
  machine = _machine()
  names = [w.name for w in chosen]
  result = comparison.Comparison()
  interrupted = False
  try:
    _measure(flags, chosen, result)
  except KeyboardInterrupt:
    interrupted = True  # prints the results so far
  _print(flags, result, names, machine)
  if flags.json:
    _write_json(_path(flags.json), result, names, machine)
  if interrupted:
    return 128 + signal.SIGINT
  return 1 if result.failures else 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
