"""Tests the options that make Bazel write events, and the reader of events."""

import os
import tempfile
import unittest

from tools import build_events
from tools import xml_unittest

_ACTION = ('{"id":{"actionCompleted":{"primaryOutput":"bazel-out/a.o","label":'
           '"//:a","configuration":{"id":"1"}}},"action":{"success":true,'
           '"label":"//:a","type":"CppCompile","commandLine":["cc","a.cc"]}}\n')
_ROOT = '{"id":{"workspace":{}},"workspaceInfo":{"localExecRoot":"/root/a"}}\n'


class EventsTest(unittest.TestCase):

  def setUp(self):
    super().setUp()
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.path = os.path.join(folder.name, 'events.json')
    self.events = build_events.Events(self.path)

  def write(self, text):
    with open(self.path, 'a', encoding='utf-8') as file:
      file.write(text)

  def test_actions_and_the_root_are_read_once(self):
    self.assertEqual(self.events.read(), [])
    self.write(_ROOT + '{"id":{"progress":{}},"progress":{}}\n' + _ACTION)
    self.assertEqual(self.events.read(), [
        build_events.ExecutionRoot('/root/a'),
        build_events.Finished('bazel-out/a.o')])
    self.assertEqual(self.events.read(), [])

  def test_events_of_an_earlier_build_are_left_out(self):
    self.write(_ROOT + 3 * _ACTION)
    events = build_events.Events(self.path)
    self.assertEqual(events.read(), [])
    os.truncate(self.path, 0)
    self.assertEqual(events.read(), [])
    self.write(_ACTION)
    self.assertEqual(len(events.read()), 1)

  def test_events_in_a_reused_file_are_complete(self):
    self.write(_ROOT)
    events = build_events.Events(self.path)
    self.assertEqual(events.read(), [])
    os.truncate(self.path, 0)
    self.write(_ROOT + 2 * _ACTION)
    self.assertEqual(len(events.read()), 3)

  def test_half_a_line_is_read_when_it_is_complete(self):
    self.write(_ACTION[:50])
    self.assertEqual(self.events.read(), [])
    self.write(_ACTION[50:])
    self.assertEqual(len(self.events.read()), 1)

  def test_damaged_lines_are_left_out(self):
    self.write('{"id":{"actionCompleted":{}}}\n{"id":{"actionCompleted"\n'
               '{"id":{"workspace":{}},"workspaceInfo":7}\n\n' + _ACTION)
    self.assertEqual(self.events.read(),
                     [build_events.Finished('bazel-out/a.o')])


class PublishingTest(unittest.TestCase):

  def test_options_follow_the_command(self):
    self.assertEqual(
        build_events.publishing(['/usr/bin/bazel', '--batch', 'build', '//a'],
                                '/e'),
        ['/usr/bin/bazel', '--batch', 'build',
         '--build_event_publish_all_actions', '--build_event_json_file=/e',
         '//a'])

  def test_named_file_is_kept(self):
    command = ['bazel', 'test', '--build_event_json_file=/own', '//a']
    self.assertEqual(build_events.named_file(command), '/own')
    self.assertEqual(
        build_events.publishing(command, '/e'),
        ['bazel', 'test', '--build_event_publish_all_actions', *command[2:]])

  def test_other_commands_are_left_alone(self):
    for command in (['bazel', 'info'], ['bazel'], ['bazel', '--version'],
                    ['sh', '-c', 'build']):
      self.assertIsNone(build_events.publishing(command, '/e'))
      self.assertIsNone(build_events.named_file(command))


if __name__ == '__main__':
  xml_unittest.main()
