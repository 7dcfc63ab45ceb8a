"""The workloads that compare runs, and the goals of their figures."""

import collections
import json
import os

# The work of both sides. `tensorflow` is a script in --baselines, or with "./"
# in this folder, and its arguments; '' if only Weft does the work. `weft` is a
# program of this folder and its arguments. In arguments, BASELINES stands for
# the folder --baselines, DATA for the folder --data, ROUND for the number of
# the round. The name begins with a group, for --only. `estimator`: TensorFlow's
# side needs tf.estimator, which newer versions do not have.
Workload = collections.namedtuple('Workload', 'name tensorflow weft estimator',
                                  defaults=(False,))

# A bound of the figure of a metric, or of its ratio to `to`: TF, as "so many
# times better than TensorFlow", or (workload, metric) of Weft.
Goal = collections.namedtuple('Goal', 'workload metric relation bound unit to')

BASELINES = '{baselines}'
DATA = '{data}'
ROUND = '{round}'
TF = 'TensorFlow'
AT_MOST = '≤'
AT_LEAST = '≥'
# The means of all rounds differ by at most the bound, in either direction.
WITHIN = '±'

# All run between processes. A full comparison of these takes minutes, so both
# sides run fewer steps than the scripts' own defaults.
_BETWEEN = 'between/'
_OTHER = 'other/'
_ESTIMATOR = 'estimator/'
_MODELS = ('lenet', 'resnet', 'lstm', 'wide')

WORKLOADS = (
    Workload(_BETWEEN + 'bare_round_trip', '', 'bare_round_trip --seconds=1'),
    Workload(_BETWEEN + 'null_step', 'null_step.py --steps 1000',
             'null_step --steps=1000 --seconds=2 --bulk=false'),
    Workload(_BETWEEN + 'cross_task_step', 'cross_task_step.py --steps 400',
             'cross_task_step --steps=400'),
    Workload(_BETWEEN + 'pull', 'transfer.py --op pull --seconds 1',
             'transfer --op=pull --seconds=1'),
    Workload(_BETWEEN + 'push', 'transfer.py --op push --seconds 1',
             'transfer --op=push --seconds=1'),
    Workload(_BETWEEN + 'mlp_async', 'mlp.py --steps 1000',
             'mlp_async --steps=1000'),
    Workload(_BETWEEN + 'mlp_async_1024',
             'mlp.py --hidden 1024,1024 --steps 200',
             'mlp_async --hidden=1024,1024 --steps=200'),
    Workload(_BETWEEN + 'models_cluster',
             f'./models_cluster.py {BASELINES} --only lenet,wide --steps 100',
             'models --cluster --only=lenet,wide --steps=100'),
    Workload(_OTHER + 'push_local', 'transfer.py --op push_local --seconds 1',
             'transfer --op=push_local --seconds=1'),
    Workload(_OTHER + 'mlp_async_1_worker', 'mlp.py --workers 1 --steps 1000',
             'mlp_async --workers=1 --steps=1000'),
    Workload(_OTHER + 'mlp_async_resident',
             'mlp.py --data resident --steps 1000',
             'mlp_async --data=resident --steps=1000'),
    Workload(_OTHER + 'sync_replicas', 'mlp.py --sync replicas --steps 500',
             'mlp_async --sync=replicas --steps=500'),
    Workload(_OTHER + 'embedding', 'embedding.py --seconds 4',
             'embedding --seconds=4'),
    Workload(_OTHER + 'embedding_sgd', 'embedding.py --update sgd --seconds 4',
             'embedding --update=sgd --seconds=4'),
    Workload(_OTHER + 'embedding_adagrad',
             'embedding.py --update adagrad --seconds 4',
             'embedding --update=adagrad --seconds=4'),
    Workload(_OTHER + 'local_step', 'local_step.py --seconds 1',
             'local_step --seconds=1'),
    Workload(_OTHER + 'startup', 'startup.py', 'cluster_start'),
    # TensorFlow restores a checkpoint instead, which is different work.
    Workload(_OTHER + 'recovery', '', 'recovery'),
    Workload(_OTHER + 'checkpoint', './durable_checkpoint.py ' + BASELINES,
             'checkpoint'),
    # Its steps write the variables that are saved.
    Workload(_OTHER + 'checkpoint_training', '',
             'checkpoint --stepping=training'),
    Workload(_OTHER + 'footprint', 'footprint.py', 'footprint'),
    Workload(_OTHER + 'control_flow', './control_flow.py', 'control_flow'),
    Workload(_OTHER + 'ingest', 'ingest.py --seconds 2',
             'ingest --seconds=2'),
    *(Workload(_ESTIMATOR + 'adult_' + kind,
               f'estimator.py --input {kind} --seed {ROUND}',
               f'estimator --data={DATA}/adult --input={kind} --seed={ROUND}',
               estimator=True) for kind in ('csv', 'memory')),
    *(Workload(_ESTIMATOR + model, '',
               f'estimator --model={model} --data={DATA}/criteo_sample '
               f'--steps=100 --seed={ROUND}')
      for model in ('criteo_wide_deep', 'criteo_dlrm')),
    Workload('models', 'models.py', 'models'),
    # Each has its own processes: a model could reuse the memory of another.
    *(Workload('memory/' + name, f'./model_memory.py --only {name}',
               f'models --only={name} --steps=20') for name in _MODELS),
    Workload('ops', './ops.py', 'ops'),
    Workload('ops_all_cores', './ops.py --all_cores', 'ops --all_cores'),
)

