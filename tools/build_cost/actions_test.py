"""Tests of profiles, digests and records of actions."""

import gzip
import os
import tempfile
import unittest

from tools import xml_unittest
from tools.build_cost import action_digests
from tools.build_cost import action_record
from tools.build_cost import bazel_profile
from tools.build_cost.action_record import Action


def span(category, name, start, duration, thread=1, **more):
  return {'cat': category, 'name': name, 'ph': 'X', 'ts': start,
          'dur': duration, 'pid': 1, 'tid': thread, **more}


def action_span(name, start, duration, thread=1, **more):
  return span('action processing', name, start, duration, thread,
              args={'target': '//a:b'}, **more)


def process_span(start, duration, thread=1):
  return span('general information', 'subprocess.run', start, duration, thread)


class ProfileTest(unittest.TestCase):

  def test_process_counts_but_not_the_wait_for_it(self):
    found = bazel_profile.actions([
        action_span('Linking x', 0, 9_000_000, out='bin/x'),
        span('general information', 'sandbox.createFileSystem', 1, 2_000_000),
        process_span(4_000_000, 3_000_000)])
    self.assertEqual(found, [('bin/x', 3.0, False)])

  def test_compilations_run_without_a_sandbox(self):
    found = bazel_profile.actions([
        action_span('Compiling x.cc', 0, 5_000_000, out='x.o'),
        span('local action execution', 'CppCompile', 1, 4_000_000),
        span('Remote execution process wall time', 'CppCompile', 2,
             2_500_000)])
    self.assertEqual(found, [('x.o', 2.5, False)])

  def test_processes_belong_to_the_action_on_their_thread(self):
    found = bazel_profile.actions([
        action_span('Linking x', 0, 4_000_000, thread=1, out='x'),
        action_span('Linking y', 0, 4_000_000, thread=2, out='y'),
        action_span('Linking z', 5_000_000, 4_000_000, thread=1, out='z'),
        process_span(1, 1_000_000, thread=2),
        process_span(5_000_001, 2_000_000, thread=1),
        process_span(20_000_000, 7_000_000, thread=1),
        process_span(1, 7_000_000, thread=3)])
    self.assertEqual(found, [('y', 1.0, False), ('z', 2.0, False)])

  def test_attempts_of_a_test_are_added(self):
    found = bazel_profile.actions([
        action_span('Testing //a:b', 0, 9_000_000, out='b/test.log'),
        process_span(1, 2_000_000), process_span(3_000_000, 1_000_000)])
    self.assertEqual(found, [('b/test.log', 3.0, True)])

  def test_without_outputs_the_key_is_target_and_message(self):
    found = bazel_profile.actions([
        action_span('Linking x', 0, 9), process_span(1, 2)])
    self.assertEqual(found[0].key, '//a:b: Linking x')

  def test_summary_separates_builds_and_tests(self):
    timed = [bazel_profile.TimedAction('a', 1.5, False),
             bazel_profile.TimedAction('b', 2.0, False),
             bazel_profile.TimedAction('c', 0.25, True)]
    self.assertEqual(
        bazel_profile.summary('p.gz', timed),
        'p.gz: 3.5 s in 2 build actions, 0.2 s in 1 test actions')

  def test_incomplete_profile_is_refused(self):
    with tempfile.TemporaryDirectory() as folder:
      path = os.path.join(folder, 'profile.gz')
      for data in (b'', b'text', gzip.compress(b'{"traceEvents":['),
                   gzip.compress(b'{}')):
        with open(path, 'wb') as file:
          file.write(data)
        with self.assertRaisesRegex(bazel_profile.BadProfile, 'complete'):
          bazel_profile.read(path)


