#!/bin/bash
# Installs what is missing, builds, runs the tests and counts their cases. The
# last line is "N passed, N failed" (", N skipped"); anything but success of all
# of them, or no case at all, exits non-zero.
#
#   tools/test.sh [BAZEL OPTION or TARGET...]     default target: //...
set -euo pipefail
cd "$(dirname "$0")/.."
exec 3>&1
python="$(tools/setup.sh --tests | tee /dev/fd/3 | tail -n 1)"
python="${python##* is }"

targets=(//...)
for argument in "$@"; do
  [[ $argument == //* ]] && targets=()
done

# Bazel follows these links into another checkout's output when it was moved.
find . -maxdepth 1 -type l -name 'bazel-*' -delete

events=$(mktemp)
trap 'rm -f "$events"' EXIT
echo "test: building and running; the first time takes about 25 minutes"
built=0
tools/bazel_progress.py test bazel test --keep_going --build_event_json_file="$events" \
  --test_env=WEFT_TEST_PYTHON="$python" --test_env=WEFT_TEST_TOOLS_REQUIRED=1 \
  "$@" "${targets[@]}" || built=$?
python3 tools/trim_cache.py || true

python3 tools/count_tests.py "$events" "$built"
