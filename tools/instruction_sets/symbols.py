"""Finds code that libraries for different instruction sets share.

The linker merges symbols with the same name and keeps the first one. If two
sets share a function, the program may contain only its AVX-512 version, and a
caller for any processor crashes with an illegal instruction on older ones. The
checks run nm and objdump of binutils on the libraries' archives, NAME_TAG.a
with a TAG of INSTRUCTION_SETS in bazel/weft.bzl.
"""

import itertools
import re
import subprocess

# A pointer to the C++ runtime, which is the same in every set.
_SHARED_BY_ALL = {'DW.ref.__gxx_personality_v0'}
# Registers that a set does not have.
_TOO_WIDE = {'v1': re.compile(r'%[yz]mm\d'), 'v3': re.compile(r'%zmm\d')}
_TAG = re.compile(r'_(v\d)(?:\.pic)?\.a$')


def _output(*command):
  return subprocess.run(
      command, check=True, capture_output=True, text=True).stdout


def _tag(archive):
  return _TAG.search(archive).group(1)


def _symbols(archive):
  """Returns the names of the external symbols that the archive defines."""
  lines = _output('nm', '--defined-only', '--extern-only', archive)
  rows = (line.split() for line in lines.splitlines())
  return {row[2] for row in rows if len(row) == 3} - _SHARED_BY_ALL


def shared(archives):
  """Yields a line for each symbol that two of the archives define."""
  symbols = {archive: _symbols(archive) for archive in archives}
  for one, other in itertools.combinations(sorted(archives), 2):
    for symbol in sorted(symbols[one] & symbols[other]):
      name = _output('c++filt', symbol).strip()
      yield f'{_tag(one)} and {_tag(other)} share {name}'


def too_wide(archives):
  """Yields a line for each archive that uses registers its set lacks."""
  for archive in sorted(archives):
    pattern = _TOO_WIDE.get(_tag(archive))
    code = _output('objdump', '--disassemble', '--no-show-raw-insn', archive)
    if pattern and pattern.search(code):
      yield (f'{_tag(archive)} uses {pattern.search(code).group()} in '
             f'{len(pattern.findall(code))} places')


def tags(archives):
  return sorted(map(_tag, archives))
