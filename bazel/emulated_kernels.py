"""Turns a *.cu source into one for g++, whose kernels the processor runs.

    emulated_kernels.py SOURCE RESULT

Only launches are not C++: kernel<<<blocks, threads, shared, stream>>>(arguments)
becomes a call of EmulatedLaunch (libs/device/cuda/testing/emulated_kernel.h),
with copies of what the arguments are made of. Lines stay where they are.
Comments and strings are taken for code.
"""

import re
import sys

_NAME = re.compile(r'[A-Za-z_][A-Za-z_0-9:]*$')


def _start_of_kernel(text, end):
  """Where the kernel's name begins that ends at `end`, with its <arguments>."""
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
  """The place of the parenthesis that closes the one at `start`."""
  depth = 0
  for end in range(start, len(text)):
    depth += {'(': 1, ')': -1}.get(text[end], 0)
    if depth == 0:
      return end
  raise ValueError(f'no end of a launch: {text[start:][:80]}')


def emulated(text):
  """The source, without launches."""
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
