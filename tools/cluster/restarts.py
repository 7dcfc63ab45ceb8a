"""Decides which lost services are started again, and when."""

import collections
import time


class Restarts:
  """Schedules restarts of services.

  most: how often each service is started again; 0: never
  delay: seconds from the loss to the start
  """

  def __init__(self, most, delay, now=time.monotonic):
    self.most = most
    self._delay = delay
    self._now = now
    self._counts = collections.Counter()  # by name
    self._due = {}  # lost process -> when its service is started again

  def lose(self, process):
    """Records a loss; returns the number of the restart, or 0 for none."""
    if self._counts[process.name] >= self.most:
      return 0
    self._counts[process.name] += 1
    self._due[process] = self._now() + self._delay
    return self._counts[process.name]

  def is_planned(self, process):
    """Returns true if the service of this process will be started again."""
    return process in self._due

  def take_due(self):
    """Returns the lost processes whose services must be started now."""
    due = [p for p, when in self._due.items() if when <= self._now()]
    for process in due:
      del self._due[process]
    return due

  def clear(self):
    """Cancels all planned restarts."""
    self._due.clear()
