// Replays the corpus of the fuzzer as a regression test.
#include "libs/base/testing/fuzz_corpus.h"

#include "gtest/gtest.h"
#include "libs/kernels/data/testing/fuzz_targets.h"

namespace weft {
namespace {

TEST(DataFuzzCorpusTest, IteratorState) {
  EXPECT_GE(ReplayFuzzCorpus("libs/kernels/data/testdata/fuzz/iterator_state",
                             FuzzIteratorState),
            5);
}

// Each tensor of each state is modified in each way.
TEST(DataFuzzCorpusTest, EachTensorOfAState) {
  for (char state = 0; state < 6; ++state) {
    for (char tensor = 0; tensor < 100; ++tensor) {
      for (char change = 0; change < 6; ++change) {
        FuzzIteratorState(std::string({state, tensor, change, -1}));
        FuzzIteratorState(std::string({state, tensor, change, 1}));
      }
    }
  }
}

}  // namespace
}  // namespace weft
