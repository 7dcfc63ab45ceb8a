"""Supervises processes: shows their output, notices their ends, stops them.

A single thread waits in a loop for output, ends of processes, and signals. The
first stop signal interrupts the wait of the caller; the second one kills all
processes at once, even if the loop is blocked.
"""

import contextlib
import os
import selectors
import signal
import time

_STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_LONGEST_WAIT_S = 3600.0
_FOR_EVER_S = float('inf')


class StopRequest(Exception):
  """A signal requested a stop; `code` is the exit code that reports it."""

  def __init__(self, number):
    super().__init__(signal.Signals(number).name)
    self.code = 128 + number


class Supervisor:
  """Supervises processes. Only for the main thread, once per process.

  `display` shows the output of tasks, `logs` stores it, and
  `on_line(process, text)` is called with each line.
  """

  def __init__(self, display, logs):
    self.processes = []  # the running ones, in order of their start
    self._display = display
    self._logs = logs
    self.on_line = lambda process, text: None
    self._stop = None  # the signal that requested a stop
    self._stopping = False  # waits are no longer interrupted
    self._selector = selectors.DefaultSelector()
    self._wakened, self._waker = os.pipe()

  def handle_signals(self):
    """Starts to handle signals; must be called before the first add()."""
    for end in (self._wakened, self._waker):
      os.set_blocking(end, False)
    signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
    self._selector.register(self._wakened, selectors.EVENT_READ,
                            self._forget_wake)
    for number in _STOP:
      if signal.getsignal(number) != signal.SIG_IGN:  # as under nohup
        signal.signal(number, self._request_stop)
    signal.signal(signal.SIGQUIT, self._end_at_once)
    signal.signal(signal.SIGWINCH, lambda *_: self._resize())

  def add(self, process):
    """Takes ownership of a process."""
    self.processes.append(process)
    self._resize()
    for stream in process.streams:
      self._selector.register(
          stream, selectors.EVENT_READ,
          lambda stream=stream: self._read(process, stream))
    self._selector.register(process, selectors.EVENT_READ,
                            lambda: self._on_end(process))

  def wait_until(self, done, timeout=_FOR_EVER_S, poll=_LONGEST_WAIT_S):
    """Waits until done(), called after each event and each `poll` seconds.

    Returns its last result, which is false after `timeout` seconds. Raises
    StopRequest after a signal, or if the reader of the output has closed it.
    """
    deadline = time.monotonic() + timeout
    while not (result := done()):
      left = deadline - time.monotonic()
      if left <= 0:
        break
      self._check_stop()
      self._handle_events(min(left, poll))
    return result

  def stop(self, processes, grace):
    """Terminates processes; kills those that run after `grace` seconds."""
    self._stopping = True
    for process in processes:
      process.signal(signal.SIGTERM)
    if not self.wait_until(lambda: _ended(processes), grace):
      for process in processes:
        if process.code is None:
          self._display.say(f'{process.name} still runs after {grace:g} s')
          process.signal(signal.SIGKILL)
      self.wait_until(lambda: _ended(processes))
    self._stopping = False

  def _request_stop(self, number, _):
    if self._stop:
      self._end_at_once(number, None)
    self._stop = number

  def _end_at_once(self, number, _):
    """Kills all processes. Runs in the handler, so it ends blocked writes."""
    for process in self.processes:
      process.signal(signal.SIGKILL)
    for process in self.processes:
      process.await_end()
    os._exit(128 + number)  # the guard kills the processes' children

  def _check_stop(self):
    if self._stopping:
      return
    if self._stop:
      raise StopRequest(self._stop)
    if self._display.is_broken:
      raise StopRequest(signal.SIGPIPE)

  def _forget_wake(self):
    with contextlib.suppress(BlockingIOError):
      os.read(self._wakened, 512)

  def _resize(self):
    for process in self.processes:
      for stream in process.streams:
        stream.resize(self._display.text_width())

  def _handle_events(self, timeout):
    refresh = self._display.refresh()
    if refresh is not None:
      timeout = min(timeout, refresh)
    for key, _ in self._selector.select(min(timeout, _LONGEST_WAIT_S)):
      if key.fileobj in self._selector.get_map():  # not ended just now
        key.data()

  def _read(self, process, stream):
    """Returns true if there may be more output."""
    data = stream.read()
    if data:
      lines = stream.reader.feed(data)
      if not stream.is_error:
        self._display.live(process.name, stream.reader.live)
      self._take(process, stream, lines)
    elif data is not None and stream in self._selector.get_map():
      self._selector.unregister(stream)
    return bool(data)

  def _take(self, process, stream, lines):
    if not lines:
      return
    for line in lines:
      self.on_line(process, line)
    self._logs.write(process.name, lines)
    self._display.lines(process.name, lines, stream.is_error)

  def _on_end(self, process):
    self._selector.unregister(process)
    process.reap()
    self._display.live(process.name, '')
    for stream in process.streams:
      while self._read(process, stream):
        pass
      self._take(process, stream, stream.reader.end())
      if stream in self._selector.get_map():
        self._selector.unregister(stream)
    self.processes.remove(process)
    process.close()


def _ended(processes):
  return all(process.code is not None for process in processes)
