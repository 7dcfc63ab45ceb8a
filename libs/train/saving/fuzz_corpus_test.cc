// Replays the corpus of the fuzzer, so that each finding is tested again.
#include "libs/base/testing/fuzz_corpus.h"

#include "gtest/gtest.h"
#include "libs/train/testing/fuzz_targets.h"

namespace weft::train {
namespace {

// The corpus is replayed without additional damage; only the fuzzer flips bits.
constexpr size_t kNotDamaged = 0;

TEST(FuzzCorpusTest, MetaGraphs) {
  EXPECT_GE(ReplayFuzzCorpus("libs/train/testdata/fuzz/meta_graph",
                             FuzzMetaGraph, kNotDamaged),
            5);
}

}  // namespace
}  // namespace weft::train
