"""Plans a local cluster: its tasks, their addresses, arguments, environment."""

import collections
import json

from tools.cluster import ports

# The environment variables of programs.
TARGET_VARIABLE = 'WEFT_TARGET'
CONFIG_VARIABLE = 'TF_CONFIG'

# On one machine, a peer that is silent for this long is dead or stopped.
_PEER_TIMEOUT = '2.5s'

# Jobs that have devices.
_WITH_DEVICES = ('ps', 'worker')


class Task(collections.namedtuple('Task', 'job index address metrics_port',
                                  defaults=(None,))):
  """A task of the cluster; `metrics_port` is its port for Prometheus."""

  @property
  def name(self):
    return f'{self.job}:{self.index}'

  @property
  def target(self):
    return f'zmq://{self.address}' if self.address else ''


class Plan:
  """The tasks of a cluster and their addresses; immutable."""

  def __init__(self, jobs, port_numbers, metrics=False, evaluators=0):
    """Creates a plan.

    jobs: [(job, number of tasks)]
    port_numbers: one for each task, and with `metrics` one more for each
    evaluators: the number of tasks outside the cluster, which have no port
    """
    names = [(job, index) for job, count in jobs for index in range(count)]
    metrics_ports = port_numbers[len(names):] if metrics else [None] * len(names)
    self.tasks = [Task(job, index, f'{ports.HOST}:{port}', metrics_port)
                  for (job, index), port, metrics_port in zip(
                      names, port_numbers[:len(names)], metrics_ports,
                      strict=True)]
    self._evaluators = [Task('evaluator', index, None)
                        for index in range(evaluators)]

  @property
  def spec(self):
    """Job -> addresses, as in TF_CONFIG and in --cluster."""
    spec = {}
    for task in self.tasks:
      spec.setdefault(task.job, []).append(task.address)
    return spec

  @property
  def spec_text(self):
    return json.dumps(self.spec)

  def of(self, *jobs):
    return [task for task in self.tasks if task.job in jobs]

  @property
  def programs(self):
    """The tasks that a program runs as, unless it is a client."""
    return self.of('worker') + self._evaluators

  def others(self, *jobs):
    return [task for task in self.tasks if task.job not in jobs]

  @property
  def client_target(self):
    """The target of a client: worker 0, or ps 0 without workers."""
    return (self.of('worker') or self.of('ps'))[0].target

  def service_arguments(self, task, gpus, checkpoint_root=None):
    arguments = [f'--cluster={self.spec_text}',
                 f'--job_name={task.job}', f'--task_index={task.index}',
                 f'--peer_timeout={_PEER_TIMEOUT}']
    if task.metrics_port:
      arguments.append(f'--metrics_port={task.metrics_port}')
    if gpus and task.job in _WITH_DEVICES:
      arguments.append(f'--host_gpus={gpus}')
    if checkpoint_root and task.job == 'checkpoint_writer':
      arguments.append(f'--root={checkpoint_root}')
    return arguments

  def task_environment(self, task):
    """Returns the environment of a program that is the task."""
    return {
        CONFIG_VARIABLE: json.dumps({
            'cluster': self.spec,
            'task': {'type': task.job, 'index': task.index}}),
        TARGET_VARIABLE: task.target,
    }

  def client_environment(self):
    """Returns the environment of a program that is not a task."""
    return {CONFIG_VARIABLE: json.dumps({'cluster': self.spec}),
            TARGET_VARIABLE: self.client_target}

  def fill_in(self, arguments, task=None):
    """Returns `arguments` with {target}, {cluster}, ... replaced.

    Other braces are kept.
    """
    known = {'{cluster}': self.spec_text,
             '{target}': task.target if task else self.client_target}
    if task:
      known.update({'{job_name}': task.job, '{task_index}': str(task.index),
                    '{metrics_port}': str(task.metrics_port or -1)})

    def fill(argument):
      for word, meaning in known.items():
        argument = argument.replace(word, meaning)
      return argument
    return [fill(argument) for argument in arguments]