_BARE = (_BETWEEN + 'bare_round_trip', 'round_trip')
_RAW_TCP = (_BETWEEN + 'bare_round_trip', 'raw_tcp_100MB')


def _transfer_goals(workload):
  """Returns the goals of pull or push."""
  return (
      Goal(workload, '4KB_rate', AT_LEAST, 5, '', TF),
      Goal(workload, '1MB_rate', AT_LEAST, 3, '', TF),
      Goal(workload, '100MB_rate', AT_LEAST, 2, '', TF),
      Goal(workload, '100MB_rate', AT_LEAST, 0.75, '', _RAW_TCP),
  )


def _ingest_goals():
  """Returns the goals of CSV and of records, for queues and for Datasets."""
  workload = _OTHER + 'ingest'
  goals = []
  for kind in ('queue', 'data'):
    goals += [
        Goal(workload, 'csv_%s_line_at_a_time' % kind, AT_LEAST, 10, '', TF),
        Goal(workload, 'csv_%s_block_at_a_time' % kind, AT_LEAST, 3, '', TF),
        Goal(workload, 'tfrecord_records_%s_256B' % kind, AT_LEAST, 3, '', TF),
        Goal(workload, 'tfrecord_records_%s_65536B' % kind, AT_LEAST, 1, '',
             TF),
    ]
  return tuple(goals)


def _ops_goals(workload):
  """Returns the goals of all ops that are timed alone."""
  path = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      'ops_cases.json')
  with open(path, encoding='utf-8') as file:
    return tuple(Goal(workload, case['name'], AT_LEAST, 0.9, '', TF)
                 for case in json.load(file))


