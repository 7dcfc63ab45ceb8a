#!/usr/bin/python3
"""Writes compile_commands.json, which clang's tools and editors read.

usage: compile_commands.py [FILE [TARGET...]]
       default: compile_commands.json at the top, //...

Asks Bazel for each compilation of our own code; those of generated and foreign
code are left out. Generated headers must have been built before they are read.
"""

import json
import os
import subprocess
import sys

from tools import source_tree

# Clang rejects the first ones, and warns about the others.
_NOT_FOR_CLANG = (
    '-fno-canonical-system-headers', '-Wno-free-nonheap-object',
    '-Wno-maybe-uninitialized', '-Werror=invalid-pch',
    '-D__DATE__=', '-D__TIME__=', '-D__TIMESTAMP__=')
_GENERATED = ('external/', 'bazel-out/')


def _bazel(*arguments):
  return subprocess.run(
      ['bazel', *arguments], cwd=source_tree.root(), check=True, text=True,
      stdout=subprocess.PIPE).stdout


def _for_clang(arguments):
  """Returns the arguments for clang, without the precompiled header.

  Files also compile without it.
  """
  kept = [a for a in arguments if not a.startswith(_NOT_FOR_CLANG)]
  if '-include' in kept:
    at = kept.index('-include')
    del kept[at:at + 2]
  return kept


def entries(actions, directory):
  """Yields an entry for each file; the first of several compilations wins."""
  seen = set()
  for action in actions:
    arguments = _for_clang(action['arguments'])
    if '-c' not in arguments:
      continue
    at = arguments.index('-c') + 1
    file = arguments[at]
    if file.startswith(_GENERATED) or file in seen:
      continue
    seen.add(file)
    # The path in the checkout, where people edit it, not Bazel's link to it.
    arguments[at] = os.path.join(source_tree.root(), file)
    yield {'directory': directory, 'file': arguments[at],
           'arguments': arguments}


def main(arguments):
  top = source_tree.root()
  path = arguments[0] if arguments else os.path.join(
      top, 'compile_commands.json')
  targets = ' + '.join(arguments[1:] or ['//...'])
  answer = _bazel('aquery', '--output=jsonproto', '--config=gcc',
                  '--define=units=separate',
                  f"mnemonic('CppCompile', {targets})")
  directory = _bazel('info', 'execution_root').strip()
  found = list(entries(json.loads(answer).get('actions', []), directory))
  with open(path, 'w', encoding='utf-8') as file:
    json.dump(found, file, indent=1)
  print(f'{path}: {len(found)} files')


if __name__ == '__main__':
  try:
    main(sys.argv[1:])
  except subprocess.CalledProcessError:
    sys.exit('compile_commands: bazel failed; its message is above')
