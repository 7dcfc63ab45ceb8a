#!/bin/bash
# From a bare machine to a trained model: installs what is missing, builds the
# examples for speed and runs them. The last line is the test accuracy.
set -euo pipefail
cd "$(dirname "$0")/.."

heading() { printf '\n== %s\n' "$*"; }
started=$SECONDS

heading "Installing what is missing"
tools/setup.sh

heading "Building the examples (minutes the first time, seconds after)"
# Bazel follows these links into another checkout's output when it was moved.
find . -maxdepth 1 -type l -name 'bazel-*' -delete
examples=(hello simple_client fashion_mnist)
bazel build --config=opt "${examples[@]/#///examples:}"
programs=$(bazel info --config=opt bazel-bin 2>/dev/null)/examples

heading "hello: a constant through a session in this process"
"$programs/hello"

heading "simple_client: a variable, incremented once"
"$programs/simple_client" ""

heading "fashion_mnist: trains a classifier (784-128-10) on 60,000 pictures"
echo "ready to train after $((SECONDS - started)) s"
"$programs/fashion_mnist"
