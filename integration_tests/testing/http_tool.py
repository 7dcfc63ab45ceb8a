"""A third-party HTTP server that a test starts: Prometheus, TensorBoard."""

import http.client
import subprocess
import tempfile
import time
import urllib.request

from integration_tests.testing import programs

_REQUEST_S = 30
_STOP_S = 30
_REQUEST_INTERVAL_S = 0.2

_NO_PROXY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def get(url):
  """Returns the body of the response; OSError if there is none, or an error."""
  try:
    with _NO_PROXY.open(url, timeout=_REQUEST_S) as response:
      return response.read()
  except http.client.HTTPException as error:
    # The server ended while it sent the response.
    raise OSError(f'{url}: {error!r}') from error


class HttpTool:
  """A running server process, its base URL and its log.

  `command` is its command line, `url` ends with '/'. Each wait has a deadline.
  """

  def __init__(self, name, command, url):
    self._name = name
    self._url = url
    self._log = tempfile.TemporaryFile()
    self._process = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=self._log, stderr=self._log)

  def stop(self):
    """Sends SIGTERM, and SIGKILL if the server runs on."""
    self._process.terminate()
    programs.wait_or_kill(self._process, _STOP_S)
    self._log.close()

  def get(self, path):
    return get(self._url + path)

  def wait_for(self, expected, ask, is_done, seconds):
    """Returns the first result of ask() for which is_done(result) is true.

    `ask` sends requests; it may raise OSError while the server starts. Neither
    server can notify a client of new data, so requests are repeated; between
    two of them this blocks on the pidfd of the server, whose end is reported at
    once. AssertionError, with `expected`, the last result and the log, if the
    server ended or `seconds` have passed.
    """
    deadline = time.monotonic() + seconds
    while True:
      try:
        result = ask()
        if is_done(result):
          return result
      except OSError as error:
        result = error
      left = deadline - time.monotonic()
      if left <= 0:
        self._fail(f'did not report {expected} within {seconds} s', result)
      if programs.ends_within(self._process, min(left, _REQUEST_INTERVAL_S)):
        code = self._process.wait()
        self._fail(f'ended with code {code} before it reported {expected}',
                   result)

  def _fail(self, problem, result):
    self._log.seek(0)
    log = self._log.read().decode(errors='replace')
    raise AssertionError(
        f'{self._name} {problem}; last result: {result!r}; log:\n{log}')
