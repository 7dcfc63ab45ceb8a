#!/usr/bin/python3
"""Checks the length of the subjects of commits.

  tools/style/commit_subjects.py [BASE]

Prints each commit since BASE whose subject is too long, and fails if there is
one. Merge commits do not count. The default BASE is the commit with which this
rule began. //tools/style:tree_test runs this check, too.

Without a commit to start at, the check does nothing and says why: an unpacked
archive has no history, and a shallow clone may lack BASE.
"""

import argparse
import collections
import os
import subprocess
import sys

MAX_SUBJECT = 72
# Commits up to this one may have longer subjects.
RULE_BASE = 'b72d15eea6fcb7f168c7484db2c4df3947002d1e'

Commit = collections.namedtuple('Commit', 'hash subject')


class NotChecked(Exception):
  """There is no history to check; the text says why."""


def _git(top, *arguments):
  """Runs git in the repository at `top`, whatever repository a hook is for."""
  environment = {name: value for name, value in os.environ.items()
                 if not name.startswith('GIT_')}
  try:
    return subprocess.run(['git', '-C', top, *arguments], env=environment,
                          capture_output=True, encoding='utf-8',
                          errors='replace', check=False)
  except FileNotFoundError as error:
    raise NotChecked('git is not installed') from error


def _commits_since(top, base):
  """Returns the commits of HEAD after `base`, without merges."""
  # A checkout without .git may lie in the repository of something else.
  if not os.path.exists(os.path.join(top, '.git')):
    raise NotChecked(f'{top} is not a git repository')
  found = _git(top, 'cat-file', '-e', base + '^{commit}')
  if found.returncode != 0:
    raise NotChecked(f'git does not find the commit {base} '
                     f'({found.stderr.strip()})')
  log = _git(top, '-c', 'log.showSignature=false', 'log', '--no-merges',
             '--encoding=UTF-8', '--format=%h %s', f'{base}..HEAD')
  if log.returncode != 0:
    raise NotChecked(f'git log failed: {log.stderr.strip()}')
  return [Commit(*line.split(' ', 1))
          for line in log.stdout.split('\n') if line]


def long_subjects(top, base=RULE_BASE):
  """Returns a Commit for each subject that is too long; raises NotChecked."""
  return [commit for commit in _commits_since(top, base)
          if len(commit.subject) > MAX_SUBJECT]


def describe(commit):
  return (f'commit {commit.hash}: the subject has {len(commit.subject)} '
          f'characters: "{commit.subject}"; shorten it to at most '
          f'{MAX_SUBJECT}, with git commit --amend or git rebase -i')


def main(top, arguments):
  parser = argparse.ArgumentParser(
      description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
  parser.add_argument('base', metavar='BASE', nargs='?', default=RULE_BASE,
                      help='the last commit that is not checked')
  base = parser.parse_args(arguments).base
  try:
    commits = long_subjects(top, base)
  except NotChecked as reason:
    print(f'commit subjects are not checked: {reason}')
    return 0
  for commit in commits:
    print(describe(commit))
  return 1 if commits else 0


if __name__ == '__main__':
  sys.exit(main(os.path.realpath(os.path.join(os.path.dirname(__file__),
                                              '..', '..')), sys.argv[1:]))
