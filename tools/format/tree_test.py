"""Every C++ file has the format of .clang-format."""

import concurrent.futures
import os
import shutil
import subprocess
import unittest

from tools import source_tree
from tools import xml_unittest

# Other versions format some lines differently.
_PROGRAM = 'clang-format-14'
_FILES_A_RUN = 20


def _complaints(top, paths):
  run = subprocess.run(
      [_PROGRAM, '--dry-run', '-Werror', '--ferror-limit=1', *paths],
      cwd=top, capture_output=True, text=True, check=False)
  return run.stderr if run.returncode else ''


class TreeTest(unittest.TestCase):

  @unittest.skipUnless(shutil.which(_PROGRAM),
                       f'{_PROGRAM} is not installed; run tools/setup.sh')
  def test_the_tree_is_formatted(self):
    top = source_tree.root()
    paths = [p for p in source_tree.files(top) if source_tree.is_cpp(p)]
    self.assertTrue(paths, f'no C++ file under {top}')
    batches = [paths[i:i + _FILES_A_RUN]
               for i in range(0, len(paths), _FILES_A_RUN)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
      found = ''.join(pool.map(lambda b: _complaints(top, b), batches))
    if found:
      self.fail(f'not formatted; run {_PROGRAM} -i FILE:\n{found}')


if __name__ == '__main__':
  xml_unittest.main()
