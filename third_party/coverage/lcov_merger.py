#!/usr/bin/python3
"""Makes lcov of what gcov left behind, for `bazel coverage` without a network.

Bazel runs gcov itself, which writes *.gcov.json.gz into --coverage_dir; this
adds them up into --output_file. It stands in for Bazel's own tool, a download.
"""

import collections
import glob
import gzip
import json
import os
import sys


def main(arguments):
  flags = dict(a[2:].split('=', 1) for a in arguments if '=' in a)
  hits = collections.defaultdict(collections.Counter)
  pattern = os.path.join(flags['coverage_dir'], '**', '*.gcov.json.gz')
  for path in glob.glob(pattern, recursive=True):
    with gzip.open(path) as report:
      for source in json.load(report)['files']:
        if not source['file'].startswith(('/usr', 'external/')):
          for line in source['lines']:
            hits[source['file']][line['line_number']] += line['count']
  with open(flags['output_file'], 'w', encoding='utf-8') as output:
    for source, lines in sorted(hits.items()):
      output.write(f'SF:{source}\n')
      for number, count in sorted(lines.items()):
        output.write(f'DA:{number},{count}\n')
      output.write(f'LF:{len(lines)}\n')
      output.write(f'LH:{sum(1 for c in lines.values() if c)}\n')
      output.write('end_of_record\n')


if __name__ == '__main__':
  main(sys.argv[1:])
