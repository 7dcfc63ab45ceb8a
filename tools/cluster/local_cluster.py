"""Starts a whole cluster on this machine and runs a program on it.

  tools/local_cluster [FLAGS] [-- PROGRAM ARGUMENTS...]

Starts each service as a process, on a free port of the loopback interface.
Shows each line of their logs after the name of the task. Stops all processes
when the program ends, or at Ctrl-C; a second Ctrl-C kills them.

The PROGRAM runs once for each worker and is that worker, like programs of
distributed TensorFlow. TF_CONFIG in its environment describes the task:

  {"cluster": {"ps": ["host:port", ...], "worker": [...]},
   "task": {"type": "worker", "index": 0}}

In its arguments, {job_name}, {task_index}, {cluster} (the object above, as for
--cluster of the services), {target} (the zmq://host:port of the task) and
{metrics_port} (-1 without --metrics) are replaced. The cluster stops when all
of these processes have ended, or one has failed. The exit code is 0, or the
exit code of the failed process.

A service that is killed or fails stops the cluster too. With --restart it is
started again at the same address, without its variables and queues, as a
process manager would do; a program that can recover continues
(docs/operations/failure.md).

With --evaluators, the PROGRAM also runs as evaluators: their type in TF_CONFIG
is "evaluator". They are not in the cluster; they evaluate the checkpoints of
the workers.

With --client, the workers are services too, and the PROGRAM runs once, as their
client: {target} in its arguments and WEFT_TARGET in its environment are the
address of worker 0; {cluster} and TF_CONFIG contain the other addresses. Its
standard input is the launcher's, and standard output has only its own output.
The exit code is the program's.

Without a PROGRAM, prints the cluster and the target of each task, and runs
until Ctrl-C.

  tools/local_cluster --ps=2 --workers=2 -- bazel-bin/examples/fashion_mnist
  tools/local_cluster --ps=2 --workers=2 --evaluators=1 \\
      -- bazel-bin/examples/adult_income
  tools/local_cluster --client -- bazel-bin/examples/simple_client {target} init
"""

import argparse
import difflib
import os
import shutil
import sys

from tools.cluster import services
from tools.cluster.cluster_run import ClusterRun, Failure
from tools.cluster.display import Display, Sink
from tools.cluster.guard import Guard
from tools.cluster.summary_display import SummaryDisplay
from tools.cluster.supervisor import Supervisor
from tools.cluster.task_logs import LogFolder, NoLogs

_MOST = 200  # tasks of one job
_LONGEST_DELAY_S = 3600


def _count(text):
  number = int(text)
  if not 0 <= number <= _MOST:
    raise argparse.ArgumentTypeError(f'{number} is not between 0 and {_MOST}')
  return number


def _seconds(text):
  seconds = float(text)
  if not 0 <= seconds <= _LONGEST_DELAY_S:
    raise argparse.ArgumentTypeError(
        f'{text} is not between 0 and {_LONGEST_DELAY_S}')
  return seconds


def _parser():
  parser = argparse.ArgumentParser(
      prog='tools/local_cluster', description=__doc__, allow_abbrev=False,
      usage='%(prog)s [FLAGS] [-- PROGRAM ARGUMENTS...]',
      formatter_class=argparse.RawDescriptionHelpFormatter)
  add = parser.add_argument
  add('--ps', type=_count, default=1, metavar='N',
      help='parameter servers (default 1)')
  add('--workers', type=_count, default=1, metavar='N',
      help='workers (default 1)')
  add('--evaluators', type=_count, default=0, metavar='N',
      help='also run the program as N evaluators (default 0)')
  add('--coordinator', action='store_true',
      help='a separate coordinator; without it, another task hosts it')
  add('--checkpoint_writers', type=_count, default=0, metavar='N',
      help='checkpoint writers (default 0)')
  add('--checkpoint_root', metavar='DIR',
      help='folder for files of checkpoint writers (default: this folder)')
  add('--gpus', type=_count, default=0, metavar='N',
      help='GPU devices of host memory in each ps and worker service')
  add('--metrics', action='store_true',
      help='export metrics for Prometheus and `weft top`, on one port per '
           'service; programs with --metrics_port={metrics_port} in their '
           'arguments do so too')
  add('--restart', action='store_true',
      help='restart a service that was killed or failed after all were ready, '
           'at the same address; without this flag the cluster stops')
  add('--restart_delay', type=_seconds, default=1, metavar='SECONDS',
      help='with --restart: delay before a lost service starts (default 1)')
  add('--max_restarts', type=_count, default=10, metavar='N',
      help='with --restart: how often each service is restarted; its next '
           'loss stops the cluster (default 10)')
  add('--client', action='store_true',
      help='run the program once, as a client of worker services')
  add('--summary', action='store_true',
      help='show one line per task, which changes in place on a terminal, '
           'instead of all output; warnings and errors are still shown')
  add('--log_dir', metavar='DIR',
      help='also write the output of each task to DIR/ps_0.log and so on')
  add('--ready_timeout', type=float, default=60, metavar='SECONDS',
      help='time limit for services to become ready (default 60)')
  add('--services_dir', metavar='DIR',
      help='folder of the services (DIR/ps/ps and so on); default: the output '
           'of bazel build --config=opt, built if missing')
  return parser


