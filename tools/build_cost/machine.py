"""Runs programs on this machine and reads their cost."""

import contextlib
import os
import subprocess
import tempfile
import time


class CommandFailed(Exception):
  """A program that the measurement needs has failed."""


class Machine:
  """The operating system, as far as a measurement uses it; tests fake it."""

  def run(self, command, folder, environment, output, errors=None):
    """Runs a program with its output in a file; returns its exit code.

    errors: the file for standard error; by default the same as `output`.
    """
    with contextlib.ExitStack() as files:
      stdout = files.enter_context(open(output, 'wb'))
      stderr = (files.enter_context(open(errors, 'wb')) if errors
                else subprocess.STDOUT)
      return subprocess.run(command, cwd=folder, env=environment,
                            stdin=subprocess.DEVNULL, stdout=stdout,
                            stderr=stderr, check=False).returncode

  def now(self):
    """Returns the seconds of a monotonic clock."""
    return time.monotonic()

  def processor_seconds(self, pid):
    """Returns the seconds of a process, and of its ended child processes."""
    with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
      # The second field is a name in parentheses, which may contain spaces.
      fields = file.read().rpartition(')')[2].split()
    own, children = map(int, fields[11:13]), map(int, fields[13:15])
    ticks = os.sysconf('SC_CLK_TCK')
    return sum(own) / ticks, sum(children) / ticks

  def disk_bytes(self, path):
    """Returns the bytes of the blocks that a folder occupies; 0 if missing."""
    if not os.path.exists(path):
      return 0
    found = subprocess.run(['du', '--summarize', '--block-size=1', path],
                           check=True, text=True, stdout=subprocess.PIPE)
    return int(found.stdout.split()[0])


class Git:
  """A git repository."""

  def __init__(self, top):
    self._top = top

  def _run(self, *arguments):
    return subprocess.run(['git', '-C', self._top, *arguments], check=True,
                          text=True, stdout=subprocess.PIPE).stdout

  def short(self, commit):
    """Returns the abbreviated hash of a commit."""
    try:
      return self._run('rev-parse', '--short=8', '--verify', '--quiet',
                       f'{commit}^{{commit}}').strip()
    except subprocess.CalledProcessError as error:
      raise CommandFailed(f'{commit}: no such commit') from error

  def blob_ids(self, commit):
    """Returns {path: id of its contents} of the files of a commit."""
    listing = self._run('ls-tree', '-r', '-z', commit).rstrip('\0')
    entries = (entry.split('\t') for entry in listing.split('\0'))
    return {path: description.split()[2] for description, path in entries}

  def clone(self, commit, folder):
    """Creates a checkout of `commit`; its objects stay in this repository."""
    self._run('clone', '--quiet', '--shared', '--no-checkout', self._top,
              folder)
    Git(folder)._run('checkout', '--quiet', '--detach', commit)


@contextlib.contextmanager
def scratch_folder():
  """Yields a folder that is deleted later, even if Bazel made it read-only."""
  folder = tempfile.mkdtemp(prefix='weft-')
  try:
    yield folder
  finally:
    subprocess.run(['chmod', '--recursive', 'u+w', folder], check=False,
                   stderr=subprocess.DEVNULL)
    subprocess.run(['rm', '-rf', folder], check=True)
