#include "libs/estimator/serving_input.h"

#include <string>

#include "libs/base/test_matchers.h"
#include "libs/feature_column/feature_column.h"

namespace weft::estimator {
namespace {

using feature_column::FixedLenFeature;
using feature_column::VarLenFeature;
using testing::ElementsAre;
using testing::Key;

class ServingInputTest : public testing::Test {
 protected:
  const Scope root_ = Scope::Root();
};

TEST_F(ServingInputTest, RequestHoldsSerializedExamples) {
  const auto receive = BuildParsingServingInputReceiverFn(
      {{"age", FixedLenFeature{.shape = {1}}}, {"job", VarLenFeature{}}});
  ASSERT_OK_AND_ASSIGN(const ServingInputReceiver receiver, receive(root_));
  ASSERT_THAT(receiver.receiver_tensors, ElementsAre(Key("examples")));
  const Output examples = receiver.receiver_tensors.at("examples");
  EXPECT_EQ(examples.name(), "input_example_tensor:0");
  EXPECT_EQ(examples.dtype(), DT_STRING);
  EXPECT_EQ(examples.shape(), PartialShape({-1}));
  EXPECT_THAT(receiver.features, ElementsAre(Key("age"), Key("job")));
  EXPECT_FALSE(receiver.features.at("age").is_sparse());
  EXPECT_TRUE(receiver.features.at("job").is_sparse());
}

TEST_F(ServingInputTest, BatchSizeOfExamplesMayBeFixed) {
  const auto receive = BuildParsingServingInputReceiverFn(
      {{"age", FixedLenFeature{.shape = {1}}}}, 8);
  ASSERT_OK_AND_ASSIGN(const ServingInputReceiver receiver, receive(root_));
  EXPECT_EQ(receiver.receiver_tensors.at("examples").shape(),
            PartialShape({8}));
}

TEST_F(ServingInputTest, RequestMayHoldTheFeatures) {
  const auto receive = BuildRawServingInputReceiverFn(
      {{"age", {DT_FLOAT, {-1, 1}}}, {"job", {DT_STRING, {5, 2}}}});
  ASSERT_OK_AND_ASSIGN(const ServingInputReceiver receiver, receive(root_));
  EXPECT_THAT(receiver.receiver_tensors, ElementsAre(Key("age"), Key("job")));
  const Output job = receiver.receiver_tensors.at("job");
  EXPECT_EQ(job.dtype(), DT_STRING);
  EXPECT_EQ(job.shape(), PartialShape({-1, 2})) << "the batch is of any size";
  EXPECT_EQ(receiver.features.at("job").dense(), job);
  EXPECT_EQ(job.name(), "job:0");
}

TEST_F(ServingInputTest, BatchSizeOfFeaturesMayBeFixed) {
  const auto receive =
      BuildRawServingInputReceiverFn({{"age", {DT_FLOAT, {-1, 1}}}}, 8);
  ASSERT_OK_AND_ASSIGN(const ServingInputReceiver receiver, receive(root_));
  EXPECT_EQ(receiver.features.at("age").dense().shape(), PartialShape({8, 1}));
}

TEST_F(ServingInputTest, UnknownRankIsKept) {
  const auto receive =
      BuildRawServingInputReceiverFn({{"any", {DT_FLOAT, PartialShape()}}}, 8);
  ASSERT_OK_AND_ASSIGN(const ServingInputReceiver receiver, receive(root_));
  EXPECT_FALSE(receiver.features.at("any").dense().shape().has_rank());
}

TEST_F(ServingInputTest, AnyFeatureNameIsServed) {
  const auto receive = BuildRawServingInputReceiverFn(
      {{"job title", {DT_FLOAT, {-1}}}, {"_x", {DT_FLOAT, {-1}}}});
  ASSERT_OK_AND_ASSIGN(const ServingInputReceiver receiver, receive(root_));
  EXPECT_EQ(receiver.receiver_tensors.at("job title").name(), "job_title:0");
  EXPECT_EQ(receiver.receiver_tensors.at("_x").name(), "feature_x:0");
}

TEST_F(ServingInputTest, ScalarFeatureIsRejected) {
  const auto receive = BuildRawServingInputReceiverFn(
      {{"age", {DT_FLOAT, PartialShape::Scalar()}}});
  EXPECT_THAT(receive(root_).status(),
              StatusIs(kInvalid, "feature 'age' is a scalar"));
}

TEST_F(ServingInputTest, BatchSizeMustBePositive) {
  EXPECT_THAT(BuildRawServingInputReceiverFn({}, 0)(root_).status(),
              StatusIs(kInvalid, "default_batch_size must be at least 1"));
  EXPECT_THAT(BuildParsingServingInputReceiverFn({}, -1)(root_).status(),
              StatusIs(kInvalid, "default_batch_size must be at least 1"));
}

}  // namespace
}  // namespace weft::estimator
