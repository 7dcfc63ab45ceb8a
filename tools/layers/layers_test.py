"""The checker finds each kind of violation when one is inserted."""

import os
import tempfile
import unittest

from tools import xml_unittest
from tools.layers import layers

_PAGE = """
| layer | module | side | purpose |
|---|---|---|---|
| 0 | `libs/base` | | ground |
| 1 | `libs/tensor` | | values |
| 1 | `libs/fs` | | files |
| 4 | `libs/kernels` | runtime | ops |
| 5 | `libs/train` | client | optimizers |
| 8 | `libs/api` | | one header |
| 9 | `examples` | | programs |
"""
# A tree without violations, with every module of the table.
_CORRECT = {
    'docs/architecture.md': _PAGE,
    'libs/base/status.h': '#include <string>\n',
    'libs/base/logging.cc': '#include <spdlog/spdlog.h>\nstd::thread t;\n',
    'libs/tensor/tensor.h': '#include "libs/base/status.h"\n',
    'libs/tensor/proto.cc': '#include "schemas/tf/tensor.pb.h"\n',
    'libs/tensor/BUILD': 'rule(name = "t", deps = ["//libs/base:status"])\n',
    'libs/fs/fs.h': '',
    'libs/kernels/add.cc': '#include "libs/tensor/tensor.h"\n',
    'libs/train/sgd.h': '#include "libs/tensor/tensor.h"\n',
    'libs/api/weft.h': '#include "libs/train/sgd.h"\n',
    'examples/hello.cc': '#include "libs/api/weft.h"\n',
    'examples/BUILD': 'rule(name = "hello", deps = ["//:weft"])\n',
}


