"""Gives a script an empty HOME in which Bazel records its actions.

The options are in HOME/.bazelrc, which Bazel reads after the .bazelrc of the
checkout, so that the scripts need no further options.
"""

import ast
import os
import re

from tools.build_cost import machine as machine_module

# Bazel's Java takes "~" of .bazelrc from the user database, not from $HOME.
# So the disk cache must be named, or all scripts would share the user's.
_BAZELRC = '''\
build --disk_cache={home}/.cache/weft-bazel
build --profile={logs}/profile.gz --noslim_profile
build --experimental_profile_include_target_label
build --experimental_profile_include_primary_output
build --build_event_text_file={logs}/events.txt
'''
# These inherit the options of "build", and would overwrite its files.
_COMMANDS_BESIDE_BUILD = ('info', 'aquery', 'query', 'cquery', 'run')
_OWN_FILES = ('{command} --profile={logs}/{command}_profile.gz '
              '--build_event_text_file={logs}/{command}_events.txt\n')
# aquery must not write the files that these name.
_OPTIONS_OF_FILES = ('--build_event_', '--profile', '--explain')


class BazelHome:
  """A HOME for one script, and the Bazel server that belongs to it.

  folder: is created; its folder `home` is HOME, and logs are in `logs`
  environment: the environment of the user
  """

  def __init__(self, machine, checkout, folder, environment):
    self.home = os.path.join(folder, 'home')
    self.logs = os.path.join(folder, 'logs')
    self._machine = machine
    self._checkout = checkout
    self._environment = script_environment(environment, self.home)

  def create(self):
    os.makedirs(self.home)
    os.makedirs(self.logs)
    with open(os.path.join(self.home, '.bazelrc'), 'w',
              encoding='utf-8') as file:
      file.write(bazelrc(self.home, self.logs))

  def log(self, name):
    return os.path.join(self.logs, name)

  def cache(self, *names):
    return os.path.join(self.home, '.cache', *names)

  def run(self, command, output, errors=None):
    """Runs a program in the checkout; returns its exit code."""
    return self._machine.run(
        command, self._checkout, self._environment, self.log(output),
        self.log(errors) if errors else None)

  def check(self, command, output, errors=None):
    """Runs a program that must succeed."""
    code = self.run(command, output, errors)
    if code != 0:
      raise machine_module.CommandFailed(
          f'{" ".join(command)} exited with {code}:\n'
          + last_lines(self.read(errors or output)))

  def read(self, name):
    with open(self.log(name), encoding='utf-8', errors='replace') as file:
      return file.read()

  def info(self, what):
    """Returns what `bazel info` prints; starts a server if there is none."""
    self.check(['bazel', 'info', what], f'info_{what}.txt', 'info_errors.txt')
    return self.read(f'info_{what}.txt').strip()

  def processor_seconds(self):
    """Returns the seconds of the server, and of the actions it ran."""
    return self._machine.processor_seconds(int(self.info('server_pid')))

  def shut_down(self):
    self.run(['bazel', 'shutdown'], 'shutdown.txt')


def last_lines(text, count=20):
  return '\n'.join(text.splitlines()[-count:])


def bazelrc(home, logs):
  """Returns the text of HOME/.bazelrc."""
  return _BAZELRC.format(home=home, logs=logs) + ''.join(
      _OWN_FILES.format(command=command, logs=logs)
      for command in _COMMANDS_BESIDE_BUILD)


def script_environment(environment, home):
  """Returns the user's environment with another HOME.

  pip keeps its configuration, because that may name a mirror of PyPI.
  """
  kept = {name: value for name, value in environment.items()
          if name not in ('XDG_CACHE_HOME', 'WEFT_QUICKSTART_DIR')}
  pip = os.path.join(environment.get('HOME', '/'), '.config/pip/pip.conf')
  if os.path.exists(pip):
    kept.setdefault('PIP_CONFIG_FILE', pip)
  return {**kept, 'HOME': home}


def command_line(events):
  """Returns (options, targets) of a build, from the text of its events.

  Returns only the options of the command line: aquery reads .bazelrc too.
  """
  options = [option for option in _strings(events, 'explicit_cmd_line')
             if not option.startswith(_OPTIONS_OF_FILES)]
  _, _, residual = events.partition('section_label: "residual"')
  chunks, _, _ = residual.partition('}')
  return options, _strings(chunks, 'chunk')


def _strings(text, field):
  found = re.findall(rf'^ *{field}: (".*")$', text, re.MULTILINE)
  return [ast.literal_eval(literal) for literal in found]


def aquery(options, targets):
  """Returns the command that prints the actions of a build."""
  wanted = [target for target in targets if not target.startswith('-')]
  return ['bazel', 'aquery', *options, '--output=jsonproto',
          f'deps({" + ".join(wanted)})']
