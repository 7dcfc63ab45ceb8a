"""Checks the includes and names in a C++ file."""

import collections
import re

from tools.layers.layer_table import Violation

_INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
_NOISE = re.compile(
    r'//[^\n]*|/\*.*?\*/'
    r'|R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|'\\?.'", re.DOTALL)

# Headers that only some files may include; `where` tests the path of a file.
_Fenced = collections.namedtuple('_Fenced', 'headers where what remedy')
# Code that only some files may contain; `where` tests the path of a file.
_Banned = collections.namedtuple('_Banned', 'code where what remedy')


def _only_in(*folders):
  return lambda path: path.startswith(tuple(f + '/' for f in folders))


def _measures_time(path):
  """Returns true if the file may read the time from a source besides Clock."""
  return (path.startswith('libs/base/') or path.endswith('_test.cc') or
          not path.startswith(('libs/', 'services/')))


def _may_see_its_clock_set(path):
  """Returns true if the file may use a clock that people can set.

  The clock may be set while a program runs for days, but not during a test.
  """
  return (path == 'libs/base/clock.h' or '/testing/' in path or
          path.endswith(('_test.cc', '_benchmark.cc')) or
          not path.startswith(('libs/', 'services/')))


_FENCED = (
    _Fenced(
        re.compile(r'google/protobuf/|.*\.pb\.h$|flatbuffers/'
                   r'|.*_generated\.h$'),
        lambda path: path.endswith(('.cc', '_inl.h')),
        'protobuf and FlatBuffers headers stay in .cc files',
        'declare own types here and convert in the .cc file'),
    _Fenced(
        re.compile(r'.*_inl\.h$'), lambda path: path.endswith(('.cc', '_inl.h')),
        'only .cc files include *_inl.h headers',
        'include it in the .cc file'),
    _Fenced(
        re.compile(r'Eigen/|unsupported/Eigen/'),
        lambda path: path.endswith('.cc'),
        'Eigen stays in .cc files',
        'pass pointers and sizes through the header'),
    _Fenced(
        re.compile(r'spdlog/|fmt/'), _only_in('libs/base'),
        'only libs/base may include spdlog', 'include "libs/base/logging.h"'),
    _Fenced(
        # A benchmark compares plain ZeroMQ with libs/bus.
        re.compile(r'zmq(_\w+)?\.h(pp)?$'),
        _only_in('libs/bus/zmq', 'benchmarks'),
        'only libs/bus/zmq may include ZeroMQ', 'use libs/bus'),
    _Fenced(
        re.compile(r'cuda|cublas|curand|cudnn|nccl'),
        _only_in('libs/device/cuda', 'libs/kernels/cuda'),
        'CUDA headers stay in libs/device/cuda and libs/kernels/cuda',
        'use libs/device'),
)

def _races_threads(path):
  """Returns true for tests, which may test thread safety with own threads."""
  return path.endswith('_test.cc') or _only_in('libs/base')(path)


def _observes_locks(path):
  """Returns true for the replacements of Abseil's locks and their test."""
  return (_only_in('libs/base/testing')(path) or
          path == 'libs/base/scheduler/observed_locks_test.cc')


_BANNED = (
    _Banned(
        re.compile(r'std::thread\b'), _races_threads,
        'only libs/base starts threads',
        'use Scheduler (libs/base/scheduler/scheduler.h): Schedule, ParallelFor'),
    _Banned(
        re.compile(
            r'std::(?:jthread|async|latch|barrier|\w+_semaphore)\b'
            r'|\bsleep_(?:for|until)\b|\b(?:sleep|usleep|nanosleep)\s*\('
            r'|\bcondition_variable\w*|\bpthread_\w+'
            r'|absl::(?:SleepFor|CondVar|Notification|Barrier|BlockingCounter)'
            r'|\b(?:Await|LockWhen)(?:With\w+)?\s*\('),
        _only_in('libs/base'),
        'only libs/base starts threads, sleeps and waits',
        'use Scheduler (libs/base/scheduler/scheduler.h): Schedule, ScheduleAt, '
        'ParallelFor, NewEvent'),
    _Banned(
        re.compile(r'\b(?:\w*[Ww]ait|LockWhen|\w*Notification)'
                   r'With(?:Timeout|Deadline)\s*\(|\bwait_(?:for|until)\s*\('),
        _observes_locks,
        'no wait follows the machine\'s clock, which people set back',
        'use FutexWait (libs/base/scheduler/futex.h), or Event::WaitUntil with a '
        'MonotoneClock'),
    _Banned(
        re.compile(r'absl::Now\s*\(|_clock::now\s*\('), _measures_time,
        'only libs/base asks for the time',
        'take a Clock (libs/base/clock.h)'),
    _Banned(
        re.compile(r'\bSystemClock\b'), _may_see_its_clock_set,
        'only libs/base and tests measure by a clock that people set',
        'use MonotoneClock (libs/base/monotone_clock.h); its WallTime is the '
        'time of day'),
    _Banned(
        re.compile(r'std::random_device|\bsrand\s*\(|\brand\s*\('),
        _only_in('libs/base'),
        'only libs/base draws unrepeatable numbers',
        'take a Random (libs/base/random.h)'),
)


def _blank(match):
  """Replaces all characters but line ends, which keeps line numbers."""
  return re.sub(r'[^\n]', ' ', match.group())


def _includes(text):
  """Yields (line number, quote, header)."""
  for number, line in enumerate(text.splitlines(), 1):
    match = _INCLUDE.match(line)
    if match:
      yield number, match.group(1), match.group(2)


def _check_layer(table, path, number, quote, header):
  user, used = table.module_of(path), table.module_of(header)
  if used:
    refusal = table.refusal(user, used) if user else ''
    if refusal:
      yield Violation(path, number, refusal,
                      f'move what is shared below {user.name}, or include it '
                      'from a module above both')
  elif quote == '"' and '/' not in header:
    yield Violation(path, number, f'"{header}" is not a path from the top',
                    'include it as "libs/MODULE/NAME.h"')
  elif header.startswith(('libs/', 'services/')):
    yield Violation(path, number, f'"{header}" is in no module',
                    'add the module to the table in docs/architecture.md, or '
                    'correct the path')


def check(table, path, text):
  """Yields the violations of one C++ file."""
  for number, quote, header in _includes(text):
    yield from _check_layer(table, path, number, quote, header)
    for fence in _FENCED:
      if fence.headers.match(header) and not fence.where(path):
        yield Violation(path, number, f'includes {header}: {fence.what}',
                        fence.remedy)
  code = _NOISE.sub(_blank, text)
  for ban in _BANNED:
    if ban.where(path):
      continue
    for match in ban.code.finditer(code):
      number = code.count('\n', 0, match.start()) + 1
      yield Violation(path, number, f'{match.group().strip("( ")}: {ban.what}',
                      ban.remedy)
