// Replays the corpora of the fuzzers, so that each finding is tested again.
#include "libs/base/testing/fuzz_corpus.h"

#include "gtest/gtest.h"
#include "libs/checkpoint/testing/fuzz_targets.h"

namespace weft::checkpoint {
namespace {

TEST(FuzzCorpusTest, CheckpointIndexInputsDoNotCrash) {
  EXPECT_GE(ReplayFuzzCorpus("libs/checkpoint/testdata/fuzz/checkpoint_index",
                             FuzzCheckpointIndex),
            5);
}

TEST(FuzzCorpusTest, CheckpointEntryInputsDoNotCrash) {
  EXPECT_GE(ReplayFuzzCorpus("libs/checkpoint/testdata/fuzz/checkpoint_entry",
                             FuzzCheckpointEntry),
            8);
}

TEST(FuzzCorpusTest, SliceTableInputsDoNotCrash) {
  EXPECT_GE(ReplayFuzzCorpus("libs/checkpoint/testdata/fuzz/slice_table",
                             FuzzSliceTable),
            6);
}

}  // namespace
}  // namespace weft::checkpoint
