"""Changes one source file so that its dependents are built again."""

import collections
import os

from tools.build_cost import machine as machine_module

# name: the name in the tables.
Change = collections.namedtuple('Change', 'name file')

# Recorded times are comparable only while these files stay the same.
CHANGES = (
    # A file of kernels of usual length, compiled with four others.
    Change('kernel', 'libs/kernels/math/unary_kernels.cc'),
    # A fifth of the compilations of tools/quickstart.sh read it. Almost all
    # read status.h; most other headers of the folder are read by ten or fewer.
    Change('header', 'libs/base/clock.h'),
    # A test of usual length that is built from one file.
    Change('test', 'libs/graph/graph_test.cc'),
)


def check_files(checkout, commit):
  """Raises if the commit lacks one of the files."""
  missing = [change.file for change in CHANGES
             if not os.path.exists(os.path.join(checkout, change.file))]
  if missing:
    raise machine_module.CommandFailed(
        f'{commit} has no {", ".join(missing)}; choose other files in '
        'tools/build_cost/source_change.py and record the times again, or '
        'measure with --no-incremental')


def apply(change, checkout):
  """Adds a function to the file."""
  path = os.path.join(checkout, change.file)
  with open(path, encoding='utf-8') as file:
    text = file.read()
  with open(path, 'w', encoding='utf-8') as file:
    file.write(changed(text, change))


def changed(text, change):
  """Returns the text of the file with one more function.

  The function is emitted into every object file, also from a header: links
  are left out if no object file changes.
  """
  function = f'int AddedToMeasureBuildOf{change.name.title()}() {{ return 1; }}'
  if not change.file.endswith('.h'):
    return f'{text}\nnamespace weft {{\n{function}\n}}  // namespace weft\n'
  before, guard, after = text.rpartition('#endif')
  return (f'{before}namespace weft {{\n[[gnu::used]] inline {function}\n'
          f'}}  // namespace weft\n\n{guard}{after}')
