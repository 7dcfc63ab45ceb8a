#!/bin/bash
# Runs all tests under sanitizers and counts their cases.
#
#   tools/sanitize.sh [asan|ubsan|tsan|asan+ubsan]...   default: asan+ubsan tsan
#
# Two sanitizers that are joined by a plus share one build, which saves an hour
# on 2 cores. The last line is the sum of all runs, like that of tools/test.sh.
set -euo pipefail
cd "$(dirname "$0")/.."

sanitizers=("$@")
[[ $# != 0 ]] || sanitizers=(asan+ubsan tsan)
for sanitizer in "${sanitizers[@]}"; do
  [[ $sanitizer =~ ^(asan|ubsan|tsan|asan\+ubsan)$ ]] || {
    echo "sanitize: there is no sanitizer $sanitizer:" \
      "asan, ubsan, tsan, asan+ubsan" >&2
    exit 2
  }
done

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed=0
for sanitizer in "${sanitizers[@]}"; do
  printf '\n== %s\n' "$sanitizer"
  IFS=+ read -ra configs <<< "$sanitizer"
  tools/test.sh "${configs[@]/#/--config=}" | tee "$log.one" || failed=1
  echo "$sanitizer: $(tail -n 1 "$log.one")" >> "$log"
  rm -f "$log.one"
done

printf '\n'
cat "$log"
awk '{ passed += $2; failures += $4; skipped += $6 }
  END {
    printf "%d passed, %d failed", passed, failures
    printf skipped ? ", " skipped " skipped\n" : "\n"
  }' "$log"
exit "$failed"
