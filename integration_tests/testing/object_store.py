"""An object store server for tests (libs/object_store/testing)."""

import contextlib
import os
import subprocess
import unittest

_SERVER = 'libs/object_store/testing/object_server.py'


@contextlib.contextmanager
def server(kind):
  """Yields the URL of a server; SkipTest without tools/setup.sh --tests."""
  python = os.environ.get('WEFT_TEST_PYTHON')
  if not python:
    # tools/test.sh sets this: it has installed the tools.
    assert 'WEFT_TEST_TOOLS_REQUIRED' not in os.environ
    raise unittest.SkipTest('needs tools/setup.sh --tests')
  with subprocess.Popen([python, '-B', _SERVER, kind], stdin=subprocess.PIPE,
                        stdout=subprocess.PIPE, text=True) as process:
    try:
      yield process.stdout.readline().strip()
    finally:
      process.stdin.close()
      process.wait()


def environment(url):
  """Returns the variables with which a program uses that S3 server."""
  return {
      'AWS_ENDPOINT_URL': url,
      'AWS_ACCESS_KEY_ID': 'weft-test-key',
      'AWS_SECRET_ACCESS_KEY': 'weft-test-secret',
  }
