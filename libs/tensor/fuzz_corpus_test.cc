// Replays the corpus of the fuzzer as a regression test.
#include "libs/base/testing/fuzz_corpus.h"

#include "gtest/gtest.h"
#include "libs/tensor/testing/fuzz_targets.h"

namespace weft {
namespace {

TEST(FuzzCorpusTest, TensorProtos) {
  EXPECT_GE(ReplayFuzzCorpus("libs/tensor/testdata/fuzz/tensor_proto",
                             FuzzTensorProto),
            20);
}

}  // namespace
}  // namespace weft
