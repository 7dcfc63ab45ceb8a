"""Measures how long two commits take to build with empty caches.

usage: tools/measure_build [--rounds=N] [--what=quickstart|test]
                           [--targets=//X,//Y] COMMIT COMMIT

  --rounds   how often each is built (1); the median counts
  --what     quickstart: what tools/quickstart.sh builds (default)
             test: what tools/test.sh builds, and runs
  --targets  others than these

The commits are built in alternation, each in a worktree of its own, with an
output root and a disk cache that are made for one build and removed after it:
a build leaves several gigabytes in $TMPDIR meanwhile. Nothing else should run on
the machine; processor seconds say how much of a difference is that.
"""

import argparse
import collections
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time

from tools import source_tree

# Per build: the command, and the targets if none are given.
_WHAT = {
    'quickstart': (['build', '--config=opt'], [
        '//examples:hello', '//examples:simple_client',
        '//examples:fashion_mnist', '//services/coordinator', '//services/ps',
        '//services/worker', '//services/checkpoint_writer']),
    'test': (['test', '--keep_going'], ['//...']),
}
# Bazel's: all was built and run, but a test failed. It took its time as well.
_SOME_TEST_FAILED = 3

Cost = collections.namedtuple('Cost', 'seconds processor_seconds')


class Failed(Exception):
  """A commit that does not build has no time."""


def _git(top, *arguments):
  return subprocess.run(['git', '-C', top, *arguments], check=True, text=True,
                        stdout=subprocess.PIPE).stdout.strip()


@contextlib.contextmanager
def worktree(top, commit):
  """A checkout of `commit` that goes again."""
  with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, 'checkout')
    _git(top, 'worktree', 'add', '--quiet', '--detach', path, commit)
    try:
      yield path
    finally:
      _git(top, 'worktree', 'remove', '--force', path)


def _remove(folder):
  """Bazel takes the right to write from what it makes."""
  subprocess.run(['chmod', '-R', 'u+w', folder], check=False,
                 stderr=subprocess.DEVNULL)
  subprocess.run(['rm', '-rf', folder], check=True)


def _processor_seconds(pid):
  """Of a process and all the ended ones that it started."""
  with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
    # The second field is a name in parentheses, which may hold blanks.
    fields = file.read().rpartition(')')[2].split()
  return sum(int(field) for field in fields[11:15]) / os.sysconf('SC_CLK_TCK')


class BazelBuilder:
  """Builds a checkout once, from nothing."""

  def __init__(self, command, targets):
    self._command = command
    self._targets = targets

  def __call__(self, checkout):
    scratch = tempfile.mkdtemp()
    bazel = ['bazel', f'--output_user_root={scratch}/root']
    try:
      began = time.monotonic()
      code = subprocess.run(
          [*bazel, *self._command, f'--disk_cache={scratch}/cache',
           *self._targets], cwd=checkout, stdout=2, check=False).returncode
      seconds = time.monotonic() - began
      if code not in (0, _SOME_TEST_FAILED):
        raise Failed(f'bazel ended with {code}')
      server = subprocess.run([*bazel, 'info', 'server_pid'], cwd=checkout,
                              check=True, text=True, stdout=subprocess.PIPE)
      return Cost(seconds, _processor_seconds(int(server.stdout)))
    finally:
      subprocess.run([*bazel, 'shutdown'], cwd=checkout, check=False)
      _remove(scratch)


def measure(checkouts, rounds, build, say):
  """Returns the costs of each checkout: a list of lists.

  Each round begins with another one, so that none is always the first.
  """
  costs = [[] for _ in checkouts]
  for number in range(rounds):
    order = list(range(len(checkouts)))
    for at in order[number % len(order):] + order[:number % len(order)]:
      cost = build(checkouts[at])
      costs[at].append(cost)
      say(f'round {number + 1}, {"first" if at == 0 else "second"}: '
          f'{cost.seconds:.0f} s, {cost.processor_seconds:.0f} processor s')
  return costs


def median(costs):
  return Cost(*(statistics.median(column) for column in zip(*costs)))


def report(commits, costs):
  """The lines to print last."""
  medians = [median(of_one) for of_one in costs]
  for commit, cost in zip(commits, medians):
    yield (f'{commit}: {cost.seconds:.0f} s, '
           f'{cost.processor_seconds:.0f} processor s')
  first, second = medians
  yield (f'ratio: {second.seconds / first.seconds:.3f} of the time, '
         f'{second.processor_seconds / first.processor_seconds:.3f} '
         'of the processor time')


def _parse(arguments):
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
  parser.add_argument('--rounds', type=int, default=1)
  parser.add_argument('--what', choices=sorted(_WHAT), default='quickstart')
  parser.add_argument('--targets', default='')
  parser.add_argument('commits', nargs=2, metavar='COMMIT')
  options = parser.parse_args(arguments)
  if options.rounds < 1:
    parser.error('--rounds: at least 1')
  return options


def main(arguments):
  """Returns the exit code."""
  options = _parse(arguments)
  command, targets = _WHAT[options.what]
  if options.targets:
    targets = options.targets.split(',')
  top = source_tree.root()
  try:
    commits = [_git(top, 'rev-parse', '--short', '--verify', f'{c}^{{commit}}')
               for c in options.commits]
    with contextlib.ExitStack() as stack:
      checkouts = [stack.enter_context(worktree(top, c)) for c in commits]
      costs = measure(checkouts, options.rounds,
                      BazelBuilder(command, targets), print)
  except (Failed, subprocess.CalledProcessError) as error:
    print(f'measure_build: {error}', file=sys.stderr)
    return 1
  for line in report(commits, costs):
    print(line)
  return 0


if __name__ == '__main__':
  sys.exit(main(sys.argv[1:]))
