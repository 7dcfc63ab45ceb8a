"""Long commit subjects are found in a repository of a few commits."""

import contextlib
import io
import os
import subprocess
import tempfile
import unittest

from tools import xml_unittest
from tools.style import commit_subjects

_LONG = 'bus: ' + 'x' * 68
_LONGEST = 'bus: ' + 'ä' * 67
_AUTHOR = ('-c', 'user.name=A', '-c', 'user.email=a@example.org',
           '-c', 'commit.gpgsign=false')


class CommitSubjectsTest(unittest.TestCase):

  def setUp(self):
    folder = tempfile.TemporaryDirectory()
    self.addCleanup(folder.cleanup)
    self.top = folder.name
    self.git('init', '-q')
    # Longer than the rule allows, but no later than the base.
    self.base = self.commit('x' * 100)

  def git(self, *arguments):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith('GIT_')}
    environment.update(GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_NOSYSTEM='1')
    return subprocess.run(['git', '-C', self.top, *_AUTHOR, *arguments],
                          env=environment, check=True, capture_output=True,
                          encoding='utf-8').stdout.strip()

  def commit(self, message):
    """Returns the hash of a new commit."""
    self.git('commit', '-q', '--allow-empty', '-m', message)
    return self.git('rev-parse', 'HEAD')

  def long_subjects(self):
    found = commit_subjects.long_subjects(self.top, self.base)
    return [commit.subject for commit in found]

  def run_main(self, *arguments):
    """Returns the exit status and the output."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
      status = commit_subjects.main(self.top, list(arguments))
    return status, out.getvalue()

  def test_base_is_not_checked(self):
    self.assertEqual(self.long_subjects(), [])

  def test_limit_counts_characters(self):
    self.commit(_LONGEST)
    self.commit(_LONGEST + 'x')
    self.assertEqual(self.long_subjects(), [_LONGEST + 'x'])

  def test_body_may_have_long_lines(self):
    self.commit('bus: send\n\n' + 'x' * 100)
    self.assertEqual(self.long_subjects(), [])

  def test_subject_of_two_lines_counts_as_one(self):
    self.commit('bus: ' + 'x' * 40 + '\n' + 'y' * 40)
    self.assertEqual(len(self.long_subjects()), 1)

  def test_merge_does_not_count(self):
    self.git('checkout', '-q', '-b', 'side')
    self.commit(_LONG)
    self.git('checkout', '-q', '-b', 'trunk', self.base)
    self.commit('bus: send')
    self.git('merge', '-q', '--no-ff', '-m', 'y' * 100, 'side')
    self.assertEqual(self.long_subjects(), [_LONG])

  def test_main_prints_commit_and_remedy(self):
    long = self.commit(_LONG)
    status, out = self.run_main(self.base)
    self.assertEqual(status, 1)
    self.assertRegex(out, f'^commit {long[:7]}.*: the subject has 73 chara')
    self.assertIn(f'"{_LONG}"; shorten it to at most 72', out)

  def test_main_succeeds_with_short_subjects(self):
    self.commit('bus: send')
    self.assertEqual(self.run_main(self.base), (0, ''))

  def test_unpacked_archive_is_not_checked(self):
    # The folder of a repository that is not the checkout's own.
    self.top = os.path.join(self.top, 'archive')
    os.mkdir(self.top)
    status, out = self.run_main(self.base)
    self.assertEqual(status, 0)
    self.assertIn('not checked: ' + self.top + ' is not a git repository', out)

  def test_clone_without_the_base_is_not_checked(self):
    self.commit(_LONG)
    clone = os.path.join(self.top, 'clone')
    self.git('clone', '-q', '--depth=1', 'file://' + self.top, clone)
    self.top = clone
    status, out = self.run_main(self.base)
    self.assertEqual(status, 0)
    self.assertIn(f'git does not find the commit {self.base}', out)

  def test_repository_without_commits_is_not_checked(self):
    self.top = os.path.join(self.top, 'empty')
    os.mkdir(self.top)
    self.git('init', '-q')
    self.assertEqual(self.run_main()[0], 0)

  def test_missing_git_is_not_an_error(self):
    path = os.environ.pop('PATH')
    self.addCleanup(os.environ.__setitem__, 'PATH', path)
    os.environ['PATH'] = self.top
    status, out = self.run_main(self.base)
    self.assertEqual(status, 0)
    self.assertIn('git is not installed', out)


if __name__ == '__main__':
  xml_unittest.main()
