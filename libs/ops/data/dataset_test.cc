// Tests that pipelines have TensorFlow's nodes and elements of the right types,
// shapes and names, and that errors are reported. integration_tests covers the
// elements.
#include "libs/ops/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/data/iterator.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/variable.h"

namespace weft {
namespace {

using ops::Dataset;
using testing::ElementsAre;
using testing::HasSubstr;
using Values = std::vector<Output>;

class DatasetTest : public testing::Test {
 protected:
  Dataset Range(int64_t n) { return Dataset::Range(root_, n); }
  static std::vector<std::string> Shapes(const Dataset& dataset) {
    std::vector<std::string> shapes;
    for (const ops::Component& component : dataset.element()) {
      shapes.push_back(component.shape.ToString());
    }
    return shapes;
  }
  static std::vector<std::string> Names(const Dataset& dataset) {
    std::vector<std::string> names;
    for (const ops::Component& component : dataset.element()) {
      names.push_back(component.name);
    }
    return names;
  }
  static const std::string& Op(const Dataset& dataset) {
    return dataset.variant().node()->type();
  }
  Dataset Slices() {
    return Dataset::FromTensorSlices(
        root_, {Tensor(DT_FLOAT, {6, 2}), Tensor(DT_INT32, {6})}, {"x", "y"});
  }
  void ExpectRefused(const char* text) {
    EXPECT_EQ(root_.status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(root_.status().message()), HasSubstr(text));
  }

