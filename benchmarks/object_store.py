#!/usr/bin/env python3
"""Rates of S3 uploads and downloads, as a share of curl's rates.

  object_store.py [--megabytes N] [--rounds N] [--program PATH] [--json]

Starts a server (libs/object_store/testing/object_server.py: moto's, which needs
tools/setup.sh --tests; $WEFT_TEST_PYTHON or --python names the Python that
setup.sh prints). curl and Weft's program object_store alternately send a file
there and fetch it. A share is taken within a round.

curl transfers the file twice: whole, in one request, and in pieces of 8 MiB,
like Weft. It uploads four pieces at once, as separate objects that are not
joined, and downloads them one after the other. moto copies the whole object for
each range, so the goal of the download compares with pieces. The goal of the
upload compares with one request. curl's requests are not signed; the server
hashes and signs each request of Weft again. Exits with 1 if a goal is missed.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

_HERE = os.path.dirname(os.path.abspath(__file__))
_ROOT = os.path.dirname(_HERE)
# The transfer of curl to compare with, and the least share of its rate.
GOALS = {'upload': ('whole', 0.7), 'download': ('pieces', 0.7)}
_PIECE = 8 << 20
_PARTS_AT_ONCE = 4


def _parse():
  parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
  parser.add_argument('--megabytes', type=int, default=64)
  parser.add_argument('--rounds', type=int, default=3)
  parser.add_argument('--program', default=os.path.join(
      _ROOT, 'bazel-bin', 'benchmarks', 'object_store'))
  parser.add_argument('--python', default=os.environ.get('WEFT_TEST_PYTHON'))
  parser.add_argument('--json', action='store_true',
                      help='print one JSON object on the last line')
  flags = parser.parse_args()
  if not flags.python:
    parser.error('needs --python, which tools/setup.sh --tests prints')
  return flags


class Server:
  """A server that runs until the context ends."""

  def __init__(self, python):
    script = os.path.join(_ROOT, 'libs', 'object_store', 'testing',
                          'object_server.py')
    self._process = subprocess.Popen(
        [python, '-B', script, 's3'], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, text=True)
    self.url = self._process.stdout.readline().strip()
    if not self.url:
      sys.exit('object_store.py: the server did not start')

  def __enter__(self):
    return self

  def __exit__(self, *unused_error):
    self._process.stdin.close()
    self._process.wait()


def _curl(*transfers, at_once=1):
  """Returns the seconds of one curl; a transfer is a list of arguments."""
  command = ['curl', '--no-progress-meter']
  if at_once > 1:
    command += ['--parallel', '--parallel-max', str(at_once)]
  for transfer in transfers:
    # Uploaded objects may then be fetched without a signature.
    command += ['--fail', '--noproxy', '*', '--header', 'x-amz-acl: public-read',
                '--output', '/dev/null', *transfer, '--next']
  begin = time.monotonic()
  subprocess.run(command[:-1], check=True)
  return time.monotonic() - begin


def _run_curl(url, folder, size):
  """Returns the rates in MB/s of the whole file and of its pieces."""
  url += '/bucket/curl'
  whole = os.path.join(folder, 'whole')
  pieces = range(0, size, _PIECE)
  ranges = [f'{at}-{min(at + _PIECE, size) - 1}' for at in pieces]
  seconds = {
      ('upload', 'whole'): _curl(['--upload-file', whole, url]),
      ('download', 'whole'): _curl([url]),
      ('upload', 'pieces'): _curl(
          *(['--upload-file', os.path.join(folder, str(at)), f'{url}-{at}']
            for at in pieces), at_once=_PARTS_AT_ONCE),
      ('download', 'pieces'): _curl(*(['--range', r, url] for r in ranges))}
  return {how: size / 1e6 / took for how, took in seconds.items()}


def _run_weft(url, flags):
  environment = dict(os.environ, AWS_ENDPOINT_URL_S3=url, no_proxy='*',
                     AWS_ACCESS_KEY_ID='weft-test-key',
                     AWS_SECRET_ACCESS_KEY='weft-test-secret')
  ended = subprocess.run(
      [flags.program, '--json', '--repeats=1',
       f'--megabytes={flags.megabytes}'],
      stdout=subprocess.PIPE, text=True, env=environment, check=True)
  results = json.loads(ended.stdout.splitlines()[-1])['results']
  return {way: results[way + '_rate']['median'] for way in GOALS}


def _write_files(folder, size):
  """Writes a file and its pieces, which are named by their offsets."""
  with open(os.path.join(folder, 'whole'), 'wb') as whole:
    for at in range(0, size, _PIECE):
      piece = os.urandom(min(_PIECE, size - at))
      whole.write(piece)
      with open(os.path.join(folder, str(at)), 'wb') as file:
        file.write(piece)


def _measure(flags):
  """Yields the rates of curl and of Weft in MB/s, for each round."""
  size = flags.megabytes << 20
  with Server(flags.python) as server, tempfile.TemporaryDirectory() as folder:
    _write_files(folder, size)
    for number in range(flags.rounds + 1):
      round_ = (_run_curl(server.url, folder, size),
                _run_weft(server.url, flags))
      if number > 0:  # the first one warms up
        yield round_


def main():
  flags = _parse()
  rounds = list(_measure(flags))
  results = {}
  missed = False
  for way, (goal_how, goal) in GOALS.items():
    weft = statistics.median(of_weft[way] for _, of_weft in rounds)
    results[f'{way}_weft'] = {'median': weft, 'unit': 'MB/s'}
    print(f'{way}: Weft {weft:.0f} MB/s')
    for how in ('whole', 'pieces'):
      curl = statistics.median(of_curl[way, how] for of_curl, _ in rounds)
      share = statistics.median(of_weft[way] / of_curl[way, how]
                                for of_curl, of_weft in rounds)
      results[f'{way}_curl_{how}'] = {'median': curl, 'unit': 'MB/s'}
      results[f'{way}_share_{how}'] = {'median': share, 'unit': 'of curl'}
      print(f'  {share:.2f} of curl, {how}, {curl:.0f} MB/s' +
            (f' (goal: at least {goal})' if how == goal_how else ''))
    missed |= results[f'{way}_share_{goal_how}']['median'] < goal
  if flags.json:
    print(json.dumps({'workload': 'object_store', 'results': results}))
  return 1 if missed else 0


if __name__ == '__main__':
  sys.exit(main())
