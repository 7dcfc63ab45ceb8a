"""Runs one side of a workload once: a program whose last line is JSON."""

import collections
import json
import os
import resource
import signal
import subprocess
import tempfile
import time

# `result`: the program's JSON object; if it is None, `error` is the reason.
# `others`: processors that other processes used during the run, on average.
Run = collections.namedtuple('Run', 'result error seconds others')

_TAIL = 600  # characters of a failed program's stderr


def _busy_seconds():
  """Returns the processor seconds of all processes and of our children."""
  with open('/proc/stat', encoding='ascii') as file:
    user, nice, system, _, _, *rest = map(int, file.readline().split()[1:])
  # Interrupts, and time that the hypervisor took (steal).
  machine = (user + nice + system + sum(rest[:3])) / os.sysconf('SC_CLK_TCK')
  children = resource.getrusage(resource.RUSAGE_CHILDREN)
  return machine, children.ru_utime + children.ru_stime


def _wait(process, timeout):
  """Returns (stdout, stderr, error), after it killed the process group."""
  error = ''
  try:
    try:
      out, err = process.communicate(timeout=timeout)
    finally:
      try:
        os.killpg(process.pid, signal.SIGKILL)
      except ProcessLookupError:
        pass
  except subprocess.TimeoutExpired:
    out, err = process.communicate()
    error = f'no result in {timeout:g} s'
  if process.returncode and not error:
    error = f'exit status {process.returncode}'
  return out, err, error


def _result(out):
  """Returns the object on the last line, or None."""
  try:
    result = json.loads(out.splitlines()[-1])
    return result if isinstance(result['results'], dict) else None
  except (IndexError, KeyError, TypeError, ValueError):
    return None


def run(command, timeout):
  """Returns a Run; failures of the program raise no exception."""
  machine, own = _busy_seconds()
  begin = time.monotonic()
  with tempfile.TemporaryDirectory() as scratch:
    try:
      process = subprocess.Popen(
          command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
          stderr=subprocess.PIPE, text=True, errors='replace',
          start_new_session=True,
          env=dict(os.environ, TMPDIR=scratch))
    except OSError as failure:
      return Run(None, str(failure), 0.0, 0.0)
    out, err, error = _wait(process, timeout)
  seconds = time.monotonic() - begin
  machine_after, own_after = _busy_seconds()
  others = max(0.0, (machine_after - machine) - (own_after - own)) / seconds
  result = None if error else _result(out)
  if result is None:
    error = error or 'its last line is not the JSON object of a workload'
    error += ': ' + err.strip()[-_TAIL:] if err.strip() else ''
  return Run(result, error, seconds, others)
