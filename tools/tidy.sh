#!/bin/bash
# Runs clang-tidy on C++ files, with the checks of .clang-tidy. Exits non-zero
# if it finds any problem.
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

# Removes the names of checked files and the counts of suppressed warnings.
run-clang-tidy-14 -quiet -p "$database" -j "$(nproc)" \
  2> >(grep -v ' warnings\? generated\|^Suppressed\|^Use -header-filter' >&2)
echo "tidy: clean"
