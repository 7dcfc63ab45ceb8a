// Replays the corpora of the fuzzers as regression tests.
#include "libs/base/testing/fuzz_corpus.h"

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/cluster/testing/fuzz_targets.h"

namespace weft {
namespace {

constexpr char kCorpus[] = "libs/cluster/testdata/fuzz/";

TEST(FuzzCorpusTest, ClusterSpecs) {
  EXPECT_GE(
      ReplayFuzzCorpus(absl::StrCat(kCorpus, "cluster_spec"), FuzzClusterSpec),
      10);
}

TEST(FuzzCorpusTest, DeviceNames) {
  EXPECT_GE(
      ReplayFuzzCorpus(absl::StrCat(kCorpus, "device_name"), FuzzDeviceName),
      10);
}

}  // namespace
}  // namespace weft
