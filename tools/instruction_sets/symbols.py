"""Do libraries compiled for different instruction sets keep to themselves?

The linker merges symbols of one name, and the first one wins: a function that
two sets share may be the AVX-512 one, and a caller meant for any processor
then dies of an illegal instruction on an older one. Recipe: nm and objdump of
binutils over the libraries' archives, NAME_TAG.a with TAG of _INSTRUCTION_SETS
in bazel/weft.bzl.
"""

import itertools
import re
import subprocess

# Points to the C++ runtime; the same in every set.
_SHARED_BY_ALL = {'DW.ref.__gxx_personality_v0'}
# Registers that a set must not touch.
_TOO_WIDE = {'v1': re.compile(r'%[yz]mm\d'), 'v3': re.compile(r'%zmm\d')}
_TAG = re.compile(r'_(v\d)(?:\.pic)?\.a$')


def _output(*command):
  return subprocess.run(
      command, check=True, capture_output=True, text=True).stdout


def _tag(archive):
  return _TAG.search(archive).group(1)


def _symbols(archive):
  """Names of what the archive defines for others."""
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
