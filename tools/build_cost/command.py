"""Measures the cost of the scripts of a commit, with empty caches.

usage: tools/measure_build [--what=quickstart|test|both] [--no-incremental]
                           [--keep=DIR] [--record] [COMMIT [COMMIT]]
       tools/measure_build --since=COMMIT [--profiles=DIR] [LATER]
       tools/measure_build --sum-profile=FILE

Runs tools/quickstart.sh and tools/test.sh of each commit (HEAD by default) in
a clean checkout, each script with a HOME of its own that is empty. Prints wall
time, processor seconds, disk, lines of output, and how long a build takes
after a change of one kernel, one header of libs/base and one test. With two
commits also the ratios, second to first.

  --what            the scripts to run (both)
  --no-incremental  without the builds after a change
  --keep=DIR        keeps outputs, profiles and records in DIR/COMMIT
  --record          writes the time of each action to benchmarks/build; the rows
                    for benchmarks/build.md are printed in any case

  --since=COMMIT    the additional cost of LATER (HEAD by default) over COMMIT:
                    the seconds of actions that are new or have other inputs,
                    less the recorded seconds of the same actions. Measures
                    LATER only; COMMIT must be recorded. Exits with 1 if the
                    test command is above its limit.
  --profiles=DIR    LATER was measured before, with --keep=DIR

  --sum-profile     sums of the actions of a profile that Bazel wrote

The scripts leave about 10 GB in $TMPDIR until they are measured. Nothing else
should run meanwhile. Installed packages are not installed again, and
$WEFT_TEST_TOOLS, if set, saves the download of the test servers.
benchmarks/build.md explains the figures.
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys

from tools import source_tree
from tools.build_cost import action_record
from tools.build_cost import bazel_profile
from tools.build_cost import commit_run
from tools.build_cost import cost_since
from tools.build_cost import figures
from tools.build_cost import machine as machine_module

_ERRORS = (machine_module.CommandFailed, bazel_profile.BadProfile,
           action_record.BadRecord, cost_since.CannotScale,
           figures.MissingFigures, subprocess.CalledProcessError, OSError)


def parse(arguments):
  """Returns the options; ends the program if they are wrong."""
  parser = argparse.ArgumentParser(
      usage=argparse.SUPPRESS, description=__doc__,
      formatter_class=argparse.RawDescriptionHelpFormatter)
  parser.add_argument('--what', choices=[*commit_run.SCRIPTS, 'both'],
                      default='both', help=argparse.SUPPRESS)
  for flag in ('--no-incremental', '--record'):
    parser.add_argument(flag, action='store_true', help=argparse.SUPPRESS)
  for name in ('--keep', '--since', '--profiles', '--sum-profile'):
    parser.add_argument(name, help=argparse.SUPPRESS)
  parser.add_argument('commits', nargs='*', help=argparse.SUPPRESS)
  options = parser.parse_args(arguments)
  _check(options, parser.error)
  return options


def _check(options, error):
  if len(options.commits) > (1 if options.since else 2):
    error('too many commits: at most two, or one with --since')
  if options.profiles and not options.since:
    error('--profiles=DIR needs --since=COMMIT')
  if options.since and options.record:
    error('--record and --since exclude each other')


class Command:
  """Runs the command that the options describe.

  top: the root of the checkout, whose benchmarks/ hold the records
  measure: a function (commit, options) that returns a CommitResult
  say: a function that is called with lines of text
  """

  def __init__(self, top, git, measure, say):
    self._records = os.path.join(top, 'benchmarks', 'build')
    self._figures = os.path.join(top, 'benchmarks', 'build.md')
    self._git = git
    self._measure = measure
    self._say = say

  def run(self, options):
    """Returns the exit code."""
    if options.sum_profile:
      self._say(bazel_profile.summary(
          options.sum_profile, bazel_profile.read(options.sum_profile)))
      return 0
    if options.since:
      return self._compare(options)
    return self._print(options)

  def _print(self, options):
    commits = [self._git.short(commit)
               for commit in options.commits or ['HEAD']]
    results = [self._measure(commit, options) for commit in commits]
    self._say_all(tables(results))
    for result in results if options.record else []:
      path = action_record.write(self._records, result.commit, result.actions)
      self._say(f'wrote {path}')
    return 0

  def _compare(self, options):
    since = self._git.short(options.since)
    recorded = action_record.read(self._records, since)
    actions = self._later_actions(options)
    costs = [cost_since.compare(script, recorded, actions)
             for script in cost_since.scripts(recorded, actions)]
    self._say(f'cost since {since}, in seconds of the recorded machine')
    for cost in costs:
      self._say_all(cost_since.describe(cost))
    return max([self._check_limit(since, cost) for cost in costs
                if cost.script == 'test'], default=0)

  def _later_actions(self, options):
    later = self._git.short(*(options.commits or ['HEAD']))
    if options.profiles:
      return action_record.read(os.path.join(options.profiles, later), later)
    options.no_incremental = True
    return self._measure(later, options).actions

  def _check_limit(self, since, cost):
    """Returns the exit code."""
    with open(self._figures, encoding='utf-8') as file:
      recorded = figures.Recorded(file.read())
    limit = figures.test_limit(recorded, since, cost_since.share(cost))
    self._say(figures.describe_limit(limit))
    return 0 if limit.expected <= limit.limit else 1

  def _say_all(self, lines):
    for line in lines:
      self._say(line)


def tables(results):
  """Yields the lines to print about all commits."""
  for result in results:
    for script in result.scripts:
      yield f'{result.commit}, {script.script}: {script.last_line}'
  yield ''
  yield from figures.script_table([(result.commit, script)
                                   for result in results
                                   for script in result.scripts])
  changes = [(result.commit, change)
             for result in results for change in result.changes]
  if changes:
    yield ''
    yield from figures.change_table(changes)
  if len(results) == 2:
    yield ''
    yield from figures.ratio_lines(results[0].scripts, results[1].scripts)
    yield from figures.change_ratio_lines(results[0].changes,
                                          results[1].changes)


def measure_commit(git, commit, options):
  """Measures a commit on this machine; returns its CommitResult."""
  scripts = (list(commit_run.SCRIPTS) if options.what == 'both'
             else [options.what])
  with contextlib.ExitStack() as stack:
    folder = stack.enter_context(machine_module.scratch_folder())
    if options.keep:
      stack.callback(keep_logs, folder, os.path.join(options.keep, commit))
    result = commit_run.CommitRun(
        machine_module.Machine(), git, commit, folder, dict(os.environ),
        lambda line: print(line, file=sys.stderr, flush=True),
    ).measure(scripts, not options.no_incremental)
  if options.keep:
    action_record.write(os.path.join(options.keep, commit), commit,
                        result.actions)
  return result


def keep_logs(folder, kept):
  """Copies the logs of each script, even after a failed measurement."""
  for script in commit_run.SCRIPTS:
    logs = os.path.join(folder, script, 'logs')
    if os.path.exists(logs):
      shutil.copytree(logs, os.path.join(kept, script), dirs_exist_ok=True)


def main(arguments):
  """Returns the exit code."""
  options = parse(arguments)
  top = source_tree.root()
  git = machine_module.Git(top)
  command = Command(top, git,
                    lambda commit, given: measure_commit(git, commit, given),
                    print)
  try:
    return command.run(options)
  except _ERRORS as error:
    print(f'measure_build: {error}', file=sys.stderr)
    return 2
