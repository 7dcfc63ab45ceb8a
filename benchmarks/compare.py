"""Runs workloads on TensorFlow and on Weft in turn, and prints both figures.

  bazel run --config=opt //benchmarks:compare -- --tensorflow_python=PATH
      --baselines=DIR [--runs=3] [--only=REGEX] [--json=FILE]

or, where the benchmarks have been built, benchmarks/compare with the same
flags. PATH is a Python that has TensorFlow, DIR the folder of the scripts that
do the same work there, each printing one JSON line. The tables, in Markdown, go
to standard output, progress to standard error. A side that fails is named and
the rest goes on; the exit code is 1 then.

Nothing else should run meanwhile; what did is noted beside the workload.
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
  add('--tensorflow_python', metavar='PATH', help='without it: Weft alone')
  add('--baselines', metavar='DIR', help='needed with --tensorflow_python')
  add('--estimator_python', metavar='PATH',
      help='one with TensorFlow 2.15, the last that has tf.estimator; without '
      'it Weft runs the group estimator/ alone')
  add('--data', metavar='DIR',
      help='the folder of adult/adult.csv and criteo_sample/; without it '
      'nobody runs the group estimator/')
  add('--weft', metavar='DIR',
      help='the built benchmarks (default: those of this checkout)')
  add('--runs', type=int, default=3, metavar='N', help='of each side')
  add('--only', default='', metavar='REGEX',
      help='on the names that --list shows')
  add('--timeout', type=float, default=240, metavar='SECONDS',
      help='of one run')
  add('--json', metavar='FILE', help='also write all that was measured')
  add('--list', action='store_true', help='print the workloads and end')
  return parser


def _path(text):
  """As the user means it: "bazel run" starts programs elsewhere."""
  return os.path.join(os.environ.get('BUILD_WORKING_DIRECTORY', ''), text)


_HERE = os.path.dirname(os.path.abspath(__file__))


def _built_programs():
  """Beside this file, as Bazel lays them out, or where it builds them."""
  if os.access(os.path.join(_HERE, 'null_step'), os.X_OK):
    return _HERE
  return os.path.join(os.path.dirname(_HERE), 'bazel-bin', 'benchmarks')


class _Commands:
  """How each side of a workload is run."""

  def __init__(self, flags):
    self._python = flags.tensorflow_python and _path(flags.tensorflow_python)
    self._estimator_python = (
        flags.estimator_python and _path(flags.estimator_python))
    self._scripts = flags.baselines and _path(flags.baselines)
    self._data = flags.data and _path(flags.data)
    self._programs = _path(flags.weft) if flags.weft else _built_programs()

  def of(self, workload, side, number):
    """In round `number`; None where the side does not do it."""
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


def _say(text):
  print(text, file=sys.stderr, flush=True)


def _measure(flags, chosen, result):
  """Rounds go through all workloads, the sides of each in turn.

  A slow spell of the machine then falls on both sides of few of them.
  """
  commands = _Commands(flags)
  for number in range(1, flags.runs + 1):
    for workload in chosen:
      # Neither side always finds the machine as the other one left it.
      for side in comparison.SIDES[::1 if number % 2 else -1]:
        command = commands.of(workload, side, number)
        if command is None:
          continue
        run = one_run.run(command, flags.timeout)
        result.add(workload.name, side, number, run)
        _say(f'[{number}/{flags.runs}] {workload.name} {side}: '
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
  """A line on what ran; what makes the figures worthless is in it."""
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
  """The exit code."""
  parser = _parser()
  flags = parser.parse_args(arguments)
  if flags.runs < 1:
    parser.error('--runs is at least 1')
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
    parser.error('--only names no workload; --list shows them')
  machine = _machine()
  names = [w.name for w in chosen]
  result = comparison.Comparison()
  interrupted = False
  try:
    _measure(flags, chosen, result)
  except KeyboardInterrupt:
    interrupted = True  # what there is, is printed
  _print(flags, result, names, machine)
  if flags.json:
    _write_json(_path(flags.json), result, names, machine)
  if interrupted:
    return 128 + signal.SIGINT
  return 1 if result.failures else 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
