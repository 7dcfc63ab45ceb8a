#!/bin/bash
# Runs the checks that take too long for every change: the fuzzers of all data
# that a peer may send, for the given time; a build without precompiled headers;
# and the tests with random cases, with many more of them.
#
#   tools/nightly.sh [SECONDS PER FUZZER]    (600)
#
# If WEFT_MOVIELENS_DIR is set, to the folder of u.data of MovieLens 100K, an
# example also trains on real ratings.
#
# A failure leaves its input in the checkout. Correct the error, and add the
# input to the fuzzer's corpus, testdata/fuzz of its module, which tools/test.sh
# replays.
set -euo pipefail
cd "$(dirname "$0")/.."
tools/setup.sh clang-14 libclang-rt-14-dev

seconds="${1:-600}"
failed=0

# Each fuzzer and its package; the corpus is in testdata/fuzz of the module.
fuzzers=(
  libs/bus:control_message libs/bus:chunks libs/bus:handshake
  libs/protocol:master_message libs/protocol:worker_message
  libs/protocol:coordinator_message libs/protocol:file_message
  libs/tensor:tensor_proto
  libs/checkpoint:checkpoint_index libs/checkpoint:checkpoint_entry
  libs/checkpoint:slice_table
  libs/cluster:cluster_spec libs/cluster:device_name
  libs/summary:records libs/summary:event
  libs/kernels/parsing:csv libs/kernels/parsing:parse_example
  libs/kernels/data:iterator_state
  libs/train:meta_graph
  integration_tests/testing:graph_def integration_tests/testing:graph_text
  integration_tests/testing:function_def
)
# -entropic=0: a graph reaches so much code that the default schedule of
# libFuzzer spends nine tenths of the time on bookkeeping.
for target in "${fuzzers[@]}"; do
  package="${target%:*}"
  fuzzer="${target#*:}"
  found="$(mktemp -d)"
  printf '\n== %s, %s s\n' "$fuzzer" "$seconds"
  bazel run --config=fuzz "//$package:${fuzzer}_fuzz" -- \
    -max_total_time="$seconds" -print_final_stats=1 -verbosity=0 -entropic=0 \
    -timeout=30 -rss_limit_mb=4096 -malloc_limit_mb=1024 -max_len=16384 \
    -artifact_prefix="$PWD/" \
    "$found" "$PWD/${package%/testing}/testdata/fuzz/$fuzzer" || failed=1
  rm -rf "$found"
done

# A precompiled header hides an include that is missing (bazel/precompiled.bzl).
printf '\n== each file includes what it uses\n'
bazel build --keep_going --define=precompiled=off --define=units=separate //... || failed=1

# tools/test.sh runs unoptimized code of clang; users run optimized code of g++.
printf '\n== all tests, optimized by g++\n'
bazel test --keep_going --config=opt //... || failed=1

# The kernels that run on a processor for which the quickstart did not compile.
printf '\n== kernels that are compiled for every processor\n'
bazel test --define=kernels_for=v1 //libs/kernels:module_test || failed=1

# tools/test.sh compiles GPU kernels for one architecture.
printf '\n== GPU kernels for all major architectures\n'
bazel build --keep_going --define=cuda_archs=all-major //libs/kernels/cuda/... ||
  failed=1

# Random graphs, with and without rewrites by passes
# (integration_tests/graphs/graph_fuzz_test.cc). One seed again:
# WEFT_GRAPH_FIRST_SEED=SEED WEFT_GRAPH_SEEDS=1.
printf '\n== random graphs, 20000 seeds, asan and ubsan\n'
bazel test --config=asan --config=ubsan --test_timeout=7200 \
  --test_output=errors --test_env=WEFT_GRAPH_SEEDS=20000 \
  //integration_tests:graph_fuzz_test || failed=1

# Graphs that demand too much, for about ten minutes
# (integration_tests/graphs/extreme_graphs_test.cc). One seed again:
# WEFT_GRAPH_FIRST_SEED=SEED WEFT_GRAPH_SEEDS=1.
printf '\n== extreme graphs, 10000 seeds\n'
bazel test --config=opt --test_timeout=7200 --test_output=errors \
  --test_env=WEFT_GRAPH_SEEDS=10000 \
  --test_env=WEFT_GRAPH_FIRST_SEED="$((RANDOM * 10000 + 1))" \
  //integration_tests:extreme_graphs_test || failed=1

# Random programs of loops, branches and functions, valid and invalid
# (integration_tests/graphs/random_loops_test.cc); one seed again likewise.
printf '\n== random loops, 10000 seeds, asan and ubsan\n'
bazel test --config=asan --config=ubsan --test_timeout=7200 \
  --test_output=errors --test_env=WEFT_GRAPH_SEEDS=10000 \
  //integration_tests:random_loops_test || failed=1

