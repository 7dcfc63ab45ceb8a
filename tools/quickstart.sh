#!/bin/bash
# Trains a model on a local cluster, starting from a bare machine: installs the
# missing packages, builds optimized services and three examples, and trains a
# classifier with six processes. Finally prints the test accuracy, the path of
# the checkpoint and three next commands. The next run continues from that
# checkpoint; with --fresh it starts over.
#
# The checkpoints and logs are in $WEFT_QUICKSTART_DIR (by default
# ~/.cache/weft-quickstart).
set -euo pipefail
case "$*" in
  '' | --fresh) fresh="$*" ;;
  *) echo "usage: tools/quickstart.sh [--fresh]" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."
started=$SECONDS
cache="${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}"
folder="${WEFT_QUICKSTART_DIR:-$cache/weft-quickstart}"
log="$folder/quickstart.log"
model="$folder/fashion_mnist"
services=(coordinator ps worker checkpoint_writer)
examples=(hello simple_client fashion_mnist)

heading() { printf '\n== %s\n' "$*"; }

fail() { # WHAT; shows the end of the log
  {
    echo "quickstart: FAILED: $1; the log ends with:"
    tail -n 20 "$log"
    echo "quickstart: all of it is in $log"
  } >&2
  exit 1
}

# Prints the best instruction set of this processor for which kernels can be
# compiled: v4, v3 or v1 (bazel/weft.bzl). Prints nothing if the dynamic linker
# is too old to list them.
instruction_set() {
  local best
  best="$(/lib64/ld-linux-x86-64.so.2 --help 2>/dev/null |
    sed -nE 's/^ *x86-64-(v[0-9]+) \(supported.*/\1/p' | head -n 1)" || true
  case "$best" in
    v4 | v3) echo "$best" ;;
    v2) echo v1 ;;
  esac
}

choose_processor() { # sets processor, the options of Bazel
  local set
  set="$(instruction_set)"
  processor=()
  if [[ -n "$set" ]]; then
    processor=("--define=kernels_for=$set")
    echo "kernels are optimized for this processor only (${processor[*]})"
  fi
}

choose_cuda() { # sets cuda, the options of Bazel
  local architectures
  architectures="$(tools/gpu_architectures.sh)"
  if [[ -n "$architectures" ]]; then
    cuda=("--define=cuda_archs=$architectures")
    echo "GPU kernels, if CUDA's toolkit is installed, are compiled for the GPUs" \
      "of this machine only (${cuda[*]})"
  elif timeout 10 nvidia-smi -L >/dev/null 2>&1; then
    cuda=()
    echo "GPU kernels are compiled for all architectures: nvcc does not know that" \
      "of this machine's GPU, or the NVIDIA driver does not report it"
  else
    cuda=(--define=cuda=off)
    echo "no NVIDIA driver here: builds without GPU kernels (${cuda[*]})"
  fi
}

build() {
  # In a checkout that was moved, these links lead to the output of another one.
  find . -maxdepth 1 -type l -name 'bazel-*' -delete
  tools/bazel_progress.py --log="$log" quickstart \
    bazel build --config=opt "${processor[@]}" "${cuda[@]}" \
    "${examples[@]/#///examples:}" "${services[@]/#///services/}" ||
    fail "bazel build"
  python3 tools/trim_cache.py >>"$log" 2>&1 || true
  programs=$(bazel info --config=opt "${processor[@]}" "${cuda[@]}" bazel-bin 2>>"$log") ||
    fail "bazel info"
}

train() {
  if [[ -n "$fresh" ]]; then rm -rf "$model"; fi
  if [[ -e "$model/checkpoint" ]]; then
    echo "continues from $model; --fresh starts over"
  fi
  # setpriv: the cluster stops with this script, even if the script is killed.
  setpriv --pdeathsig TERM tools/local_cluster --summary \
    --services_dir="$programs/services" --log_dir="$folder/tasks" \
    --coordinator --ps=2 --checkpoint_writers=1 --workers=2 \
    --checkpoint_root="$folder" \
    -- "$programs/examples/fashion_mnist" --device=auto || {
    echo "quickstart: FAILED: training; the tasks' logs are in $folder/tasks" >&2
    exit 1
  }
}

newest_checkpoint() {
  local path
  path="$(sed -nE 's/^model_checkpoint_path: "(.*)"$/\1/p' "$model/checkpoint")"
  echo "$model/${path##*/}"
}

if ! mkdir -p "$folder" || ! : >"$log"; then
  echo "quickstart: FAILED: cannot write $log; set WEFT_QUICKSTART_DIR" >&2
  exit 1
fi
echo "the output of apt and Bazel goes to $log"

heading "Installing the packages that are missing"
tools/setup.sh --quickstart --log="$log" || fail "tools/setup.sh"

heading "Building the services and examples (seconds if nothing has changed)"
echo "services: ${services[*]}; examples: ${examples[*]}"
choose_processor
choose_cuda
build

heading "hello: a constant through a session in this process"
"$programs/examples/hello"

heading "simple_client: a variable, incremented once"
"$programs/examples/simple_client" ""

heading "fashion_mnist: trains a classifier (784-128-10) on 60,000 images"
echo "a coordinator, 2 parameter servers, a checkpoint writer and 2 workers,"
echo "each in its own process; Ctrl-C stops them all"
echo "ready to train after $((SECONDS - started)) s"
train

heading "Done"
grep '^test accuracy' "$folder/tasks/worker_0.log" | tail -n 1 || {
  echo "quickstart: FAILED: no accuracy in $folder/tasks/worker_0.log" >&2
  exit 1
}
newest="$(newest_checkpoint)"
options="$(printf ' %s' "${processor[@]}" "${cuda[@]}")"
echo "checkpoint: $newest"
cat <<NEXT

Next commands:
  train on from the checkpoint (--fresh starts over):
    tools/quickstart.sh
  look into the checkpoint (builds the command weft first, about a minute):
    bazel run --config=opt$options //tools:weft -- checkpoint ls ${newest@Q}
  run a program on a cluster of your own:
    tools/local_cluster --ps=2 --workers=2 --client -- bazel-bin/examples/simple_client {target} init
NEXT
