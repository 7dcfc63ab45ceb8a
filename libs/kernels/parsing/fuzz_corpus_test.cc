// Replays the corpora of the fuzzers as a regression test.
#include "libs/base/testing/fuzz_corpus.h"

#include "gtest/gtest.h"
#include "libs/kernels/parsing/testing/fuzz_targets.h"

namespace weft {
namespace {

TEST(ParsingFuzzCorpusTest, Csv) {
  EXPECT_GE(ReplayFuzzCorpus("libs/kernels/parsing/testdata/fuzz/csv", FuzzCsv),
            4);
}

TEST(ParsingFuzzCorpusTest, ParseExample) {
  EXPECT_GE(ReplayFuzzCorpus("libs/kernels/parsing/testdata/fuzz/parse_example",
                             FuzzParseExample),
            3);
}

}  // namespace
}  // namespace weft