class GraphBuilder:
  """Makes output of `bazel aquery --output=jsonproto`."""

  def __init__(self):
    self.graph = {'actions': [], 'artifacts': [], 'pathFragments': [],
                  'depSetOfFiles': []}
    self._artifacts = {}

  def artifact(self, path):
    if path not in self._artifacts:
      parent = None
      for name in path.split('/'):
        part = {'id': len(self.graph['pathFragments']) + 1, 'label': name}
        if parent:
          part['parentId'] = parent
        self.graph['pathFragments'].append(part)
        parent = part['id']
      self._artifacts[path] = len(self._artifacts) + 1
      self.graph['artifacts'].append(
          {'id': self._artifacts[path], 'pathFragmentId': parent})
    return self._artifacts[path]

  def files(self, paths, inner=()):
    number = len(self.graph['depSetOfFiles']) + 1
    self.graph['depSetOfFiles'].append({
        'id': number, 'directArtifactIds': [self.artifact(p) for p in paths],
        'transitiveDepSetIds': list(inner)})
    return number

  def action(self, mnemonic, output, sets, **more):
    self.graph['actions'].append({
        'mnemonic': mnemonic, 'inputDepSetIds': sets, 'actionKey': 'key',
        'outputIds': [self.artifact(output)],
        'primaryOutputId': self.artifact(output),
        'arguments': [mnemonic, output], **more})


def small_graph(**link):
  """Returns a graph: a header, two objects, a library, a program, a test."""
  build = GraphBuilder()
  headers = build.files(['a.h', 'b.h', 'out/gen.h'])
  build.action('Genrule', 'out/gen.h', [build.files(['gen.txt'])])
  build.action('CppPrecompile', 'out/all.h.gch', [build.files(['all.h'])])
  build.action('CppPrecompile', 'out/all.h.pch', [build.files(['clang.h'])])
  build.action('CppCompile', 'out/a.o',
               [build.files(['a.cc', 'out/all.h.gch'], [headers])])
  build.action('CppCompile', 'out/b.o',
               [build.files(['b.cc', 'out/all.h.pch'], [headers])])
  build.action('CppLink', 'out/program',
               [build.files(['out/a.o', 'out/b.o', 'external/z/z.a'])], **link)
  build.action('Middleman', 'out/runfiles', [build.files(['out/program'])])
  build.action('TestRunner', 'testlogs/test.log',
               [build.files(['out/runfiles', 'data.txt'])])
  build.action('Fail', 'out/never', [])
  return build.graph


SOURCES = {name: f'id of {name}' for name in (
    'a.h', 'b.h', 'gen.txt', 'all.h', 'clang.h', 'a.cc', 'b.cc', 'data.txt')}
READ = {'out/a.d': ['a.cc', 'a.h', '/usr/include/stdio.h'],
        # The format of clang.
        'out/b.d': action_digests.read_dependencies(
            'out/b.o: b.cc ./b.h \\\n  ./out/gen.h')}


