#!/usr/bin/env python3
"""TensorFlow's side of "models --cluster": replicas of models on a cluster.

  models_cluster.py FOLDER [--only NAME,NAME] [--ps N] [--workers N] [--steps N]

Needs a Python with TensorFlow, and FOLDER of the baselines, which start the
cluster. Each ps is a process with a server. Each worker is a process with a
server and a session to it. A worker imports model_graphs/NAME.pb with its nodes
placed as tf.train.replica_device_setter places them. Prints one JSON object on
the last line; models.cc describes the metrics.
"""
import argparse
import json
import os
import sys
import time

_HERE = os.path.dirname(os.path.abspath(__file__))
_WARMUP = 20  # steps of each worker


def _count(text):
  if int(text) < 1:
    raise argparse.ArgumentTypeError(f'must be 1 or more, got {text}')
  return int(text)


def _graph_file(name):
  return os.path.join(_HERE, 'model_graphs', name + '.pb')


def _parse():
  parser = argparse.ArgumentParser(description=__doc__)
  parser.add_argument('folder', help='folder of the baselines')
  parser.add_argument('--only', default='lenet,wide', help='names of models')
  parser.add_argument('--ps', type=_count, default=2)
  parser.add_argument('--workers', type=_count, default=2)
  parser.add_argument('--steps', type=_count, default=60,
                      help='steps that each worker times for each model')
  # Flags of a worker's process.
  parser.add_argument('--cluster', help=argparse.SUPPRESS)
  parser.add_argument('--task', type=int, help=argparse.SUPPRESS)
  options = parser.parse_args()
  for name in options.only.split(','):
    if not os.path.exists(_graph_file(name)):
      parser.error(f'--only names an unknown model: {name}')
  return options


def _follows_another(node):
  """Returns whether the node is colocated with another node.

  Removes a variable's colocation with itself: import_graph_def gives no device
  to a node with a colocation.
  """
  classes = node.attr['_class'].list.s if '_class' in node.attr else []
  if list(classes) == [b'loc:@' + node.name.encode()]:
    del node.attr['_class']
    return False
  return bool(classes)


def _place(graph, device_of):
  """Places the nodes as if they had been built under `device_of`.

  Colocated nodes get no device: they follow others.
  """
  for node in graph.node:
    if not _follows_another(node):
      node.device = device_of(node)


def _import(tf, name, spec, device):
  graph = tf.GraphDef()
  with open(_graph_file(name), 'rb') as file:
    graph.ParseFromString(file.read())
  _place(graph, tf.train.replica_device_setter(cluster=spec,
                                               worker_device=device))
  tf.import_graph_def(graph, name='')


def _print_json(**fields):
  print(json.dumps(fields), flush=True)


def _time(step, steps):
  """Runs the steps; returns their times and the loss of the last one."""
  import common  # pylint: disable=import-error
  begin = last = time.monotonic()
  times = []
  for _ in range(steps):
    loss = step()
    now = time.monotonic()
    times.append(now - last)
    last = now
  return {'begin': begin, 'end': last, 'steps': steps, 'loss': float(loss),
          'latency': common.latency(sorted(times), 'ms')}


def _work(options):
  """Runs a worker's process.

  It reports when it is warm, begins when all workers are, reports its times,
  and then waits for its end.
  """
  import common  # pylint: disable=import-error
  common.die_with_parent()
  tf = common.import_tf()
  spec = tf.train.ClusterSpec(json.loads(options.cluster))
  server = tf.train.Server(spec, job_name='worker', task_index=options.task)
  device = f'/job:worker/task:{options.task}'
  _import(tf, options.only, spec, device)
  if options.task != 0:
    sys.stdin.readline()  # until the variables are initialized
  session = tf.Session(
      server.target, config=tf.ConfigProto(device_filters=['/job:ps', device]))
  if options.task == 0:
    session.run('init_all')
    _print_json(initialized=True)

  def step():
    return session.run(['loss:0', 'train'])[0]

  for _ in range(_WARMUP):
    step()
  _print_json(warm=True)
  sys.stdin.readline()
  _print_json(**_time(step, options.steps))
  sys.stdin.readline()  # until all workers have reported


def _time_together(workers):
  """Starts all workers together once they are warm; returns their times."""
  workers[0].read_line()
  for worker in workers[1:]:
    worker.write_line('initialized')
  for worker in workers:
    worker.read_line()
  for worker in workers:
    worker.write_line('go on')
  return [worker.read_json() for worker in workers]


def _measure(name, options):
  """Returns the results of one model, on a cluster of its own."""
  import common  # pylint: disable=import-error
  with common.Cluster(ps=options.ps, worker=options.workers,
                      serve=['ps']) as cluster:
    workers = []
    try:
      for task in range(options.workers):
        workers.append(common.Child(
            os.path.abspath(__file__), options.folder, '--only', name,
            '--steps', str(options.steps),
            '--cluster', json.dumps(cluster.spec), '--task', str(task)))
      timed = _time_together(workers)
    finally:
      for worker in workers:
        worker.kill()
  seconds = max(t['end'] for t in timed) - min(t['begin'] for t in timed)
  return {
      name + '_global_steps': common.value(
          sum(t['steps'] for t in timed) / seconds, 'steps/s'),
      name + '_worker0_step': timed[0]['latency'],
      name + '_loss': common.value(timed[0]['loss'], 'nats'),
  }


def main():
  options = _parse()
  sys.path.insert(0, options.folder)
  # A module of that folder.
  import common  # pylint: disable=import-error
  if options.cluster:
    _work(options)
    return
  results = {}
  for name in options.only.split(','):
    results.update(_measure(name, options))
  common.emit('models_cluster', {
      key: getattr(options, key) for key in ('ps', 'workers', 'steps', 'only')
  }, results)


if __name__ == '__main__':
  main()
