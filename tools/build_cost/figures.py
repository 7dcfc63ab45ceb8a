"""Writes and reads the tables of benchmarks/build.md.

People and measure_build read the same tables, so a figure is recorded once.
"""

import collections

_MB = 1e6
# measure_build computes the limit of the test command from these.
LIMIT_COMMIT = 'd40eca7c'
LIMIT = 0.85

# The cost of a script. processor_seconds: of Bazel and of all actions;
# bazel_seconds: the part of Bazel itself. build_seconds, test_seconds: sums of
# the actions' wall times. *_bytes: on disk. last_line: of the output.
ScriptFigures = collections.namedtuple(
    'ScriptFigures',
    'script wall_seconds processor_seconds bazel_seconds build_seconds '
    'test_seconds output_root_bytes disk_cache_bytes other_bytes lines '
    'last_line')
# The cost of a build after a change of one file.
ChangeFigures = collections.namedtuple(
    'ChangeFigures', 'change file wall_seconds processor_seconds')

_SCRIPT_COLUMNS = ('commit', 'script', 'wall s', 'processor s', 'of Bazel s',
                   'build actions s', 'test actions s', 'disk MB',
                   'output root MB', 'disk cache MB', 'other MB', 'lines')
_CHANGE_COLUMNS = ('commit', 'changed', 'file', 'wall s', 'processor s')


class MissingFigures(Exception):
  """A table lacks a row."""


def script_table(rows):
  """Returns the lines of a table of (commit, ScriptFigures)."""
  return _table(_SCRIPT_COLUMNS, [_script_cells(*row) for row in rows])


def change_table(rows):
  """Returns the lines of a table of (commit, ChangeFigures)."""
  return _table(_CHANGE_COLUMNS, [
      (commit, figures.change, f'`{figures.file}`',
       f'{figures.wall_seconds:.1f}', f'{figures.processor_seconds:.1f}')
      for commit, figures in rows])


def _script_cells(commit, figures):
  sizes = (figures.output_root_bytes, figures.disk_cache_bytes,
           figures.other_bytes)
  seconds = (figures.wall_seconds, figures.processor_seconds,
             figures.bazel_seconds, figures.build_seconds,
             figures.test_seconds)
  return (commit, figures.script, *(f'{number:.0f}' for number in seconds),
          *(f'{size / _MB:.0f}' for size in (sum(sizes), *sizes)),
          str(figures.lines))


def _table(columns, rows):
  return [_line(columns), '|' + '---|' * len(columns), *map(_line, rows)]


def _line(cells):
  return '| ' + ' | '.join(cells) + ' |'


def ratio_lines(first, second):
  """Returns lines that compare the ScriptFigures of two commits."""
  for before, after in zip(first, second):
    yield (f'{after.script}, second / first: '
           f'wall {after.wall_seconds / before.wall_seconds:.3f}, processor '
           f'{after.processor_seconds / before.processor_seconds:.3f}, disk '
           f'{_disk(after) / _disk(before):.3f}, '
           f'lines {after.lines / before.lines:.3f}')


def change_ratio_lines(first, second):
  """Returns lines that compare the ChangeFigures of two commits."""
  for before, after in zip(first, second):
    yield (f'one {after.change} changed, second / first: '
           f'wall {after.wall_seconds / before.wall_seconds:.3f}, processor '
           f'{after.processor_seconds / before.processor_seconds:.3f}')


def _disk(figures):
  return (figures.output_root_bytes + figures.disk_cache_bytes
          + figures.other_bytes)


class Recorded:
  """The figures of scripts in the text of benchmarks/build.md."""

  def __init__(self, text):
    self._rows = {}
    for line in text.splitlines():
      cells = [cell.strip() for cell in line.strip().strip('|').split('|')]
      if len(cells) == len(_SCRIPT_COLUMNS) and _is_number(cells[2]):
        self._rows[tuple(cells[:2])] = dict(zip(_SCRIPT_COLUMNS, cells))

  def processor_seconds(self, commit, script):
    """Raises MissingFigures if the table has no such row."""
    row = self._rows.get((commit, script))
    if row is None:
      raise MissingFigures(
          f'benchmarks/build.md has no figures of {commit}, {script}; add the '
          f'row that "tools/measure_build --record {commit}" prints')
    return float(row['processor s'])


def _is_number(text):
  return text.replace('.', '', 1).isdigit()


# The expected cost of the test command and its limit, in processor seconds.
Limit = collections.namedtuple('Limit', 'expected limit')


def test_limit(recorded, commit, share):
  """Returns the Limit of a test command that costs `share` more than `commit`.

  The share is one of actions' seconds; the limit is one of processor seconds,
  which do not depend on how many actions ran at once.
  """
  return Limit(
      recorded.processor_seconds(commit, 'test') * (1 + share),
      LIMIT * recorded.processor_seconds(LIMIT_COMMIT, 'test'))


def describe_limit(limit):
  """Returns a line of text."""
  relation = 'within' if limit.expected <= limit.limit else 'above'
  return (f'test command: {limit.expected:.0f} processor s expected, {relation} '
          f'the limit of {limit.limit:.0f} ({LIMIT} of {LIMIT_COMMIT})')
