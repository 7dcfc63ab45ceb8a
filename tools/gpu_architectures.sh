#!/bin/bash
# Prints the compute capabilities of this machine's GPUs for which nvcc can
# compile, such as "80,90". Prints nothing without a driver, or if nvcc supports
# none of the GPUs.
set -uo pipefail

# A hung driver must not hang the caller.
found="$(timeout 10 nvidia-smi --query-gpu=compute_cap --format=csv,noheader \
  2>/dev/null | sed -nE 's/^ *([0-9]+)\.([0-9]+) *$/\1\2/p' | sort -un)"
nvcc="$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)"
known="$("$nvcc" --list-gpu-arch 2>/dev/null | sed -nE 's/^compute_([0-9]+)$/\1/p')"
for architecture in $found; do
  # Without a toolkit, GPU kernels are not compiled, so any value is correct.
  if [[ -z "$known" ]] || grep -qx "$architecture" <<<"$known"; then
    echo "$architecture"
  fi
done | paste -sd,
