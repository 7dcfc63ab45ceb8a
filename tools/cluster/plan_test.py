"""Tests the arguments and the environment of tasks."""

import json
import unittest

from tools import xml_unittest
from tools.cluster.plan import Plan


def _plan():
  return Plan([('coordinator', 1), ('ps', 2), ('worker', 1)],
              [1001, 1002, 1003, 1004])


class PlanTest(unittest.TestCase):

  def test_the_spec_lists_each_job(self):
    self.assertEqual(_plan().spec, {
        'coordinator': ['127.0.0.1:1001'],
        'ps': ['127.0.0.1:1002', '127.0.0.1:1003'],
        'worker': ['127.0.0.1:1004']})

  def test_service_gets_its_job_and_index(self):
    plan = _plan()
    cluster, *rest = plan.service_arguments(plan.of('ps')[1], gpus=0)
    self.assertEqual(json.loads(cluster.removeprefix('--cluster=')), plan.spec)
    self.assertEqual(
        rest, ['--job_name=ps', '--task_index=1', '--peer_timeout=2.5s'])

  def test_only_tasks_with_devices_get_gpus(self):
    plan = _plan()
    def has(job):
      return '--host_gpus=2' in plan.service_arguments(plan.of(job)[0], gpus=2)
    self.assertEqual([has('ps'), has('worker'), has('coordinator')],
                     [True, True, False])

  def test_only_checkpoint_writers_get_a_root(self):
    plan = Plan([('ps', 1), ('checkpoint_writer', 1)], [1, 2])
    def has(job):
      return '--root=/ckpt' in plan.service_arguments(
          plan.of(job)[0], gpus=0, checkpoint_root='/ckpt')
    self.assertEqual([has('ps'), has('checkpoint_writer')], [False, True])

  def test_metrics_add_a_port_for_each_service(self):
    plan = Plan([('ps', 1), ('worker', 1)], [1, 2, 3, 4], metrics=True)
    self.assertEqual(plan.spec,
                     {'ps': ['127.0.0.1:1'], 'worker': ['127.0.0.1:2']})
    self.assertEqual([plan.service_arguments(task, gpus=0)[-1]
                      for task in plan.tasks],
                     ['--metrics_port=3', '--metrics_port=4'])

  def test_program_gets_its_metrics_port(self):
    plan = Plan([('ps', 1), ('worker', 1)], [1, 2, 3, 4], metrics=True,
                evaluators=1)
    self.assertEqual([plan.fill_in(['--metrics_port={metrics_port}'], task)
                      for task in plan.programs],
                     [['--metrics_port=4'], ['--metrics_port=-1']])
    self.assertEqual(_plan().fill_in(['{metrics_port}'], _plan().programs[0]),
                     ['-1'])

  def test_task_is_in_the_environment_of_a_program(self):
    plan = _plan()
    found = plan.task_environment(plan.of('worker')[0])
    self.assertEqual(json.loads(found['TF_CONFIG']), {
        'cluster': plan.spec, 'task': {'type': 'worker', 'index': 0}})
    self.assertEqual(found['WEFT_TARGET'], 'zmq://127.0.0.1:1004')

  def test_evaluators_are_beside_the_cluster(self):
    plan = Plan([('ps', 1), ('worker', 1)], [1, 2], evaluators=1)
    self.assertEqual([task.name for task in plan.programs],
                     ['worker:0', 'evaluator:0'])
    self.assertEqual([task.name for task in plan.tasks], ['ps:0', 'worker:0'])
    found = plan.task_environment(plan.programs[1])
    self.assertEqual(json.loads(found['TF_CONFIG']), {
        'cluster': {'ps': ['127.0.0.1:1'], 'worker': ['127.0.0.1:2']},
        'task': {'type': 'evaluator', 'index': 0}})
    self.assertEqual(found['WEFT_TARGET'], '')
    self.assertEqual(plan.fill_in(['{job_name}{target}'], plan.programs[1]),
                     ['evaluator'])

  def test_client_is_not_a_task(self):
    found = _plan().client_environment()
    self.assertEqual(json.loads(found['TF_CONFIG']), {'cluster': _plan().spec})
    self.assertEqual(found['WEFT_TARGET'], 'zmq://127.0.0.1:1004')

  def test_client_connects_to_a_ps_without_workers(self):
    plan = Plan([('coordinator', 1), ('ps', 1)], [1001, 1002])
    self.assertEqual(plan.client_target, 'zmq://127.0.0.1:1002')

  def test_words_in_arguments_are_replaced(self):
    plan = _plan()
    self.assertEqual(
        plan.fill_in(['p', '--job_name={job_name}', '--task_index={task_index}',
                      '{target}'], plan.of('worker')[0]),
        ['p', '--job_name=worker', '--task_index=0', 'zmq://127.0.0.1:1004'])
    self.assertEqual(json.loads(plan.fill_in(['{cluster}'])[0]), plan.spec)

  def test_other_braces_are_kept(self):
    self.assertEqual(_plan().fill_in(['{x}', '${job_name}', '{}']),
                     ['{x}', '${job_name}', '{}'])


if __name__ == '__main__':
  xml_unittest.main()
