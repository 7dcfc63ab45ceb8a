#!/bin/bash
# From a bare machine to a model trained on a cluster: installs what is missing,
# builds the examples and services for speed, and trains a classifier with six
# processes that share the work. Ends with the test accuracy, and what to try
# next. Another start goes on from the checkpoint that the last one has left;
# with --fresh it begins anew.
set -euo pipefail
case "$*" in
  ''|--fresh) fresh="$*" ;;
  *) echo "usage: tools/quickstart.sh [--fresh]" >&2; exit 2 ;;
esac
cd "$(dirname "$0")/.."

heading() { printf '\n== %s\n' "$*"; }
started=$SECONDS

heading "Installing what is missing"
tools/setup.sh

heading "Building Weft's services and examples (seconds when nothing changed)"
# Bazel follows these links into another checkout's output when it was moved.
find . -maxdepth 1 -type l -name 'bazel-*' -delete
examples=(hello simple_client fashion_mnist)
services=(coordinator ps worker checkpoint_writer)
echo "services: ${services[*]}; examples: ${examples[*]}; the command weft"
tools/bazel_progress.py quickstart bazel build --config=opt \
  "${examples[@]/#///examples:}" "${services[@]/#///services/}" //tools:weft
python3 tools/trim_cache.py || true
programs=$(bazel info --config=opt bazel-bin 2>/dev/null)

heading "hello: a constant through a session in this process"
"$programs/examples/hello"

heading "simple_client: a variable, incremented once"
"$programs/examples/simple_client" ""

heading "fashion_mnist: trains a classifier (784-128-10) on 60,000 pictures"
echo "a coordinator, 2 parameter servers, a checkpoint writer and 2 workers,"
echo "each a process of its own; the workers use a GPU where there is one;"
echo "Ctrl-C stops them all"
echo "ready to train after $((SECONDS - started)) s"
checkpoints="${WEFT_QUICKSTART_DIR:-$HOME/.cache/weft-quickstart}"
if [[ -n "$fresh" ]]; then rm -rf "$checkpoints/fashion_mnist"; fi
if [[ -e "$checkpoints/fashion_mnist/checkpoint" ]]; then
  echo "goes on from $checkpoints/fashion_mnist; --fresh begins anew"
fi
mkdir -p "$checkpoints"
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
# setpriv: the cluster stops with this script, even if that is killed.
setpriv --pdeathsig TERM tools/local_cluster \
  --services_dir="$programs/services" --log_dir="$logs" \
  --coordinator --ps=2 --checkpoint_writers=1 --workers=2 \
  --checkpoint_root="$checkpoints" \
  -- "$programs/examples/fashion_mnist" --device=auto
echo
grep '^test accuracy' "$logs/worker_0.log" | tail -n 1

heading "What the checkpoint writer keeps, and the newest of it"
model="$checkpoints/fashion_mnist"
"$programs/tools/weft" checkpoint ls --table "$model"
newest=$("$programs/tools/weft" checkpoint verify --json "$model" |
  sed -n 's/.*"prefix": "\(.*\)".*/\1/p')
"$programs/tools/weft" checkpoint ls --table "$newest"

heading "Where they lie, and what opens them"
# The log of the chief's session that has just ended.
log=$(find "$model" -name 'events.out.tfevents.*' -printf '%T@ %p\n' |
  sort -n | tail -n 1 | cut -d ' ' -f 2-)
cat <<THERE
checkpoint:               $newest
                            bazel run //tools:weft -- checkpoint show $newest TENSOR
TensorBoard's log:        $log
                            tensorboard --logdir=$model    (pip install tensorboard)
THERE

heading "What to try next"
cat <<NEXT
a cluster of your own:    tools/local_cluster --ps=2 --workers=2 --client -- \\
                            bazel-bin/examples/simple_client {target} init
                          runs a program on it; without "-- PROGRAM..." it
                          prints the targets of its tasks, and stays
a look at it:             bazel run //tools:weft -- status --target=zmq://...
without TensorBoard:      bazel run //tools:weft -- events $log
on from here:             tools/quickstart.sh; anew: tools/quickstart.sh --fresh
a program of your own:    begin with examples/simple_client.cc or, for training
                          on several workers, examples/between_graph.cc
how it works:             README.md, from "Processes" on
NEXT
