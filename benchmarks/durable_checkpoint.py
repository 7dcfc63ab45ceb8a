#!/usr/bin/env python3
"""TensorFlow's side of checkpoint.cc: a baseline with durable saves.

  durable_checkpoint.py FOLDER [ARGUMENT...]

Runs FOLDER/checkpoint.py. Its Saver returns before the data is on the disk, so
here each save ends with sync: a save of Weft ends when it is durable.
"""
import functools
import os
import sys


def _make_durable(tf):
  """Makes saves of `tf` end when they are durable; idempotent."""
  save = tf.train.Saver.save
  if hasattr(save, '__wrapped__'):
    return tf

  @functools.wraps(save)
  def durable_save(*args, **kwargs):
    path = save(*args, **kwargs)
    os.sync()
    return path

  tf.train.Saver.save = durable_save
  return tf


def main():
  folder = sys.argv.pop(1)
  sys.path.insert(0, folder)
  # Modules of that folder.
  import checkpoint  # pylint: disable=import-error
  import common  # pylint: disable=import-error
  import_tf = common.import_tf
  common.import_tf = lambda: _make_durable(import_tf())
  checkpoint.main()


if __name__ == '__main__':
  main()
