#!/bin/bash
# Installs missing packages, builds, runs the tests and counts their cases. The
# last line is "N passed, N failed" (", N skipped"). Exits non-zero unless at
# least one case ran and none failed.
#
#   tools/test.sh [BAZEL OPTION or TARGET...]     default target: //...
set -euo pipefail
cd "$(dirname "$0")/.."
exec 3>&1
# Shows each line. (tee would open an output file again, and overwrite it.)
python="$(tools/setup.sh --tests | while IFS= read -r line; do
  printf '%s\n' "$line" >&3
  printf '%s\n' "$line"
done | tail -n 1)"
python="${python##* is }"

targets=(//...)
for argument in "$@"; do
  [[ $argument == //* ]] && targets=()
done

# In a checkout that was moved, Bazel would follow these links to the output of
# another checkout.
find . -maxdepth 1 -type l -name 'bazel-*' -delete

events=$(mktemp)
trap 'rm -f "$events"' EXIT
echo "test: building and running; the first time takes about a quarter of an hour"
built=0
# GPU kernels are compiled for this machine's GPU, or else for one architecture;
# tools/nightly.sh compiles them for all.
architectures="$(tools/gpu_architectures.sh)"
tools/bazel_progress.py test bazel test --keep_going --build_event_json_file="$events" \
  --test_env=WEFT_TEST_PYTHON="$python" --test_env=WEFT_TEST_TOOLS_REQUIRED=1 \
  --define=cuda_archs="${architectures:-90}" "$@" "${targets[@]}" || built=$?
python3 tools/trim_cache.py || true

python3 tools/count_tests.py "$events" "$built"
