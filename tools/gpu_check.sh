#!/bin/bash
# Checks Weft on a machine with a GPU: recorded cases with nodes on the GPU,
# benchmarks, errors when memory or the GPU is lost, and cases under
# compute-sanitizer if it is installed. The machine needs only a driver.
# WEFT_CUBLAS is the path of cuBLAS if the loader does not find it.
#
#   tools/gpu_check.sh pack FOLDER    builds, and copies all required files to
#                                     FOLDER
#   FOLDER/gpu_check.sh conformance|figures|errors|sanitizer [GROUP...]
#                                     runs a part; the last line is JSON. GROUPs
#                                     of cases are for the sanitizer. Exits
#                                     non-zero if something failed
set -euo pipefail
export LC_ALL=C  # [A-C] are three letters
here="$(cd "$(dirname "$0")" && pwd)"

# Copies Debian's shared libraries, except those of the C and C++ languages.
copy_libraries() {
  mkdir -p "$1/lib"
  ldd "$1/conformance" "$1/gpu" | awk '/=> \//{print $3}' | sort -u |
    grep -vE '/(libc|libm|libpthread|libdl|librt|libresolv|libgcc_s|libstdc\+\+)\.so' |
    xargs -I{} cp -L {} "$1/lib/"
}

pack() {
  local folder top="$here/.."
  folder="$(realpath -m "$1")"
  cd "$top"
  bazel build --config=opt //tools/conformance //benchmarks:gpu
  mkdir -p "$folder"
  strip -o "$folder/conformance" bazel-bin/tools/conformance/conformance
  strip -o "$folder/gpu" bazel-bin/benchmarks/gpu
  copy_libraries "$folder"
  cp -r benchmarks/model_graphs "$folder/"
  tar -czf "$folder/cases.tar.gz" -C integration_tests/testdata conformance
  cp tools/gpu_check.sh "$folder/"
  du -sh "$folder"
}

# Unpacks the cases to the folder $scratch.
unpack_cases() {
  scratch="$(mktemp -d)"
  # Cases expect that their own files sort after the files that they write.
  export TMPDIR="$scratch/a"
  mkdir "$TMPDIR"
  tar -xzf "$here/cases.tar.gz" -C "$scratch"
}

conformance() {
  local scratch output left_out status=0
  unpack_cases
  output="$("$here/conformance" "$scratch/conformance" --gpu)" || status=$?
  rm -r "$scratch"
  echo "$output"
  left_out="$(grep -c '^left out: ' <<<"$output")" || true
  sed -nE 's/^([0-9]+) passed, ([0-9]+) failed, ([0-9]+) skipped$/{"workload": "gpu_conformance", "passed": \1, "failed": \2, "skipped": \3, "left_out": '"$left_out"'}/p' <<<"$output"
  return "$status"
}

figures() { "$here/gpu" --json --graphs="$here/model_graphs"; }

errors() { "$here/gpu" --json --errors; }

find_sanitizer() {
  local place
  for place in "$(command -v compute-sanitizer)" "${CUDA_HOME:-}/bin/compute-sanitizer" \
    /usr/local/cuda*/bin/compute-sanitizer \
    /usr/local/cuda*/compute-sanitizer/compute-sanitizer; do
    [[ -x "$place" ]] && echo "$place" && return
  done
}

# number PATTERN TEXT: prints the last match of the pattern's group, or 0.
number() {
  local found
  found="$(sed -nE "s/$1/\\1/p" <<<"$2" | tail -n 1)"
  echo "${found:-0}"
}

# Splits the group "ops" by the first letter, so that each part has a result
# when it ends.
split_ops() {
  local part folder
  for part in A-C D-M N-R S-Z; do
    folder="$scratch/conformance/ops_$part/ops"
    mkdir -p "$folder"
    mv "$scratch/conformance/ops/"[$part]* "$folder/"
  done
}

# Runs groups of cases under memcheck for less than three minutes, and lists the
# groups that were not checked. Each buffer is a separate allocation: memcheck
# does not detect errors inside a larger allocation of CUDA.
sanitizer() {
  local tool scratch group output passed=0 failed=0 errors=0 unchecked=""
  tool="$(find_sanitizer)" || true
  if [[ -z "$tool" ]]; then
    echo '{"workload": "gpu_sanitizer", "skipped": "there is no compute-sanitizer"}'
    return
  fi
  unpack_cases
  split_ops
  [[ $# -gt 0 ]] || set -- ops optimizers ops_S-Z ops_A-C ops_D-M ops_N-R state
  SECONDS=0
  for group in "$@"; do
    output=""
    if ((SECONDS < 170)); then
      output="$(timeout $((170 - SECONDS)) "$tool" --tool memcheck \
        "$here/conformance" "$scratch/conformance/$group" \
        --gpu --exact-memory 2>&1)" || true
    fi
    if ! grep -q '^[0-9]* passed' <<<"$output"; then
      unchecked="$unchecked $group"
      continue
    fi
    grep -E '^(FAIL|=========)' <<<"$output" | head -n 40 || true
    passed=$((passed + $(number '^([0-9]+) passed, .*' "$output")))
    failed=$((failed + $(number '^[0-9]+ passed, ([0-9]+) failed.*' "$output")))
    errors=$((errors + $(number '.*ERROR SUMMARY: ([0-9]+) error.*' "$output")))
  done
  rm -r "$scratch"
  echo "{\"workload\": \"gpu_sanitizer\", \"passed\": $passed, \"failed\": $failed, \"errors\": $errors, \"unchecked\": \"${unchecked# }\"}"
  ((passed > 0 && failed + errors == 0))
}

export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
case "${1:-}" in
  pack) pack "${2:?where to}" ;;
  conformance | figures | errors | sanitizer) "$@" ;;
  *) sed -n '2,12p' "$0" && exit 2 ;;
esac
