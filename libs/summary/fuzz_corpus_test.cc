// Replays the corpora of the fuzzers: what they found once stays found.
#include "libs/base/testing/fuzz_corpus.h"

#include "gtest/gtest.h"
#include "libs/summary/testing/fuzz_targets.h"

namespace weft::summary {
namespace {

TEST(FuzzCorpusTest, Records) {
  EXPECT_GE(ReplayFuzzCorpus("libs/summary/testdata/fuzz/records", FuzzRecords),
            4);
}

TEST(FuzzCorpusTest, Events) {
  EXPECT_GE(ReplayFuzzCorpus("libs/summary/testdata/fuzz/event", FuzzEvent), 6);
}

}  // namespace
}  // namespace weft::summary
