"""Times steps in TensorFlow's sides of the benchmarks.

Scripts of this folder import it; they run with a Python that has TensorFlow.
"""

import statistics
import time


def times_of(step, warmup, steps, seconds):
  """Returns the seconds of each step, after `warmup` steps.

  Times at most `steps` steps, and begins none after `seconds` seconds.
  """
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
  """Returns the median of times_of, in seconds."""
  return statistics.median(times_of(step, warmup, steps, seconds))
