"""What TensorFlow's sides of benchmarks have in common: scripts of this folder
that run with a Python that has TensorFlow."""

import statistics
import time


def times_of(step, warmup, steps, seconds):
  """Seconds of each step, after `warmup` ones: at most `steps` of them, and
  none that would begin after so many seconds."""
  for _ in range(warmup):
    step()
  times = []
  begin = last = time.perf_counter()
  while len(times) < steps and last - begin < seconds:
    step()
    now = time.perf_counter()
    times.append(now - last)
    last = now
  return times


def median_of(step, warmup, steps, seconds):
  """The median of times_of, in seconds."""
  return statistics.median(times_of(step, warmup, steps, seconds))
