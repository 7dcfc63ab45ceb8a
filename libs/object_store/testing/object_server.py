"""An object store server for tests: moto's S3, or an emulator of Google's.

  object_server.py s3|s3-tls|gcs

Prints the server's URL once it answers, and ends when its standard input ends.
The store has a bucket "bucket". With TLS, the host is "localhost" with a
self-signed certificate; the path of the certificate follows the URL.

moto accepts any signature. This server therefore signs each signed request
again with botocore. It refuses the request with SignatureDoesNotMatch if the
signatures differ or the body is not the signed one.

POST /weft-faults with a JSON list makes the next requests fail. Each element
has `method` and `path` (a part of it; both optional), `times`, and one of
`status` (of the answer), `half` (half of the answer is sent, then the
connection is cut), `done` (the request is executed, then the connection is
cut) and `stall` (no answer is sent).

Google's emulator accepts any token. This server requires the token that POST
/token returns for a request that is signed by the key of the service account.
GET /weft-account returns the account.
"""

import base64
import datetime
import functools
import hashlib
from http import server as http_server
import json
import os
import re
import sys
import tempfile
import threading
import time
from urllib import parse

from botocore import auth
from botocore import awsrequest
from botocore import credentials
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import padding
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509 import oid
from gcp_storage_emulator import server as gcs_server
from gcp_storage_emulator import storage as gcs_storage
from gcp_storage_emulator.handlers import buckets as gcs_buckets
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
  """Returns why the signature is wrong; None if it is right or missing."""
  headers = _headers(environ)
  if 'authorization' not in headers:
    return None
  match = _AUTHORIZATION.match(headers['authorization'])
  if match is None:
    return 'unknown form of authorization: ' + headers['authorization']
  key, region, signed, signature = match.groups()
  if key not in KEYS:
    return 'InvalidAccessKeyId'
  if headers.get('x-amz-content-sha256') != hashlib.sha256(body).hexdigest():
    return 'the body is not the signed one'
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
  """The faults of the next requests."""

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
  """Yields the first half of an answer, then cuts the connection."""
  whole = b''.join(answer)
  yield whole[:len(whole) // 2]
  raise CutConnection()


class CheckedStore:
  """A WSGI application: the store behind the checks of this file."""

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
  """A request body that was read already, as a stream."""

  def __init__(self, data):
    self._data = data
    self._read = 0

  def read(self, size=-1):
    end = len(self._data)
    if size is not None and size >= 0:
      end = min(end, self._read + size)
    part, self._read = self._data[self._read:end], end
    return part

  def readline(self, size=-1):
    del size
    return self.read()


class QuietHandler(serving.WSGIRequestHandler):
  """A handler that logs nothing and keeps connections open."""
  protocol_version = 'HTTP/1.1'

  def log(self, *unused_args):
    pass

  def run_wsgi(self):
    try:
      super().run_wsgi()
    except CutConnection:
      self.close_connection = True


class GcsRequest(gcs_server.Request):
  """A request that may have an empty body, for which the emulator has None."""

  @property
  def data(self):
    data = super().data
    return b'' if data is None else data


_SCOPE = 'https://www.googleapis.com/auth/devstorage.read_write'


def _decoded(part):
  return base64.urlsafe_b64decode(part + '=' * (-len(part) % 4))


class ServiceAccount:
  """A service account with its own key, and the token it is granted."""
  email = 'weft@test.iam.gserviceaccount.com'
  token = 'weft-token'

  def __init__(self):
    self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

  def description(self, url):
    pem = self._key.private_bytes(serialization.Encoding.PEM,
                                  serialization.PrivateFormat.PKCS8,
                                  serialization.NoEncryption())
    return {'type': 'service_account', 'client_email': self.email,
            'private_key': pem.decode(), 'token_uri': url + '/token'}

  def grants(self, form, url):
    """Raises an exception unless the form is a request of RFC 7523."""
    fields = dict(parse.parse_qsl(form, strict_parsing=True))
    assert fields['grant_type'] == 'urn:ietf:params:oauth:grant-type:jwt-bearer'
    header, claims, signature = fields['assertion'].split('.')
    self._key.public_key().verify(
        _decoded(signature), (header + '.' + claims).encode(),
        padding.PKCS1v15(), hashes.SHA256())
    assert json.loads(_decoded(header))['alg'] == 'RS256'
    claims = json.loads(_decoded(claims))
    assert claims['iss'] == self.email and claims['scope'] == _SCOPE, claims
    assert claims['aud'] == url + '/token', claims
    assert claims['iat'] <= time.time() + 60 < claims['exp'], claims


class GcsHandler(gcs_server.RequestHandler):
  """The emulator, which requires the token of an account."""
  account = ServiceAccount()
  lock = threading.Lock()

  def _answer(self, status, value):
    text = json.dumps(value).encode()
    self.send_response(status)
    self.send_header('Content-Type', 'application/json')
    self.send_header('Content-Length', str(len(text)))
    self.end_headers()
    self.wfile.write(text)

  def _is_allowed(self):
    return self.headers['Authorization'] == 'Bearer ' + self.account.token

  def _checked(self, handle):
    if not self._is_allowed():
      self.rfile.read(int(self.headers['Content-Length'] or 0))
      self._answer(401, {'error': {'code': 401, 'message': 'Invalid token'}})
      return
    with self.lock:
      handle()

  def do_GET(self):  # pylint: disable=invalid-name
    if self.path == '/weft-account':
      self._answer(200, self.account.description(self.server.url))
    else:
      self._checked(super().do_GET)

  def do_POST(self):  # pylint: disable=invalid-name
    if self.path != '/token':
      self._checked(super().do_POST)
      return
    form = self.rfile.read(int(self.headers['Content-Length'])).decode()
    try:
      self.account.grants(form, self.server.url)
    except Exception as error:  # pylint: disable=broad-except
      self._answer(400, {'error': 'invalid_grant', 'why': repr(error)})
      return
    self._answer(200, {'access_token': self.account.token, 'expires_in': 3600})

  def do_DELETE(self):  # pylint: disable=invalid-name
    self._checked(super().do_DELETE)


def _serve_s3(ssl_context=None):
  """Starts a server; returns its port."""
  store = create_backend_app('s3')
  store.test_client().put('/bucket')
  server = serving.make_server(
      '127.0.0.1', 0, CheckedStore(store), threaded=True,
      request_handler=QuietHandler, passthrough_errors=True,
      ssl_context=ssl_context)
  threading.Thread(target=server.serve_forever, daemon=True).start()
  return server.server_port


def start_s3():
  """Starts a server; returns its URL."""
  return 'http://127.0.0.1:%d' % _serve_s3()


def _write(path, data):
  with open(path, 'wb') as file:
    file.write(data)
  return path


def _make_certificate(folder):
  """Writes a certificate for "localhost" and its key; returns the paths."""
  key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
  name = x509.Name([x509.NameAttribute(oid.NameOID.COMMON_NAME, 'localhost')])
  now = datetime.datetime.utcnow()
  day = datetime.timedelta(days=1)
  certificate = x509.CertificateBuilder(
      issuer_name=name, subject_name=name, public_key=key.public_key(),
      serial_number=x509.random_serial_number(), not_valid_before=now - day,
      not_valid_after=now + day).add_extension(
          x509.SubjectAlternativeName([x509.DNSName('localhost')]),
          critical=False).add_extension(
              x509.BasicConstraints(ca=True, path_length=None),
              critical=True).sign(key, hashes.SHA256())
  pem = key.private_bytes(serialization.Encoding.PEM,
                          serialization.PrivateFormat.PKCS8,
                          serialization.NoEncryption())
  return (_write(os.path.join(folder, 'certificate.pem'),
                 certificate.public_bytes(serialization.Encoding.PEM)),
          _write(os.path.join(folder, 'key.pem'), pem))


def start_s3_tls():
  """Starts a server; returns its URL and the path of its certificate."""
  files = _make_certificate(tempfile.mkdtemp(dir=os.environ.get('TEST_TMPDIR')))
  return 'https://localhost:%d %s' % (_serve_s3(files), files[0])


def start_gcs():
  """Starts a server; returns its URL."""
  gcs_server.Request = GcsRequest  # the class of requests of its router
  store = gcs_storage.Storage(use_memory_fs=True)
  gcs_buckets.create_bucket('bucket', store)
  server = http_server.ThreadingHTTPServer(
      ('127.0.0.1', 0), functools.partial(GcsHandler, store))
  server.url = 'http://127.0.0.1:%d' % server.server_port
  threading.Thread(target=server.serve_forever, daemon=True).start()
  return server.url


def main():
  starts = {'s3': start_s3, 's3-tls': start_s3_tls, 'gcs': start_gcs}
  print(starts[sys.argv[1]](), flush=True)
  sys.stdin.read()


if __name__ == '__main__':
  main()