class DigestsTest(unittest.TestCase):

  def changed_by(self, file, read=None):
    """Returns the outputs of actions that depend on a changed file."""
    read = READ if read is None else read
    before = action_digests.digests(small_graph(), SOURCES, read.get)
    after = action_digests.digests(
        small_graph(), {**SOURCES, file: 'changed'}, read.get)
    self.assertEqual(before.keys(), after.keys())
    return {output for output in before if before[output] != after[output]}

  def test_header_changes_its_readers(self):
    self.assertEqual(self.changed_by('a.h'), {
        'out/a.o', 'out/program', 'out/runfiles', 'testlogs/test.log'})

  def test_generated_header_changes_its_readers(self):
    self.assertEqual(self.changed_by('gen.txt'), {
        'out/gen.h', 'out/b.o', 'out/program', 'out/runfiles',
        'testlogs/test.log'})

  def test_unlisted_precompiled_header_is_an_input(self):
    self.assertIn('out/a.o', self.changed_by('all.h'))
    self.assertNotIn('out/b.o', self.changed_by('all.h'))
    self.assertIn('out/b.o', self.changed_by('clang.h'))

  def test_data_change_only_the_test(self):
    self.assertEqual(self.changed_by('data.txt'), {'testlogs/test.log'})

  def test_without_lists_all_declared_inputs_count(self):
    self.assertIn('out/a.o', self.changed_by('b.h', read={}))

  def test_other_file_changes_no_action(self):
    self.assertEqual(self.changed_by('README.md'), set())

  def test_command_line_and_environment_count(self):
    plain = action_digests.digests(small_graph(), SOURCES, READ.get)
    for link in ({'arguments': ['ld', '-O2']},
                 {'environmentVariables': [{'key': 'PATH', 'value': '/'}]}):
      other = action_digests.digests(small_graph(**link), SOURCES, READ.get)
      self.assertNotEqual(plain['out/program'], other['out/program'])
      self.assertEqual(plain['out/a.o'], other['out/a.o'])

  def test_key_counts_if_there_is_no_command_line(self):
    one, other = ({'arguments': [], 'actionKey': key} for key in 'ab')
    self.assertNotEqual(
        action_digests.digests(small_graph(**one), SOURCES, READ.get),
        action_digests.digests(small_graph(**other), SOURCES, READ.get))

  def test_actions_that_bazel_never_runs_are_left_out(self):
    self.assertNotIn(
        'out/never', action_digests.digests(small_graph(), SOURCES, READ.get))

  def test_long_chain_needs_no_recursion(self):
    build = GraphBuilder()
    for number in range(3000):
      build.action('Genrule', f'out{number + 1}',
                   [build.files([f'out{number}'])])
    found = [action_digests.digests(build.graph, {'out0': key}, {}.get)
             for key in 'ab']
    self.assertNotEqual(found[0]['out3000'], found[1]['out3000'])

  def test_list_of_dependencies_is_read(self):
    self.assertEqual(
        action_digests.read_dependencies('x.o: a.cc a.h \\\n  /usr/b.h\n'),
        ['a.cc', 'a.h', '/usr/b.h'])


class RecordTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.folder = os.path.join(folder.name, 'build')

  def test_record_reads_as_written(self):
    actions = [Action('quickstart', 'CppLink', 'out/x', 1.25, 'abc'),
               Action('test', 'TestRunner', 'testlogs/x', 0.5, '?')]
    path = action_record.write(self.folder, '1234abcd', actions)
    self.assertTrue(path.endswith('/1234abcd.tsv'))
    self.assertEqual(action_record.read(self.folder, '1234abcd'), actions)

  def test_compressed_record_replaces_the_plain_one(self):
    action = Action('test', 'CppCompile', 'out/' + 'x' * 1000, 1.0, 'abc')
    action_record.write(self.folder, 'c', [action])
    path = action_record.write(self.folder, 'c', 300 * [action])
    self.assertTrue(path.endswith('c.tsv.gz'))
    self.assertEqual(os.listdir(self.folder), ['c.tsv.gz'])
    self.assertEqual(action_record.read(self.folder, 'c'), 300 * [action])

  def test_missing_record_says_how_to_make_it(self):
    with self.assertRaisesRegex(action_record.BadRecord, '--record 1234abcd'):
      action_record.read(self.folder, '1234abcd')

  def test_malformed_record_is_refused(self):
    path = action_record.write(self.folder, 'c', [])
    with open(path, 'a', encoding='utf-8') as file:
      file.write('test\tCppLink\n')
    with self.assertRaisesRegex(action_record.BadRecord, 'c.tsv'):
      action_record.read(self.folder, 'c')

  def test_join_takes_times_and_digests_by_output(self):
    timed = [bazel_profile.TimedAction('x', 1.23456, False),
             bazel_profile.TimedAction('unknown', 2.0, False),
             bazel_profile.TimedAction('t', 3.0, True)]
    known = {'x': action_digests.ActionDigest('x', 'CppLink', 'abc'),
             't': action_digests.ActionDigest('t', 'TestRunner', 'def')}
    self.assertEqual(list(action_record.join('test', timed, known)), [
        ('test', 'CppLink', 'x', 1.235, 'abc'),
        ('test', '?', 'unknown', 2.0, '?'),
        ('test', 'TestRunner', 't', 3.0, 'def')])


if __name__ == '__main__':
  xml_unittest.main()
