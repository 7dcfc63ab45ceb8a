// Replays the corpus of the fuzzers as regression tests.
#include "libs/base/testing/fuzz_corpus.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/bus/testing/fuzz_targets.h"

namespace weft::bus {
namespace {

constexpr char kCorpus[] = "libs/bus/testdata/fuzz/";

TEST(FuzzCorpusTest, ControlMessages) {
  EXPECT_GE(ReplayFuzzCorpus(absl::StrCat(kCorpus, "control_message"),
                             FuzzControlMessage),
            5);
}
TEST(FuzzCorpusTest, Chunks) {
  EXPECT_GE(ReplayFuzzCorpus(absl::StrCat(kCorpus, "chunks"), FuzzChunks), 4);
}
TEST(FuzzCorpusTest, Handshakes) {
  EXPECT_GE(ReplayFuzzCorpus(absl::StrCat(kCorpus, "handshake"), FuzzHandshake),
            4);
}

}  // namespace
}  // namespace weft::bus
