// Replays the corpora of the fuzzers, so that each finding is tested again.
#include "libs/base/testing/fuzz_corpus.h"

#include "gtest/gtest.h"
#include "libs/summary/testing/fuzz_targets.h"

namespace weft::summary {
namespace {

TEST(FuzzCorpusTest, RecordInputsDoNotCrash) {
  EXPECT_GE(ReplayFuzzCorpus("libs/summary/testdata/fuzz/records", FuzzRecords),
            4);
}

TEST(FuzzCorpusTest, EventInputsDoNotCrash) {
  EXPECT_GE(ReplayFuzzCorpus("libs/summary/testdata/fuzz/event", FuzzEvent), 6);
}

}  // namespace
}  // namespace weft::summary