class LayersTest(unittest.TestCase):

  def check(self, inserted):
    """Returns (path, line, what) of each violation with `inserted` on top."""
    with tempfile.TemporaryDirectory() as top:
      for path, text in {**_CORRECT, **inserted}.items():
        full = os.path.join(top, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, 'w', encoding='utf-8') as file:
          file.write(text)
      return [v[:3] for v in layers.check(top)]

  def assert_one(self, inserted, line, what):
    """Checks that the one inserted file gives the one violation."""
    found = self.check(inserted)
    self.assertEqual([(path, number) for path, number, _ in found],
                     [(path, line) for path in inserted], found)
    self.assertIn(what, found[0][2])

  def test_a_correct_tree(self):
    self.assertEqual(self.check({}), [])

  def test_an_include_upwards(self):
    self.assert_one(
        {'libs/tensor/bad.h': '\n#include "libs/kernels/add.h"\n'}, 2,
        'libs/tensor (layer 1) uses libs/kernels (layer 4)')

  def test_an_include_of_the_same_layer(self):
    self.assert_one({'libs/fs/bad.cc': '#include "libs/tensor/tensor.h"\n'}, 1,
                    'libs/fs uses libs/tensor of the same layer')

  def test_an_include_of_the_other_side(self):
    self.assert_one({'libs/train/bad.cc': '#include "libs/kernels/add.h"\n'},
                    1, '(client side) uses libs/kernels (runtime side)')

  def test_folders_of_a_module_that_include_each_other(self):
    found = self.check({
        'libs/train/saving/a.h': '#include "libs/train/losses/b.h"\n',
        'libs/train/losses/b.h': '#include "libs/train/hooks/deep/c.h"\n',
        'libs/train/hooks/deep/c.h': '\n#include "libs/train/saving/a.h"\n',
    })
    self.assertEqual([v[:2] for v in found], [
        ('libs/train/hooks/deep/c.h', 2),
        ('libs/train/losses/b.h', 1),
        ('libs/train/saving/a.h', 1),
    ])
    self.assertIn('libs/train/saving -> libs/train/losses -> '
                  'libs/train/hooks/deep -> libs/train/saving', found[2][2])

  def test_tests_may_include_every_folder_of_their_module(self):
    self.assertEqual(self.check({
        'libs/train/saving/a.h': '#include "libs/train/losses/b.h"\n',
        'libs/train/losses/b.h': '',
        'libs/train/losses/b_test.cc': '#include "libs/train/saving/a.h"\n',
        'libs/train/testing/fake.h': '#include "libs/train/saving/a.h"\n',
        'libs/train/BUILD': 'weft_test(srcs = ["losses/b_test.cc"])\n'
                            'weft_module_test()\n',
    }), [])

  def test_a_dependency_upwards(self):
    self.assert_one(
        {'libs/fs/BUILD': 'rule(\n  name = "x",\n  deps = [\n    ":y",\n'
                          '    "//libs/kernels:add",\n  ],\n)\n'}, 5,
        '//libs/kernels:add')

  def test_dependency_on_the_short_name_of_the_api(self):
    self.assert_one(
        {'libs/train/BUILD': 'rule(name = "x", deps = ["//:weft"])\n'}, 1,
        'uses libs/api')

  def test_a_build_file_that_cannot_be_read(self):
    self.assert_one({'libs/fs/BUILD': 'rule(\n'}, 1, 'cannot be read')

  def test_cases_that_never_run(self):
    self.assert_one(
        {'libs/fs/BUILD': 'weft_test(name = "a")\nweft_module_test()\n'
                          'weft_test(name = "b")\n'}, 3,
        'no weft_module_test below')
    self.assertEqual(
        self.check({'libs/fs/BUILD': 'weft_test(name = "a")\n'
                                     'weft_module_test()\n'}), [])

  def test_cases_of_a_folder_that_never_run(self):
    folder = {'libs/fs/disk/BUILD': 'weft_test(name = "a")\n'
                                    'weft_module_cases()\n'}
    self.assert_one(folder, 1, 'does not link these cases')
    module = 'weft_module_test(cases = ["//libs/fs/disk:module_cases"])\n'
    self.assertEqual(self.check({**folder, 'libs/fs/BUILD': module}), [])

  def test_cases_that_no_build_file_lists(self):
    self.assert_one({'libs/fs/a_test.cc': ''}, 1, 'no BUILD file lists')
    build = 'weft_test(name = "a", srcs = ["%s"])\nweft_module_test()\n'
    for name in ('a_test.cc', 'disk/a_test.cc'):
      self.assertEqual(self.check({f'libs/fs/{name}': '',
                                   'libs/fs/BUILD': build % name}), [])
    self.assertIn('no BUILD file lists', self.check(
        {'libs/fs/b_test.cc': '', 'libs/fs/BUILD': build % 'a_test.cc'})[0][2])

  def test_a_module_that_is_not_in_the_table(self):
    self.assertIn('not in the table',
                  self.check({'libs/attic/attic.h': ''})[0][2])
    self.assertIn('not in the table',
                  self.check({'attic/attic.h': ''})[0][2])

  def test_a_row_without_a_module(self):
    page = _PAGE + '| 1 | `libs/bus` | | wires |\n'
    self.assertIn('there is no module libs/bus',
                  self.check({'docs/architecture.md': page})[0][2])

  def test_an_include_of_no_module(self):
    self.assert_one({'libs/fs/bad.cc': '#include "libs/nowhere/x.h"\n'}, 1,
                    'is in no module')

  def test_an_include_that_is_no_path(self):
    self.assert_one({'libs/fs/bad.cc': '#include "fs.h"\n'}, 1,
                    'not a path from the top')

  def test_fenced_headers(self):
    for header in ('google/protobuf/message.h', 'schemas/tf/graph.pb.h',
                   'flatbuffers/flatbuffers.h', 'schemas/bus_generated.h',
                   'Eigen/Core'):
      with self.subTest(header):
        self.assert_one({'libs/kernels/bad.h': f'#include <{header}>\n'}, 1,
                        'in .cc files')
    for header in ('spdlog/spdlog.h', 'zmq.h', 'zmq.hpp', 'zmq_addon.hpp',
                   'cuda_runtime.h', 'cublas_v2.h'):
      with self.subTest(header):
        self.assert_one({'libs/kernels/bad.cc': f'#include <{header}>\n'}, 1,
                        f'includes {header}')

  def test_banned_code(self):
    for code in ('std::thread t(f);', 'std::jthread t(f);',
                 'std::this_thread::sleep_for(d);', 'absl::SleepFor(d);',
                 'std::condition_variable ready;', 'pthread_create(a, b, c);',
                 'usleep(3);', 'mutex_.Await(c);', 'absl::Notification done;',
                 'absl::Now();', 'std::chrono::steady_clock::now();',
                 'std::random_device device;', 'SystemClock clock_;'):
      with self.subTest(code):
        self.assert_one({'libs/kernels/bad.cc': f'\n\n{code}\n'}, 3,
                        'only libs/base')

  def test_no_wait_follows_the_machines_clock(self):
    # Not even in libs/base, because Abseil's timeouts end at a time of day.
    for code in ('changed_.WaitWithTimeout(&mutex_, left);',
                 'mutex_.AwaitWithDeadline(c, when);',
                 'mutex_.LockWhenWithTimeout(c, left);',
                 'done.WaitForNotificationWithTimeout(left);',
                 'ready.wait_until(lock, when);'):
      with self.subTest(code):
        self.assert_one({'libs/base/bad.cc': f'\n{code}\n'}, 2,
                        'no wait follows')

  def test_tests_may_have_a_clock_that_people_set(self):
    self.assertEqual(self.check({
        path: 'SystemClock clock_;\n'
        for path in ('libs/base/clock.h', 'libs/kernels/testing/harness.h',
                     'examples/clock.cc')}), [])

  def test_comments_and_strings_are_not_code(self):
    self.assertEqual(self.check({'libs/kernels/good.cc': (
        '// std::thread\n/* sleep_for\n absl::Now() */\n'
        'auto a = "pthread_create(";\nauto b = R"x(std::async)x";\n'
        'int sleep_forever;\n')}), [])

  def test_composed_names_of_ops(self):
    ops = {'integration_tests/testdata/tensorflow_signatures.txt':
               '# ops\n\nop Neg\ninput x: T\n\nop NegV2\n'}
    table = {'docs/architecture.md': (
        _PAGE + '| 4 | `libs/ops` | | ops |\n'
                '| 5 | `libs/gradients` | | gradients |\n'
                '| 9 | `integration_tests` | | tests |\n')}
    sound = {f'libs/{place}/neg.cc': 'add("Neg");\nadd("NegV2");\n'
             for place in ('ops', 'kernels', 'gradients')}
    self.assertEqual(self.check({**ops, **table, **sound}), [])
    glued = 'add("Neg" + version);\n'
    uses = {'libs/kernels/neg_test.cc': 'run("NegV2");\n',
            'libs/kernels/BUILD': 'weft_test(srcs = ["neg_test.cc"])\n'
                                  'weft_module_test()\n',
            'libs/ops/neg_builders.cc': 'node("NegV2");\n'}
    for place in ('ops', 'kernels', 'gradients'):
      with self.subTest(place):
        found = self.check({**ops, **table, **sound, **uses,
                            f'libs/{place}/neg.cc': glued})
        self.assertEqual(
            found, [(*ops, 6, f'"NegV2" does not appear in libs/{place}/')])

  def test_a_page_without_a_table(self):
    with self.assertRaisesRegex(ValueError, 'no table of modules'):
      self.check({'docs/architecture.md': 'nothing'})


if __name__ == '__main__':
  xml_unittest.main()
