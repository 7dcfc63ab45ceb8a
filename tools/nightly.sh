#!/bin/bash
# Runs what takes too long for every change: the fuzzers of everything that a
# peer may send, for as long as is said.
#
#   tools/nightly.sh [seconds a fuzzer]    (600)
#
# A failure leaves its input in the checkout. Put it into the corpus under
# libs/bus/testdata/fuzz, which tools/test.sh replays, and mend what it found.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh clang-14 libclang-rt-14-dev

seconds="${1:-600}"
failed=0

fuzzers=(control_message chunks greeting)
for fuzzer in "${fuzzers[@]}"; do
  found="$(mktemp -d)"
  printf '\n== %s, %s s\n' "$fuzzer" "$seconds"
  bazel run --config=fuzz "//libs/bus:${fuzzer}_fuzz" -- \
    -max_total_time="$seconds" -print_final_stats=1 -verbosity=0 \
    -artifact_prefix="$PWD/" \
    "$found" "$PWD/libs/bus/testdata/fuzz/$fuzzer" || failed=1
  rm -rf "$found"
done

if [ "$failed" = 0 ]; then echo "all clean"; else echo "FAILED"; fi
exit "$failed"
