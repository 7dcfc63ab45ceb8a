#!/bin/bash
# Looks for bugs without running: clang-tidy over C++ files, with the checks of
# .clang-tidy. Exits non-zero if it finds any.
#
#   tools/tidy.sh [TARGET]...     default: //...
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh clang-14 clang-tidy-14

targets=("$@")
[[ $# != 0 ]] || targets=(//...)
echo "tidy: building, for generated headers"
bazel build "${targets[@]}"
database=$(mktemp -d)
trap 'rm -rf "$database"' EXIT
PYTHONPATH=. python3 -B tools/compile_commands.py \
  "$database/compile_commands.json" "${targets[@]}"

# It names each file as it comes to it, and counts what it leaves out: noise.
run-clang-tidy-14 -quiet -p "$database" -j "$(nproc)" \
  2> >(grep -v ' warnings\? generated\|^Suppressed\|^Use -header-filter' >&2)
echo "tidy: clean"