  const Scope root_ = Scope::Root();
};

TEST_F(DatasetTest, ComponentsOfSourcesHaveTypesShapesAndNames) {
  const Dataset rows = Slices();
  const Dataset whole =
      Dataset::FromTensors(root_, {Tensor(DT_FLOAT, {6, 2}), "text"});
  ASSERT_OK(root_.status());
  EXPECT_EQ(Op(rows), "TensorSliceDataset");
  EXPECT_THAT(Shapes(rows), ElementsAre("[2]", "[]"));
  EXPECT_THAT(Names(rows), ElementsAre("x", "y"));
  EXPECT_EQ(rows.element()[1].dtype, DT_INT32);
  EXPECT_EQ(Op(whole), "TensorDataset");
  EXPECT_THAT(Shapes(whole), ElementsAre("[6,2]", "[]"));
}

TEST_F(DatasetTest, BatchesKnowTheirSizeWhereAllAreFull) {
  const Dataset rows = Slices();
  EXPECT_THAT(Shapes(rows.Batch(4)), ElementsAre("[?,2]", "[?]"));
  const Dataset full = rows.Batch(4, {.drop_remainder = true});
  EXPECT_THAT(Shapes(full), ElementsAre("[4,2]", "[4]"));
  EXPECT_THAT(Names(full), ElementsAre("x", "y"));
  EXPECT_THAT(Shapes(full.Unbatch()), ElementsAre("[2]", "[]"));
  const Dataset padded =
      rows.PaddedBatch(4, {.padded_shapes = {{-1}, PartialShape::Scalar()}});
  EXPECT_THAT(Shapes(padded), ElementsAre("[?,?]", "[?]"));
  ASSERT_OK(root_.status());
  EXPECT_EQ(Op(full), "BatchDatasetV2");
  EXPECT_EQ(Op(padded), "PaddedBatchDatasetV2");
}

TEST_F(DatasetTest, MapCapturesOuterValues) {
  const ops::Variable scale(root_.WithName("scale"), int64_t{2});
  const Dataset mapped = Range(5).Map(
      [&](const Scope& s, const Values& v) {
        return Values{ops::Mul(s, v[0], scale), ops::Cast(s, v[0], DT_FLOAT)};
      },
      {.names = {"scaled", "real"}});
  ASSERT_OK(root_.status());
  EXPECT_EQ(Op(mapped), "MapDataset");
  EXPECT_EQ(Output(mapped.variant().node()->input(1)), scale.handle());
  EXPECT_THAT(Names(mapped), ElementsAre("scaled", "real"));
  EXPECT_EQ(mapped.element()[1].dtype, DT_FLOAT);
}

TEST_F(DatasetTest, ParallelCallsHaveTheirOwnOps) {
  const auto same = [](const Scope&, const Values& v) { return v; };
  const auto repeat = [](const Scope& s, const Values& v) {
    return Dataset::FromTensors(s, {v[0]}).Repeat(2);
  };
  EXPECT_EQ(Op(Range(5).Map(same, {.num_parallel_calls = 4})),
            "ParallelMapDatasetV2");
  EXPECT_EQ(Op(Range(5).FlatMap(repeat)), "FlatMapDataset");
  EXPECT_EQ(Op(Range(5).Interleave(repeat)), "InterleaveDataset");
  EXPECT_EQ(Op(Range(5).Interleave(
                repeat, {.cycle_length = 2, .num_parallel_calls = 2})),
            "ParallelInterleaveDatasetV4");
  EXPECT_OK(root_.status());
}

TEST_F(DatasetTest, WindowsAreDataSets) {
  const Dataset windows = Slices().Window(3);
  EXPECT_EQ(windows.element()[0].dtype, DT_VARIANT);
  const ops::ElementSpec row = {Slices().element()[0]};
  const Dataset batches = windows.FlatMap([&](const Scope& s, const Values& v) {
    return Dataset::FromVariant(s, v[0], row).Batch(3);
  });
  ASSERT_OK(root_.status());
  EXPECT_THAT(Shapes(batches), ElementsAre("[?,2]"));
}

TEST_F(DatasetTest, SeedsFollowTensorFlowsRule) {
  const auto seeds = [&](const Dataset& dataset) {
    const Node& node = *dataset.variant().node();
    return std::pair(*root_.graph().ConstantScalar(node.input(2)),
                     *root_.graph().ConstantScalar(node.input(3)));
  };
  EXPECT_EQ(seeds(Range(5).Shuffle(2)), std::pair(int64_t{0}, int64_t{0}));
  EXPECT_EQ(seeds(Range(5).Shuffle(2, {.seed = 7})),
            std::pair(int64_t{87654321}, int64_t{7}));
  root_.SetGraphSeed(3);
  EXPECT_EQ(seeds(Range(5).Shuffle(2, {.seed = 7})),
            std::pair(int64_t{3}, int64_t{7}));
}

TEST_F(DatasetTest, ZipAndEnumerateJoinElements) {
  const Dataset zipped = Dataset::Zip({Slices(), Range(9)});
  EXPECT_THAT(Shapes(zipped), ElementsAre("[2]", "[]", "[]"));
  EXPECT_THAT(Names(Slices().Enumerate()), ElementsAre("index", "x", "y"));
  EXPECT_OK(root_.status());
}

TEST_F(DatasetTest, ColumnsOfCsvFiles) {
  const Dataset batches = ops::MakeCsvDataset(
      root_, "/data/*.csv", 32, {"label", "a", "b"},
      {Tensor(DT_INT32, {0}), 0.0f, "none"}, {.label_name = "label"});
  ASSERT_OK(root_.status());
  EXPECT_THAT(Names(batches), ElementsAre("a", "b", "label"));
  EXPECT_THAT(Shapes(batches), ElementsAre("[32]", "[32]", "[32]"));
  EXPECT_EQ(batches.element()[1].dtype, DT_STRING);
}

TEST_F(DatasetTest, FeaturesAreInTheOrderOfTheirKeys) {
  const Dataset parsed = ops::ParseExampleDataset(
      ops::TFRecordDataset(root_, "/data/r").Batch(8),
      {{"label", DT_INT64}, {"image", DT_FLOAT, {784}}});
  ASSERT_OK(root_.status());
  EXPECT_THAT(Names(parsed), ElementsAre("image", "label"));
  EXPECT_THAT(Shapes(parsed), ElementsAre("[?,784]", "[?]"));
}

TEST_F(DatasetTest, InitializableIteratorIsOnItsDatasetsTask) {
  const Dataset data = Range(5).Batch(2);
  const ops::Iterator iterator = data.MakeInitializableIterator();
  const Values next = iterator.GetNext(root_.WithName("next"));
  ASSERT_OK(root_.status());
  EXPECT_EQ(next[0].name(), "next:0");
  EXPECT_EQ(next[0].shape().ToString(), "[?]");
  const auto initializers = root_.GetOperations(collection::kTableInitializers);
  ASSERT_EQ(initializers.size(), 1u);
  EXPECT_EQ(initializers[0].node(), iterator.initializer().node());
  const auto* beside =
      iterator.resource().node()->attr<std::vector<std::string>>("_class");
  ASSERT_NE(beside, nullptr);
  EXPECT_THAT(*beside, ElementsAre("loc:@" + data.variant().node()->name()));
}

TEST_F(DatasetTest, OneShotIteratorCapturesItsDataset) {
  const ops::Iterator iterator =
      Range(5).Repeat().Batch(2).MakeOneShotIterator();
  ASSERT_OK(root_.status());
  const FunctionDef* factory = root_.graph().functions().Find("make_dataset");
  ASSERT_NE(factory, nullptr);
  EXPECT_EQ(factory->nodes.back().op, "BatchDatasetV2");
  EXPECT_TRUE(factory->signature.inputs.empty());
}

TEST_F(DatasetTest, OneShotIteratorRejectsPlaceholders) {
  const Output n = ops::Placeholder(root_.WithName("n"), DT_INT64,
                                    {.shape = PartialShape::Scalar()});
  Dataset::Range(root_, n).MakeOneShotIterator();
  ExpectRefused("Cannot capture a placeholder (name:n, type:Placeholder)");
}

TEST_F(DatasetTest, OneShotIteratorRejectsVariables) {
  const ops::Variable w(root_.WithName("w"), int64_t{2});
  Range(5)
      .Map([&](const Scope& s, const Values& v) {
        return Values{ops::Mul(s, v[0], w)};
      })
      .MakeOneShotIterator();
  ExpectRefused("Cannot capture a stateful node (name:w, type:VarHandleOp)");
}

TEST_F(DatasetTest, IteratorRejectsOtherElementTypes) {
  const ops::Iterator iterator =
      ops::Iterator::FromStructure(root_, Range(5).element());
  iterator.MakeInitializer(root_, Range(7));
  ASSERT_OK(root_.status());
  iterator.MakeInitializer(root_, Slices());
  ExpectRefused("(int64[]) but got those of the dataset (float[2], int32[])");
}

TEST_F(DatasetTest, IteratorAndDatasetShareATask) {
  const ops::Iterator iterator = ops::Iterator::FromStructure(
      root_.WithDevice("/job:worker/task:1"), Range(5).element());
  iterator.MakeInitializer(
      root_, Dataset::Range(root_.WithDevice("/job:worker/task:0"), 5));
  ExpectRefused("a dataset is not sent between tasks");
}

TEST_F(DatasetTest, ComponentsAreNullAfterAnError) {
  root_.UpdateStatus(absl::InvalidArgumentError("before"));
  const Values next =
      Slices().Batch(2).Repeat().MakeOneShotIterator().GetNext(root_);
  ASSERT_EQ(next.size(), 2u);
  EXPECT_FALSE(next[0] || next[1]);
  ExpectRefused("before");
}

TEST_F(DatasetTest, ScopeOfANullDataSetHasTheError) {
  root_.UpdateStatus(absl::InvalidArgumentError("before"));
  const Dataset slices = Slices();
  EXPECT_FALSE(slices.scope().ok());
  EXPECT_FALSE(slices.Batch(2).Repeat().scope().ok());
  EXPECT_FALSE(Dataset::Zip({slices, slices}).scope().ok());
  ExpectRefused("before");
}

TEST_F(DatasetTest, WrongNamesAreRefused) {
  Slices().WithNames({"x"});
  ExpectRefused("there are 1 names for 2 components");
}

TEST_F(DatasetTest, RowsOfUnequalNumbersAreRefused) {
  Dataset::FromTensorSlices(root_,
                            {Tensor(DT_FLOAT, {6}), Tensor(DT_FLOAT, {5})});
  ExpectRefused("Dimensions 6 and 5 are not compatible");
}

TEST_F(DatasetTest, DataSetsOfOtherElementsAreNotConcatenated) {
  Range(5).Concatenate(Slices());
  ExpectRefused("Two datasets to concatenate have different types");
}

TEST_F(DatasetTest, PredicateMustBeABoolScalar) {
  Range(5).Filter([](const Scope&, const Values& v) { return v[0]; });
  ExpectRefused("must return a bool scalar");
}

}  // namespace
}  // namespace weft
