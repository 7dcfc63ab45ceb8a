// Replays the corpora of the fuzzers as regression tests.
#include "libs/base/testing/fuzz_corpus.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/protocol/testing/fuzz_targets.h"

namespace weft::protocol {
namespace {

constexpr char kCorpus[] = "libs/protocol/testdata/fuzz/";

TEST(FuzzCorpusTest, MasterMessages) {
  EXPECT_GE(ReplayFuzzCorpus(absl::StrCat(kCorpus, "master_message"),
                             FuzzMasterMessage),
            10);
}

TEST(FuzzCorpusTest, WorkerMessages) {
  EXPECT_GE(ReplayFuzzCorpus(absl::StrCat(kCorpus, "worker_message"),
                             FuzzWorkerMessage),
            10);
}

TEST(FuzzCorpusTest, CoordinatorMessages) {
  EXPECT_GE(ReplayFuzzCorpus(absl::StrCat(kCorpus, "coordinator_message"),
                             FuzzCoordinatorMessage),
            10);
}

TEST(FuzzCorpusTest, FileMessages) {
  EXPECT_GE(
      ReplayFuzzCorpus(std::string(kCorpus) + "file_message", FuzzFileMessage),
      10);
}

// The corpora contain what real senders write: a case equals its re-encoding.
TEST(FuzzCorpusTest, CasesAreMessages) {
  FuzzCase written;
  written.message.method = 13;
  written.expected = 2;
  written.message.body = bus::Blob::FromString(std::string(300, 'b'));
  written.message.attachments = {bus::Blob::FromString(""),
                                 bus::Blob::FromString("tensor")};
  const FuzzCase read = FuzzCaseOf(FuzzBytesOf(written));
  EXPECT_EQ(read.message.method, 13);
  EXPECT_EQ(read.expected, 2);
  EXPECT_EQ(read.message.body.view(), std::string(300, 'b'));
  ASSERT_EQ(read.message.attachments.size(), 2u);
  EXPECT_EQ(read.message.attachments[0].view(), "");
  EXPECT_EQ(read.message.attachments[1].view(), "tensor");
}

}  // namespace
}  // namespace weft::protocol
