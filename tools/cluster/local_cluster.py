"""Starts a whole cluster on this machine, for trying programs on it.

  tools/local_cluster [FLAGS] [-- PROGRAM ARGUMENTS...]

Starts the services as processes of their own, on free ports of loopback, shows
each line they log under the name of its task, and stops all of them when the
program ends, or at Ctrl-C; a second Ctrl-C kills them. No process stays behind.

The PROGRAM runs once for each worker, and is that task itself, as programs of
distributed TensorFlow are. In its environment TF_CONFIG says which:

  {"cluster": {"ps": ["host:port", ...], "worker": [...]},
   "task": {"type": "worker", "index": 0}}

and in its arguments {job_name}, {task_index}, {cluster} (the object above, as
--cluster of the services takes it), {target} (the task's own zmq://host:port)
and {metrics_port} (with --metrics, else -1) are replaced. The cluster stops when
all of these processes have ended, or one has failed. The exit code is 0, or that
of the one that failed.

A service that is killed or fails stops the cluster too. With --restart it is
started again at the same address, without its variables and queues, as a
process manager would do; a program that recovers goes on
(docs/operations/failure.md).

With --evaluators it runs as evaluators, too: their type in TF_CONFIG is
"evaluator", and they are not in the cluster: they look at what the workers save.

With --client the workers are services too, and the PROGRAM runs once beside
them, as their client: {target} in its arguments is worker 0, and so is
WEFT_TARGET in its environment; {cluster} and TF_CONFIG say where the others are.
It reads and writes as if it were run alone: only its own output is on standard
output. The exit code is the program's.

Without a PROGRAM: prints the cluster and each task's target, and stays.

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
      help='run the program as so many evaluators, too (default 0)')
  add('--coordinator', action='store_true',
      help='a coordinator of its own; without it a task is that too')
  add('--checkpoint_writers', type=_count, default=0, metavar='N',
      help='checkpoint writers (default 0)')
  add('--checkpoint_root', metavar='DIR',
      help='where checkpoint writers keep files (default: this directory)')
  add('--gpus', type=_count, default=0, metavar='N',
      help='GPU devices of host memory in each ps and worker service')
  add('--metrics', action='store_true',
      help='services answer Prometheus, each at a port of its own, and '
           '`weft top`, which shows what they do; so do programs that take '
           '--metrics_port={metrics_port}')
  add('--restart', action='store_true',
      help='start a service again that was killed or has failed after all were '
           'ready, at the same address; without it that stops the cluster')
  add('--restart_delay', type=_seconds, default=1, metavar='SECONDS',
      help='with --restart: from the loss of a service to its start (default 1)')
  add('--max_restarts', type=_count, default=10, metavar='N',
      help='with --restart: how often each service is started again; its next '
           'loss stops the cluster (default 10)')
  add('--client', action='store_true',
      help='run the program once, beside worker services')
  add('--summary', action='store_true',
      help='show one line per task, which changes in place on a terminal, '
           'instead of all that tasks write; warnings and errors are shown')
  add('--log_dir', metavar='DIR',
      help='also keep what each task writes, in DIR/ps_0.log and so on')
  add('--ready_timeout', type=float, default=60, metavar='SECONDS',
      help='how long services may take to be ready (default 60)')
  add('--services_dir', metavar='DIR',
      help='the services, as DIR/ps/ps; else they are those of '
           'bazel build --config=opt, built when missing')
  return parser


def parse(arguments):
  """Returns the options; exits with what is wrong on stderr."""
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
  """Exits: there are no such flags."""
  known = [flag for action in parser._actions  # pylint: disable=W0212
           for flag in action.option_strings]
  near = difflib.get_close_matches(unknown[0].partition('=')[0], known)
  parser.error(f'unrecognized arguments: {" ".join(unknown)}.' +
               (f' Did you mean {" or ".join(near)}?' if near else ''))


def _check(parser, options):
  program = options.program
  if options.checkpoint_root and not os.path.isdir(options.checkpoint_root):
    parser.error(f'--checkpoint_root: {options.checkpoint_root} is no directory')
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
    parser.exit(127, f'local_cluster: {program[0]} is no program that can be run\n')


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
