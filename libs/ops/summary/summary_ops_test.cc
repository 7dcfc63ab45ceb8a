#include "libs/ops/summary/summary_ops.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/graph/graph.h"

namespace weft::ops {
namespace {

using testing::ElementsAre;

std::vector<std::string> NamesIn(const Scope& scope,
                                 absl::string_view collection) {
  std::vector<std::string> names;
  for (const Output& output : scope.GetCollection(collection)) {
    names.push_back(output.node()->name());
  }
  return names;
}

TEST(SummaryOpsTest, SummariesAreCollectedAndMerged) {
  const Scope root = Scope::Root();
  EXPECT_FALSE(MergeAllSummaries(root));
  ScalarSummary(root.WithName("s"), "loss", 1.0f);
  HistogramSummary(root.WithName("h"), "weights", {1.0f, 2.0f}, {"others"});
  AudioSummary(root.WithName("a"), "sound", Tensor(DT_FLOAT, {1, 2}), 8000.0f,
               {.collections = {"others", "summaries"}});
  TensorSummary(root.WithName("t"), "tensor", 1.0f, {}, {});
  const Output merged = MergeAllSummaries(root);
  ASSERT_OK(root.status());
  EXPECT_THAT(NamesIn(root, "summaries"), ElementsAre("s", "a"));
  EXPECT_THAT(NamesIn(root, "others"), ElementsAre("h", "a"));
  ASSERT_TRUE(merged);
  EXPECT_EQ(merged.node()->name(), "MergeSummary");
  EXPECT_EQ(merged.node()->num_inputs(), 2);
  const Output others = MergeAllSummaries(root.WithName("o"), "others");
  EXPECT_EQ(others.node()->name(), "o");
  EXPECT_FALSE(MergeAllSummaries(root, "none"));
  ASSERT_OK(root.status());
}

TEST(SummaryOpsTest, BadPixelsAreRedUnlessAnotherColorIsGiven) {
  const Scope root = Scope::Root();
  const Tensor images(DT_FLOAT, {1, 1, 1, 3});
  const Output red = ImageSummary(root, "i", images);
  const Output other = ImageSummary(
      root, "i", images, {.bad_color = Tensor::Vector<uint8_t>({1, 2, 3})});
  ASSERT_OK(root.status());
  EXPECT_TRUE(SameBits(*red.node()->attr<Tensor>("bad_color"),
                       Tensor::Vector<uint8_t>({255, 0, 0, 255})));
  EXPECT_TRUE(SameBits(*other.node()->attr<Tensor>("bad_color"),
                       Tensor::Vector<uint8_t>({1, 2, 3})));
}

TEST(SummaryOpsTest, TextIsStrings) {
  const Scope root = Scope::Root();
  EXPECT_TRUE(TextSummary(root, "note", "text"));
  ASSERT_OK(root.status());
  EXPECT_FALSE(TextSummary(root, "note", 1.0f));
  EXPECT_THAT(root.status(),
              StatusIs(kInvalid, "to have dtype string, got float"));
  // Errors persist: no further node is created or collected.
  EXPECT_FALSE(ScalarSummary(root, "loss", 1.0f));
  EXPECT_FALSE(MergeAllSummaries(root));
  EXPECT_THAT(NamesIn(root, "summaries"), ElementsAre("TensorSummaryV2"));
}

}  // namespace
}  // namespace weft::ops
