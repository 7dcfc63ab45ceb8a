"""Runs a local cluster once: starts its tasks in order, waits, stops them.

The services start first, on ports that are reserved for them and for the
program during the run. The program starts when all services are ready. If
another process still took a port, everything is started once more with other
ports. With --restart, a service that is lost later is started again at its old
address.
"""

import os
import signal
import time

from tools.cluster import ports
from tools.cluster.plan import Plan
from tools.cluster.restarts import Restarts
from tools.cluster.supervisor import StopRequest
from tools.cluster.task_process import TaskProcess

_READY = 'Started server with target'
_PORT_TAKEN = 'ALREADY_EXISTS'
_POLL_S = 0.1
# A program may save before it ends. After that, the services are not used.
_PROGRAM_GRACE_S = 15.0
_SERVICE_GRACE_S = 5.0


class Failure(Exception):
  """The cluster must stop; `code` is the exit code."""

  def __init__(self, why, code=1):
    super().__init__(why)
    self.code = code


class _PortTaken(Exception):
  pass


def describe_end(process):
  """Returns, for example, 'ps:0 was killed by SIGKILL'."""
  number = process.code - 128
  if number in set(signal.Signals):
    return f'{process.name} was killed by {signal.Signals(number).name}'
  return f'{process.name} ended with exit code {process.code}'