def parse(arguments):
  """Returns the options; exits with an error on stderr if they are wrong."""
  flags, program = arguments, []
  if '--' in arguments:
    at = arguments.index('--')
    flags, program = arguments[:at], arguments[at + 1:]
  parser = _parser()
  options, unknown = parser.parse_known_args(flags)
  if unknown:
    _refuse(parser, unknown)
  options.program = program
  options.jobs = [(job, count) for job, count in (
      ('coordinator', int(options.coordinator)), ('ps', options.ps),
      ('worker', options.workers),
      ('checkpoint_writer', options.checkpoint_writers)) if count]
  _check(parser, options)
  return options


def _refuse(parser, unknown):
  """Exits with an error for unknown flags."""
  known = [flag for action in parser._actions  # pylint: disable=W0212
           for flag in action.option_strings]
  near = difflib.get_close_matches(unknown[0].partition('=')[0], known)
  parser.error(f'unrecognized arguments: {" ".join(unknown)}.' +
               (f' Did you mean {" or ".join(near)}?' if near else ''))


def _check(parser, options):
  program = options.program
  if options.checkpoint_root and not os.path.isdir(options.checkpoint_root):
    parser.error(f'--checkpoint_root: {options.checkpoint_root} is not a folder')
  if not options.ps + options.workers:
    parser.error('there must be a ps or a worker')
  if options.client and not program:
    parser.error('--client needs a program: -- PROGRAM ARGUMENTS...')
  if options.evaluators and (options.client or not program):
    parser.error('--evaluators needs a program that runs as the tasks: '
                 '-- PROGRAM ARGUMENTS...')
  if program and not options.client and not options.workers:
    parser.error('the program runs as the workers, but there are none; '
                 'with --client it runs beside the tasks')
  if program and not shutil.which(program[0]):
    parser.exit(127, f'local_cluster: {program[0]} is not executable\n')


def _task_names(options):
  jobs = [*options.jobs, ('evaluator', options.evaluators)]
  return [f'{job}:{i}' for job, count in jobs for i in range(count)]


def _logs(options):
  if not options.log_dir:
    return NoLogs()
  return LogFolder(options.log_dir, _task_names(options))


def _display(options):
  names, out, err = _task_names(options), Sink(1), Sink(2)
  if options.summary:
    return SummaryDisplay(names, 'worker:0', out, err)
  return Display(names, out, err)


def _binaries(options, checkout, display):
  jobs = [job for job, _ in options.jobs
          if job != 'worker' or options.client or not options.program]
  if options.services_dir:
    return services.in_folder(options.services_dir, jobs)
  return services.find(checkout, jobs, display.say)


def _run(options, binaries, display, guard):
  logs = _logs(options)
  supervisor = Supervisor(display, logs)
  run = ClusterRun(options, binaries, supervisor, display, guard.environment())
  supervisor.on_line = run.on_line
  supervisor.handle_signals()
  try:
    return run.run()
  finally:
    display.close()
    logs.close()


def main(checkout, arguments):
  """Returns the exit code."""
  options = parse(arguments)
  display = _display(options)
  try:
    binaries = _binaries(options, checkout, display)
    guard = Guard()
    try:
      return _run(options, binaries, display, guard)
    finally:
      guard.close()
  except (Failure, services.Missing) as failure:
    display.say(str(failure))
    return getattr(failure, 'code', 1)
  except OSError as error:  # such as too few descriptors, no such folder
    display.say(str(error))
    return 1