# A loop that keeps nothing (integration_tests/graphs/loop_gradients_test.cc).
printf '\n== a loop of 1,000,000 iterations\n'
bazel test --config=opt --test_timeout=3600 --test_output=errors \
  --test_env=WEFT_LOOP_ITERATIONS=1000000 \
  --test_filter='*UnusedGradientsKeepNoMemory*' \
  //integration_tests:loop_gradients_test || failed=1

# The second run continues from the checkpoint of the first one.
printf '\n== the quickstart, twice\n'
trained="$(mktemp -d)"
WEFT_QUICKSTART_DIR="$trained" tools/quickstart.sh --fresh || failed=1
WEFT_QUICKSTART_DIR="$trained" tools/quickstart.sh | tee "$trained/log" || failed=1
grep '^continues from' "$trained/log" || failed=1
rm -rf "$trained"

# Without oneDNN, which the other runs find (libs/kernels/README.md).
printf '\n== convolutions and products without oneDNN\n'
bazel test --test_output=errors --test_env=WEFT_DNNL=off \
  //libs/kernels:module_test //tools/conformance:conformance_test || failed=1

# A table of 10,000,000 rows on three ps (examples/movielens_embedding.cc).
printf '\n== an embedding of 10,000,000 rows\n'
bazel test --config=opt --test_timeout=3600 --test_output=errors \
  --test_env=WEFT_EMBEDDING_ROWS=10000000 --test_env=WEFT_MOVIELENS_DIR \
  //integration_tests:examples_test || failed=1

# Sessions that are never closed (integration_tests/clusters/quotas_test.cc).
printf '\n== abandoned sessions, 10000\n'
bazel test --config=opt --test_timeout=3600 --test_output=errors \
  --test_env=WEFT_ABANDONED_SESSIONS=10000 //integration_tests:quotas_test || failed=1

# Saves between steps (integration_tests/checkpoints/step_saves_test.cc).
printf '\n== checkpoints under load, 1000 of each family\n'
bazel test --config=opt --test_timeout=3600 --test_output=errors \
  --test_env=WEFT_STEP_SAVES=1000 \
  //integration_tests:step_saves_test || failed=1

# Correct programs (integration_tests/clusters/good_starts_test.cc).
# One seed again: WEFT_GOOD_STARTS_FIRST=SEED WEFT_GOOD_STARTS=1.
printf '\n== good starts, 1000 seeds\n'
bazel test --config=opt --test_timeout=3600 --test_output=errors \
  --test_env=WEFT_GOOD_STARTS=1000 //integration_tests:good_starts_test || failed=1

# The simulated training (integration_tests/simulations/simulation_test.cc).
# A failing seed is logged in full with
#   WEFT_SIMULATION_FIRST_SEED=SEED WEFT_SIMULATION_SEEDS=1, as --test_env each.
simulation_seeds=1000
printf '\n== simulations, %s seeds\n' "$simulation_seeds"
bazel test --config=opt --test_timeout=3600 --test_output=all \
  --test_env=WEFT_SIMULATION_SEEDS="$simulation_seeds" \
  //integration_tests:simulation_test //integration_tests:save_simulation_test \
  //integration_tests:monitored_simulation_test \
  //integration_tests:busy_simulation_test \
  //libs/bus:transport_schedule_test //libs/bus:zmq_loop_schedule_test \
  //libs/runtime:step_table_schedule_test \
  //libs/runtime:task_runtime_schedule_test \
  //libs/rendezvous:rendezvous_schedule_test \
  //libs/resource:variable_schedule_test \
  //libs/checkpoint_writer:file_server_schedule_test \
  //libs/master:master_end_test || failed=1

# Kills during saves (integration_tests/checkpoints/kill_saves_test.py).
# The same kills again: WEFT_KILLS_SEED=SEED.
printf '\n== a training that saves, 500 kills\n'
bazel test --config=opt --test_timeout=3600 --test_output=errors \
  --test_env=WEFT_KILLS=500 --test_env=WEFT_KILLS_SEED="$RANDOM" \
  //integration_tests:kill_saves_test || failed=1

# Kills every few seconds during trainings that must recover by themselves
# (integration_tests/training/monitored_kills_test.py).
printf '\n== monitored trainings, ten minutes of kills\n'
bazel test --config=opt --test_timeout=3600 --test_output=errors \
  --test_env=WEFT_MONITORED_SECONDS=600 --test_env=WEFT_MONITORED_EPOCHS=15 \
  --test_env=WEFT_KILLS_SEED="$RANDOM" \
  //integration_tests:monitored_kills_test || failed=1

# And that it finds bugs: each of the mutants.
printf '\n== mutants, up to %s seeds each\n' "$simulation_seeds"
tools/mutants/mutants.py --seeds="$simulation_seeds" || failed=1

if [ "$failed" = 0 ]; then echo "all clean"; else echo "FAILED"; fi
exit "$failed"
