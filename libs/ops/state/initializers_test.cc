#include "libs/ops/state/initializers.h"

#include <gtest/gtest.h>

#include <cmath>

#include "libs/base/test_matchers.h"

namespace weft::ops {
namespace {

using testing::ElementsAre;

std::vector<std::string> NamesAfter(const Initializer& initializer,
                                    const TensorShape& shape) {
  const Scope root = Scope::Root();
  const Output value = initializer(root, shape, DT_FLOAT, nullptr);
  EXPECT_THAT(root.status(), IsOk());
  EXPECT_TRUE(value && value.shape() == PartialShape(shape));
  std::vector<std::string> names;
  for (const Node* node : root.graph().nodes()) names.push_back(node->name());
  return names;
}

TEST(InitializersTest, NameNodesAsTensorFlowDoes) {
  using namespace initializers;  // NOLINT
  EXPECT_THAT(NamesAfter(Zeros(), {3}), ElementsAre("zeros"));
  EXPECT_THAT(NamesAfter(Ones(), {3}), ElementsAre("ones"));
  EXPECT_THAT(NamesAfter(Zeros(), {1000}),
              ElementsAre("zeros/shape_as_tensor", "zeros/Const", "zeros"));
  EXPECT_THAT(NamesAfter(Constant(1), {3}), ElementsAre("Const"));
  EXPECT_THAT(NamesAfter(Constant(1), {1 << 18}), ElementsAre("Const"));
  EXPECT_THAT(NamesAfter(Constant(1), {1'000'000'000, 20}),
              ElementsAre("Const/shape_as_tensor", "Const/Const", "Const"));
  EXPECT_THAT(NamesAfter(GlorotUniform(), {3, 4}),
              ElementsAre("random_uniform/shape", "random_uniform/min",
                          "random_uniform/max", "random_uniform/RandomUniform",
                          "random_uniform/sub", "random_uniform/mul",
                          "random_uniform"));
  EXPECT_THAT(
      NamesAfter(TruncatedNormal(), {3}),
      ElementsAre("truncated_normal/shape", "truncated_normal/mean",
                  "truncated_normal/stddev", "truncated_normal/TruncatedNormal",
                  "truncated_normal/mul", "truncated_normal"));
  EXPECT_EQ(NamesAfter(RandomNormal(), {3})[3],
            "random_normal/RandomStandardNormal");
}

TEST(InitializersTest, FillEveryType) {
  for (DataType dtype :
       {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT8, DT_INT16, DT_INT32,
        DT_INT64, DT_UINT8, DT_UINT16, DT_UINT32, DT_UINT64, DT_BOOL,
        DT_COMPLEX64, DT_COMPLEX128}) {
    const Scope root = Scope::Root();
    EXPECT_EQ(initializers::Zeros()(root, {2}, dtype, nullptr).dtype(), dtype);
    EXPECT_EQ(initializers::Ones()(root, {2}, dtype, nullptr).dtype(), dtype);
    EXPECT_THAT(root.status(), IsOk()) << DataTypeName(dtype);
  }
}

TEST(InitializersTest, ConstantsRepeatTheirLastElement) {
  const Scope root = Scope::Root();
  const Output value =
      initializers::Constant({1, 2})(root, {2, 2}, DT_FLOAT, nullptr);
  ASSERT_THAT(root.status(), IsOk());
  EXPECT_TRUE(
      SameBits(*value.node()->attr<Tensor>("value"),
               Tensor::FromValues<float>({2, 2}, {1.0f, 2.0f, 2.0f, 2.0f})));
  initializers::Constant({1, 2, 3})(root, {2}, DT_FLOAT, nullptr);
  EXPECT_THAT(root.status(), StatusIs(kInvalid, "Too many elements"));
}

// Returns the limit of a uniform initializer from its node "max".
float Limit(const initializers::VarianceScalingOptions& options,
            const TensorShape& shape,
            const PartitionInfo* partition = nullptr) {
  const Scope root = Scope::Root();
  initializers::VarianceScaling(options)(root, shape, DT_FLOAT, partition);
  return root.graph()
      .FindNode("random_uniform/max")
      ->attr<Tensor>("value")
      ->scalar<float>();
}

TEST(InitializersTest, VarianceScalingCountsFans) {
  using Options = initializers::VarianceScalingOptions;
  Options options = {.distribution = Options::Distribution::kUniform};
  EXPECT_FLOAT_EQ(Limit(options, {3, 5}), std::sqrt(3.0 / 3));
  options.mode = Options::Mode::kFanOut;
  EXPECT_FLOAT_EQ(Limit(options, {3, 5}), std::sqrt(3.0 / 5));
  options.mode = Options::Mode::kFanAverage;
  EXPECT_FLOAT_EQ(Limit(options, {3, 5}), std::sqrt(3.0 / 4));
  EXPECT_FLOAT_EQ(Limit(options, {2, 2, 3, 5}), std::sqrt(3.0 / 16));
  // A part has the distribution of the whole variable.
  const PartitionInfo part = {{30, 10}, {0, 0}};
  EXPECT_FLOAT_EQ(Limit(options, {3, 10}, &part), std::sqrt(3.0 / 20));
}

TEST(InitializersTest, RandomOnesNeedAFloatingType) {
  const Scope root = Scope::Root();
  EXPECT_FALSE(initializers::RandomNormal()(root, {2}, DT_INT32, nullptr));
  EXPECT_THAT(root.status(), StatusIs(kInvalid, "floating point"));
}

TEST(InitializersTest, SeedsMatchTensorFlow) {
  const Scope root = Scope::Root();
  root.SetGraphSeed(4);
  initializers::RandomUniform()(root, {2}, DT_FLOAT, nullptr);
  const Node* draw = root.graph().FindNode("random_uniform/RandomUniform");
  ASSERT_NE(draw, nullptr);
  EXPECT_EQ(*draw->attr<int64_t>("seed"), 4);
  EXPECT_EQ(*draw->attr<int64_t>("seed2"), 3);  // nodes so far: shape, min, max
}

}  // namespace
}  // namespace weft::ops
