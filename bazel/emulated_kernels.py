"""Translates a *.cu source for g++, so that its kernels run on the processor.

    emulated_kernels.py SOURCE RESULT

Only launches are not valid C++. This script replaces
kernel<<<blocks, threads, shared, stream>>>(arguments) by a call of
EmulatedLaunch (libs/device/cuda/testing/emulated_kernel.h), which captures the
variables of the arguments by copy. Line numbers do not change. Comments and
strings are treated as code.
"""

import re
import sys

_NAME = re.compile(r'[A-Za-z_][A-Za-z_0-9:]*$')


def _start_of_kernel(text, end):
  """Returns the span of the kernel's name and <arguments> before `end`."""
  end = len(text[:end].rstrip())
  start = end
  if text[end - 1] == '>':
    depth = 0
    while True:
      start -= 1
      depth += {'>': 1, '<': -1}.get(text[start], 0)
      if depth == 0:
        break
  name = _NAME.search(text, 0, start)
  if not name:
    raise ValueError(f'no kernel before the launch: {text[:end][-80:]}')
  return name.start(), end


def _end_of_arguments(text, start):
  """Returns the index of the parenthesis that closes the one at `start`."""
  depth = 0
  for end in range(start, len(text)):
    depth += {'(': 1, ')': -1}.get(text[end], 0)
    if depth == 0:
      return end
  raise ValueError(f'no end of a launch: {text[start:][:80]}')


def emulated(text):
  """Returns the source with launches replaced."""
  while True:
    opened = text.find('<<<')
    if opened < 0:
      return text
    closed = text.index('>>>', opened)
    arguments = text.index('(', closed)
    if text[closed + len('>>>'):arguments].strip():
      raise ValueError(f'no arguments after a launch: {text[opened:][:80]}')
    start, end = _start_of_kernel(text, opened)
    last = _end_of_arguments(text, arguments)
    config = text[opened + len('<<<'):closed]
    text = (
        f'{text[:start]}::weft::EmulatedLaunch('
        f'{text[end:opened]}{config}, [=]() mutable {{ {text[start:end]}'
        f'{text[arguments:last + 1]}; }}){text[last + 1:]}')


def main():
  source, result = sys.argv[1:]
  with open(source, encoding='utf-8') as file:
    text = file.read()
  with open(result, 'w', encoding='utf-8') as file:
    file.write(f'#line 1 "{source}"\n{emulated(text)}')


if __name__ == '__main__':
  main()
