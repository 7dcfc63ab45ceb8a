"""A real object store for tests: moto's S3.

  object_server.py s3

Prints the server's URL once it answers, and ends with its standard input. It
has a bucket "bucket".

moto takes any signature; so each signed request is signed here once more by
botocore, and is refused with SignatureDoesNotMatch when that differs or the
body is not what was signed.

POST /weft-faults with a JSON list has the next requests fail; each element has
`method` and `path` (what it contains; both optional), `times`, and `status` (of
the answer), or `half` (of the answer is sent, then the connection is cut), or
`done` (it is done, then the connection is cut), or `stall` (no answer comes).
"""

import hashlib
import json
import re
import sys
import threading

from botocore import auth
from botocore import awsrequest
from botocore import credentials
from moto.server import create_backend_app
from werkzeug import serving

KEYS = {'weft-test-key': 'weft-test-secret'}
_AUTHORIZATION = re.compile(
    r'AWS4-HMAC-SHA256 Credential=([^/]+)/\d+/([^/]+)/s3/aws4_request, ?'
    r'SignedHeaders=([^,]+), ?Signature=([0-9a-f]+)$')


class CutConnection(Exception):
  """Ends a request without the rest of its answer."""


def _headers(environ):
  headers = {
      name[len('HTTP_'):].replace('_', '-').lower(): value
      for name, value in environ.items() if name.startswith('HTTP_')
  }
  if environ.get('CONTENT_TYPE'):
    headers['content-type'] = environ['CONTENT_TYPE']
  if environ.get('CONTENT_LENGTH'):
    headers['content-length'] = environ['CONTENT_LENGTH']
  return headers


def signature_error(environ, body):
  """Why the request is not rightly signed; None if it is, or not at all."""
  headers = _headers(environ)
  if 'authorization' not in headers:
    return None
  match = _AUTHORIZATION.match(headers['authorization'])
  if match is None:
    return 'no such form of authorization: ' + headers['authorization']
  key, region, signed, signature = match.groups()
  if key not in KEYS:
    return 'InvalidAccessKeyId'
  if headers.get('x-amz-content-sha256') != hashlib.sha256(body).hexdigest():
    return 'the body is not what was signed'
  url = 'http://' + headers['host'] + environ['RAW_URI']
  request = awsrequest.AWSRequest(
      method=environ['REQUEST_METHOD'], url=url, data=body,
      headers={name: headers[name] for name in signed.split(';')
               if name != 'host'})
  request.context['timestamp'] = headers['x-amz-date']
  signer = auth.S3SigV4Auth(
      credentials.Credentials(key, KEYS[key]), 's3', region)
  canonical = signer.canonical_request(request)
  expected = signer.signature(signer.string_to_sign(request, canonical),
                              request)
  if expected == signature:
    return None
  return 'SignatureDoesNotMatch; botocore signs\n' + canonical


class Faults:
  """Those that the next requests are to meet."""

  def __init__(self):
    self._lock = threading.Lock()
    self._faults = []

  def set(self, faults):
    with self._lock:
      self._faults = faults

  def take(self, environ):
    with self._lock:
      for fault in self._faults:
        if (fault.get('times', 1) > 0 and
            fault.get('method') in (None, environ['REQUEST_METHOD']) and
            fault.get('path', '') in environ['RAW_URI']):
          fault['times'] = fault.get('times', 1) - 1
          return fault
    return {}


def _answer(start_response, status, text, kind='application/xml'):
  start_response(status, [('Content-Type', kind),
                          ('Content-Length', str(len(text)))])
  return [text]


def _error(start_response, status, code, message):
  text = '<Error><Code>%s</Code><Message>%s</Message></Error>' % (
      code, message.replace('&', '&amp;').replace('<', '&lt;'))
  return _answer(start_response, status, text.encode())


def _half(answer):
  """The first half of an answer, then the end of the connection."""
  whole = b''.join(answer)
  yield whole[:len(whole) // 2]
  raise CutConnection()


class CheckedStore:
  """The store behind the checks of this file, as a WSGI application."""

  def __init__(self, store):
    self._store = store
    self._faults = Faults()
    self._never = threading.Event()

  def __call__(self, environ, start_response):
    body = environ['wsgi.input'].read(int(environ.get('CONTENT_LENGTH') or 0))
    if environ['RAW_URI'] == '/weft-faults':
      self._faults.set(json.loads(body))
      return _answer(start_response, '200 OK', b'')
    error = signature_error(environ, body)
    if error is not None:
      code = ('InvalidAccessKeyId' if error == 'InvalidAccessKeyId' else
              'SignatureDoesNotMatch')
      return _error(start_response, '403 Forbidden', code, error)
    environ['wsgi.input'] = _Bytes(body)
    return self._with_fault(self._faults.take(environ), environ,
                            start_response)

  def _with_fault(self, fault, environ, start_response):
    if 'status' in fault:
      return _error(start_response, '%d Fault' % fault['status'],
                    fault.get('code', 'SlowDown'), 'Reduce your request rate.')
    if 'stall' in fault:
      self._never.wait()
    if 'done' in fault:
      b''.join(self._store(environ, lambda *unused: None))
      raise CutConnection()
    answer = self._store(environ, start_response)
    return _half(answer) if 'half' in fault else answer


class _Bytes:
  """A request's body once more."""

  def __init__(self, data):
    self._data = data

  def read(self, size=-1):
    size = len(self._data) if size is None or size < 0 else size
    part, self._data = self._data[:size], self._data[size:]
    return part

  def readline(self, size=-1):
    del size
    return self.read()


class QuietHandler(serving.WSGIRequestHandler):
  """Says nothing, and keeps connections open."""
  protocol_version = 'HTTP/1.1'

  def log(self, *unused_args):
    pass

  def run_wsgi(self):
    try:
      super().run_wsgi()
    except CutConnection:
      self.close_connection = True


def main():
  store = CheckedStore(create_backend_app('s3'))
  server = serving.make_server('127.0.0.1', 0, store, threaded=True,
                               request_handler=QuietHandler, passthrough_errors=True)
  threading.Thread(target=server.serve_forever, daemon=True).start()
  print('http://127.0.0.1:%d' % server.server_port, flush=True)
  sys.stdin.read()


if __name__ == '__main__':
  main()