class ClusterRun:
  """Runs a cluster.

  options: the parsed flags of local_cluster.py
  binaries: job -> path of the service's program
  """

  def __init__(self, options, binaries, supervisor, display, environment):
    self._options = options
    self._binaries = binaries
    self._supervisor = supervisor
    self._display = display
    self._environment = environment
    self._plan = None
    self._services = []
    self._programs = []
    self._taken = set()  # processes that found their port taken
    self._restarts = Restarts(
        options.max_restarts if options.restart else 0, options.restart_delay)
    self._begun = set()  # names of services that have been ready

  def on_line(self, process, text):
    """Reads the state of a task from a line of its output."""
    if not process.is_ready:
      process.is_ready = _READY in text
      if _PORT_TAKEN in text:
        self._taken.add(process)

  def run(self):
    """Returns the exit code: the program's, if there is one.

    Raises Failure if the cluster must stop.
    """
    for is_last in (False, True):
      try:
        return self._run_once()
      except _PortTaken as taken:
        if is_last:
          raise Failure(str(taken)) from taken
        self._display.say(f'{taken}; trying again with other ports')
      except StopRequest as request:
        self._display.say(f'{request}: stopping; a second one kills all tasks')
        return request.code if self._options.program else 0
      finally:
        self._stop()
    raise AssertionError('not reached')

  def _run_once(self):
    metrics = self._options.metrics
    num_tasks = sum(count for _, count in self._options.jobs)
    with ports.Ports(num_tasks * (2 if metrics else 1)) as kept:
      self._plan = Plan(self._options.jobs, kept.numbers, metrics,
                        self._options.evaluators)
      self._start_services()
      if metrics:
        self._say_metrics()
      if not self._options.program:
        return self._stay()
      self._start_programs()
      return self._await_programs()

  def _served(self):
    """Returns the tasks that are services."""
    if self._options.program and not self._options.client:
      return self._plan.others('worker')
    return self._plan.tasks

  def _start_services(self):
    began = time.monotonic()
    for task in self._served():
      self._services.append(self._start_service(task))
    self._wait_until(
        lambda: self._gone() or self._late(self._services) == [],
        self._options.ready_timeout)
    self._check_services()
    late = ', '.join(p.name for p in self._late(self._services))
    if late:
      raise Failure(f'not ready after {self._options.ready_timeout:g} s: {late}')
    self._say_ready(self._services, began)

  def _start_service(self, task):
    return self._start(task.name, [
        self._binaries[task.job],
        *self._plan.service_arguments(task, self._options.gpus,
                                      self._options.checkpoint_root)], {})

  def _mend_services(self):
    """Schedules restarts of lost services and starts those that are due.

    Only services that were ready before are restarted, and only with --restart.
    """
    self._begun.update(p.name for p in self._services if p.is_ready)
    for process in self._failed(self._services):
      if process.name not in self._begun or self._restarts.is_planned(process):
        continue
      number = self._restarts.lose(process)
      if number:
        self._display.say(
            f'{describe_end(process)}; starting it again in '
            f'{self._options.restart_delay:g} s ({number} of '
            f'{self._restarts.most} times)')
    tasks = {task.name: task for task in self._served()}
    for process in self._restarts.take_due():
      at = self._services.index(process)
      self._services[at] = self._start_service(tasks[process.name])

  def _gone(self):
    """Returns the services that have ended and are not started again."""
    self._mend_services()
    return [p for p in self._dead(self._services)
            if not self._restarts.is_planned(p)]

  def _lost(self):
    """Returns the services of _gone() that have failed."""
    return self._failed(self._gone())

  def _wait_until(self, done, timeout=None):
    options = {'timeout': timeout} if timeout is not None else {}
    if self._options.restart:
      options['poll'] = _POLL_S
    self._supervisor.wait_until(done, **options)

  def _start(self, name, command, environment, **streams):
    try:
      process = TaskProcess(
          name, command, {**os.environ, **self._environment, **environment},
          **streams)
    except OSError as error:
      raise Failure(f'{command[0]} cannot be run: {error.strerror}',
                    127) from error
    self._supervisor.add(process)
    return process

  def _start_programs(self):
    plan, program = self._plan, self._options.program
    if self._options.client:
      self._programs.append(self._start(
          'client', plan.fill_in(program), plan.client_environment(),
          inherit=True))
      return
    for task in plan.programs:
      self._programs.append(self._start(
          task.name, plan.fill_in(program, task), plan.task_environment(task),
          live=self._display.is_live))
      # An evaluator has no port, so its start cannot be observed.
      self._programs[-1].is_ready = task.address is None

  def _await_programs(self):
    """Returns the exit code once all have ended."""
    if not self._options.client:
      self._await_listening()
    self._wait_until(self._is_over)
    self._check_services()
    for process in self._failed(self._programs):
      self._check_port(process)
      if not self._options.client:
        self._display.say(describe_end(process))
      return process.code
    return 0

  def _await_listening(self):
    """Logs when all programs that are servers listen."""
    began = time.monotonic()
    wanted = {t.name: int(t.address.rpartition(':')[2])
              for t in self._plan.of('worker')}

    def ready():
      found = ports.listening() if self._late(self._programs) else ()
      for process in self._programs:
        process.is_ready = process.is_ready or wanted[process.name] in found
      return self._is_over() or not self._late(self._programs)

    self._supervisor.wait_until(ready, poll=_POLL_S)
    if not self._is_over():
      self._say_ready(self._programs, began)

  def _say_ready(self, processes, began):
    names = ', '.join(process.name for process in processes)
    self._display.say(f'ready after {time.monotonic() - began:.2f} s: {names}')

  def _say_metrics(self):
    answering = (self._plan.tasks if '{metrics_port}' in
                 ' '.join(self._options.program) else self._served())
    tasks = ' '.join(f'{ports.HOST}:{task.metrics_port}' for task in answering)
    self._display.say(f'metrics: weft top {tasks}')

  def _stay(self):
    tasks = self._plan.tasks
    column = max(len(task.name) for task in tasks)
    self._display.print(''.join([
        f'cluster: {self._plan.spec_text}\n',
        *(f'{task.name:<{column}} {task.target}\n' for task in tasks)]))
    self._display.say('Ctrl-C stops it')
    self._wait_until(lambda: self._lost() or self._have_stopped())
    self._check_services()
    return 0

  def _is_over(self):
    """Returns true if a service or program failed, or all programs ended."""
    dead = self._dead(self._programs)
    return (self._lost() or self._failed(self._programs) or
            len(dead) == len(self._programs))

  def _have_stopped(self):
    """Returns true if all services ended with 0, as after `weft shutdown`."""
    return all(p.code == 0 for p in self._services)

  def _dead(self, processes):
    return [p for p in processes if p.code is not None]

  def _failed(self, processes):
    return [p for p in processes if p.code]

  def _late(self, processes):
    return [p for p in processes if not p.is_ready]

  def _check_services(self):
    """Raises Failure if a service died; `weft shutdown` may end services."""
    for process in self._gone():
      if process.code or not process.is_ready:
        self._check_port(process)
        often = (f' after {self._restarts.most} restarts'
                 if self._restarts.most and process.name in self._begun else '')
        raise Failure(f'{describe_end(process)}{often}; stopping the others')

  def _check_port(self, process):
    if process in self._taken and process.name not in self._begun:
      raise _PortTaken(f'{process.name} found its port taken')

  def _stop(self):
    self._supervisor.stop(self._programs, _PROGRAM_GRACE_S)
    running = [p for p in self._services if p.code is None]
    self._supervisor.stop(running, _SERVICE_GRACE_S)
    for process in running:
      if process.code:
        self._display.say(f'{describe_end(process)} while it was being stopped')
    self._programs, self._services = [], []
    self._restarts.clear()
    self._begun.clear()