GOALS = (
    Goal(_BETWEEN + 'null_step', 'noop_callable', AT_MOST, 1.5, '', _BARE),
    Goal(_BETWEEN + 'null_step', 'noop_callable_16_threads_rate', AT_LEAST,
         40_000, 'steps/s', None),
    # 40,000 of 69,000: ZeroMQ alone had that rate where the goal was set.
    Goal(_BETWEEN + 'null_step', 'noop_callable_16_threads_rate', AT_LEAST,
         0.6, '', (_BETWEEN + 'bare_round_trip', 'round_trip_16_threads_rate')),
    Goal(_BETWEEN + 'cross_task_step', 'worker0_callable', AT_MOST, 4, '',
         _BARE),
    Goal(_BETWEEN + 'cross_task_step', 'worker1_callable', AT_MOST, 3.5, '',
         _BARE),
    Goal(_BETWEEN + 'cross_task_step', 'worker0_callable', AT_LEAST, 5, '', TF),
    Goal(_BETWEEN + 'cross_task_step', 'worker1_callable', AT_LEAST, 5, '', TF),
    *_transfer_goals(_BETWEEN + 'pull'),
    *_transfer_goals(_BETWEEN + 'push'),
    Goal(_BETWEEN + 'mlp_async', 'global_steps', AT_LEAST, 4, '', TF),
    Goal(_BETWEEN + 'mlp_async_1024', 'global_steps', AT_LEAST, 1.6, '', TF),
    *(Goal(_BETWEEN + 'models_cluster', name + '_global_steps', AT_LEAST, 1.2,
           '', TF) for name in ('lenet', 'wide')),
    Goal(_OTHER + 'sync_replicas', 'global_steps', AT_LEAST, 4, '', TF),
    Goal(_OTHER + 'embedding', 'rows', AT_LEAST, 6, '', TF),
    Goal(_OTHER + 'embedding_sgd', 'rows', AT_LEAST, 4, '', TF),
    Goal(_OTHER + 'embedding_adagrad', 'rows', AT_LEAST, 4, '', TF),
    Goal(_OTHER + 'local_step', 'local_op_from_chain_1000', AT_MOST, 100,
         'ns/op', None),
    Goal(_OTHER + 'startup', 'launch_to_first_step', AT_MOST, 0.5, 's', None),
    Goal(_OTHER + 'recovery', 'kill_to_error', AT_MOST, 1, 's', None),
    Goal(_OTHER + 'recovery', 'stop_to_error', AT_MOST, 3, 's', None),
    Goal(_OTHER + 'control_flow', 'while_10000', AT_LEAST, 3, '', TF),
    Goal(_OTHER + 'control_flow', 'char_rnn_step', AT_LEAST, 1.5, '', TF),
    # The limit is the slower of the disk alone and a 100 MB pull.
    Goal(_OTHER + 'checkpoint', 'save_of_limit', AT_LEAST, 0.7, 'of limit',
         None),
    Goal(_OTHER + 'checkpoint', 'save', AT_LEAST, 1, '', TF),
    Goal(_OTHER + 'checkpoint', 'restore', AT_LEAST, 1, '', TF),
    Goal(_OTHER + 'checkpoint', 'longest_during_save', AT_MOST, 1.5, '',
         (_OTHER + 'checkpoint', 'longest_outside_save')),
    Goal(_OTHER + 'checkpoint_training', 'longest_during_save', AT_MOST, 1.5,
         '', (_OTHER + 'checkpoint_training', 'longest_outside_save')),
    Goal(_OTHER + 'checkpoint', 'rate_ratio', AT_LEAST, 0.9, 'during/outside',
         None),
    Goal(_OTHER + 'checkpoint_training', 'rate_ratio', AT_LEAST, 0.9,
         'during/outside', None),
    # 19.07 MiB are 20 MB.
    Goal(_OTHER + 'footprint', 'idle_rss', AT_MOST, 19.07, 'MiB', None),
    Goal(_OTHER + 'footprint', 'stripped_size', AT_MOST, 19.07, 'MiB', None),
    *(Goal(_ESTIMATOR + 'adult_' + kind, 'examples', AT_LEAST, 5, '', TF)
      for kind in ('csv', 'memory')),
    *(Goal(_ESTIMATOR + 'adult_' + kind, 'eval_auc', WITHIN, 0.005, '', TF)
      for kind in ('csv', 'memory')),
    # DeepRec's rates per core, on its own machine.
    Goal(_ESTIMATOR + 'criteo_wide_deep', 'examples_per_core', AT_LEAST, 4098,
         'examples/s', None),
    Goal(_ESTIMATOR + 'criteo_dlrm', 'examples_per_core', AT_LEAST, 14767,
         'examples/s', None),
    *(Goal('models', name + '_step', AT_LEAST, 1.2, '', TF)
      for name in _MODELS),
    *(Goal('memory/' + name, name + '_peak', AT_LEAST, 1, '', TF)
      for name in _MODELS),
    *_ingest_goals(),
    *_ops_goals('ops'),
    *_ops_goals('ops_all_cores'),
)
