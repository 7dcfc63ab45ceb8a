#include "libs/kernels/nn/nn_kernels.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/nn_loops.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

class NnKernelsTest : public testing::Test {
 protected:
  NnKernelsTest() : harness_(RegisterNnKernels) {}
  KernelTestHarness harness_;
};

Tensor Floats(const TensorShape& shape, std::vector<float> values) {
  return Tensor::FromValues<float>(shape, absl::Span<const float>(values));
}

// Checks that `tensor` holds these values, within a relative `tolerance`.
void ExpectValues(const Tensor& tensor, const std::vector<double>& expected,
                  double tolerance = 1e-5) {
  ASSERT_EQ(tensor.num_elements(), static_cast<int64_t>(expected.size()));
  ASSERT_OK(DispatchType(
      FloatingTypes{}, tensor.dtype(), [&]<typename T>(TypeTag<T>) {
        for (size_t i = 0; i < expected.size(); ++i) {
          const auto value =
              static_cast<double>(static_cast<Wide<T>>(tensor.flat<T>()[i]));
          if (std::isnan(expected[i])) {
            EXPECT_TRUE(std::isnan(value)) << i;
          } else if (std::isinf(expected[i])) {
            EXPECT_EQ(value, expected[i]) << i;
          } else {
            EXPECT_NEAR(value, expected[i],
                        tolerance * (1 + std::abs(expected[i])))
                << i;
          }
        }
        return absl::OkStatus();
      }));
}

Tensor Convert(const Tensor& floats, DataType dtype) {
  Tensor result(dtype, floats.shape());
  EXPECT_OK(DispatchType(FloatingTypes{}, dtype, [&]<typename T>(TypeTag<T>) {
    for (int64_t i = 0; i < floats.num_elements(); ++i) {
      result.mutable_flat<T>()[i] =
          static_cast<T>(static_cast<Wide<T>>(floats.flat<float>()[i]));
    }
    return absl::OkStatus();
  }));
  return result;
}

double Tolerance(DataType dtype) {
  return dtype == DT_BFLOAT16 ? 2e-2 : dtype == DT_HALF ? 3e-3 : 1e-5;
}

struct ActivationCase {
  const char* op;
  std::vector<double> expected;  // for -2.5, -0.3, 0, 0.7, 7
};

TEST_F(NnKernelsTest, ActivationsInEveryFloatingType) {
  const Tensor x = Floats({5}, {-2.5f, -0.3f, 0, 0.7f, 7});
  const std::vector<ActivationCase> cases = {
      {"Relu", {0, 0, 0, 0.7, 7}},
      {"Relu6", {0, 0, 0, 0.7, 6}},
      {"Elu", {-0.917915, -0.2591818, 0, 0.7, 7}},
      {"Selu", {-1.6137863, -0.4556634, 0, 0.7354907, 7.3549069}},
      {"Softplus", {0.0788897, 0.5543552, 0.6931472, 1.1031860, 7.0009115}},
      {"Softsign", {-0.7142857, -0.2307692, 0, 0.4117647, 0.875}},
      {"LeakyRelu", {-0.5, -0.06, 0, 0.7, 7}}};
  for (const ActivationCase& c : cases) {
    for (DataType dtype : DataTypesOf(FloatingTypes{})) {
      SCOPED_TRACE(std::string(c.op) + " " + DataTypeName(dtype));
      ASSERT_OK_AND_ASSIGN(Tensor y,
                           harness_.RunOne(c.op, {Convert(x, dtype)}));
      ExpectValues(y, c.expected, Tolerance(dtype));
    }
  }
}

TEST_F(NnKernelsTest, ReluKeepsNaNAndMinusZero) {
  ASSERT_OK_AND_ASSIGN(
      Tensor y,
      harness_.RunOne("Relu",
                      {Floats({5}, {0, -0.0f, kInfinity, -kInfinity, kNaN})}));
  // NOLINTNEXTLINE(bugprone-narrowing-conversions): infinity fits a double
  ExpectValues(y, {0, 0, kInfinity, 0, kNaN});
  EXPECT_TRUE(std::signbit(y.flat<float>()[1]));
  ASSERT_OK_AND_ASSIGN(Tensor integers,
                       harness_.RunOne("Relu", {Tensor::Vector({-3, 0, 4})}));
  EXPECT_TRUE(SameBits(integers, Tensor::Vector({0, 0, 4})));
}

// Compares gradients with finite differences of the activation.
TEST_F(NnKernelsTest, ActivationGradientsMatchDifferences) {
  const std::vector<float> at = {-2.5f, -0.3f, 0.4f, 0.7f, 7};
  for (const std::string op :
       {"Relu", "Relu6", "Elu", "Selu", "Softplus", "Softsign", "LeakyRelu"}) {
    SCOPED_TRACE(op);
    const bool takes_output = op == "Elu" || op == "Selu";
    Tensor x(DT_DOUBLE, {5}), shifted(DT_DOUBLE, {5});
    constexpr double kStep = 1e-6;
    for (int i = 0; i < 5; ++i) {
      x.mutable_flat<double>()[i] = at[i];
      shifted.mutable_flat<double>()[i] = at[i] + kStep;
    }
    ASSERT_OK_AND_ASSIGN(Tensor y, harness_.RunOne(op, {x}));
    ASSERT_OK_AND_ASSIGN(Tensor y2, harness_.RunOne(op, {shifted}));
    const Tensor dy = Tensor::Vector<double>({1, 2, 3, 4, 5});
    ASSERT_OK_AND_ASSIGN(
        Tensor dx, harness_.RunOne(op + "Grad", {dy, takes_output ? y : x}));
    for (int i = 0; i < 5; ++i) {
      const double slope = (y2.flat<double>()[i] - y.flat<double>()[i]) / kStep;
      EXPECT_NEAR(dx.flat<double>()[i], dy.flat<double>()[i] * slope, 1e-4);
    }
  }
}

TEST_F(NnKernelsTest, GradientsOfOtherShapesAreRefused) {
  for (const char* op : {"ReluGrad", "EluGrad", "LeakyReluGrad"}) {
    EXPECT_THAT(
        harness_.RunOne(op, {Floats({2}, {1, 2}), Floats({3}, {1, 2, 3})}),
        StatusIs(kInvalid, "must be the same size"));
  }
}

TEST_F(NnKernelsTest, ActivationReusesAnUnsharedInput) {
  Tensor x = Floats({2}, {-1, 1});
  const void* memory = x.data();
  std::vector<KernelInput> inputs;
  inputs.push_back(std::move(x));
  ASSERT_OK_AND_ASSIGN(Tensor y, harness_.RunOne("Relu", std::move(inputs)));
  EXPECT_EQ(y.data(), memory);
}

TEST_F(NnKernelsTest, BiasAddInBothFormats) {
  const Tensor value = Floats({1, 2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor bias = Floats({2}, {10, 20});
  ASSERT_OK_AND_ASSIGN(Tensor last, harness_.RunOne("BiasAdd", {value, bias}));
  ExpectValues(last, {10, 21, 12, 23, 14, 25, 16, 27});
  ASSERT_OK_AND_ASSIGN(
      Tensor first,
      harness_.RunOne("BiasAdd", {value, bias}, {{"data_format", "NCHW"}}));
  ExpectValues(first, {10, 11, 12, 13, 24, 25, 26, 27});
  ASSERT_OK_AND_ASSIGN(Tensor grad, harness_.RunOne("BiasAddGrad", {value}));
  ExpectValues(grad, {12, 16});
  ASSERT_OK_AND_ASSIGN(
      Tensor grad_first,
      harness_.RunOne("BiasAddGrad", {value}, {{"data_format", "NCHW"}}));
  ExpectValues(grad_first, {6, 22});
}

TEST_F(NnKernelsTest, BiasAddGradSumsManyRows) {
  Tensor ones(DT_FLOAT, {100000, 3});
  for (float& value : ones.mutable_flat<float>()) value = 0.1f;
  ASSERT_OK_AND_ASSIGN(Tensor sums, harness_.RunOne("BiasAddGrad", {ones}));
  ExpectValues(sums, {10000, 10000, 10000}, 1e-5);
}

// Sums blocks of 256 rows, and then the block sums, in order. So the bits do
// not depend on the number of threads.
TEST_F(NnKernelsTest, BiasAddGradSumsInOrder) {
  constexpr int64_t kBlock = 256;
  for (const int64_t rows : {1, 255, 256, 257, 5 * 256, 60001}) {
    Tensor values(DT_FLOAT, {rows, 3});
    float next = 0.1f;
    for (float& value : values.mutable_flat<float>()) {
      value = next = next * 1.37f > 9 ? next * 0.011f : next * 1.37f;
    }
    Tensor sums(DT_FLOAT, {3});
    for (int64_t column = 0; column < 3; ++column) {
      float sum = 0;
      for (int64_t begin = 0; begin < rows; begin += kBlock) {
        float block = 0;
        for (int64_t r = begin; r < std::min(begin + kBlock, rows); ++r) {
          block += values.flat<float>()[r * 3 + column];
        }
        sum += block;
      }
      sums.mutable_flat<float>()[column] = sum;
    }
    ASSERT_OK_AND_ASSIGN(const Tensor got,
                         harness_.RunOne("BiasAddGrad", {values}));
    EXPECT_TRUE(SameBits(got, sums)) << rows;
  }
}

// A loop over all rows would practically never end.
TEST_F(NnKernelsTest, BiasesOfEmptyRowsTakeNoTime) {
  const Tensor many(DT_FLOAT, {int64_t{1} << 40, 0});
  ASSERT_OK_AND_ASSIGN(
      const Tensor sum,
      harness_.RunOne("BiasAdd", {many, Tensor(DT_FLOAT, {0})}));
  EXPECT_EQ(sum.shape(), many.shape());
  ASSERT_OK_AND_ASSIGN(const Tensor grad,
                       harness_.RunOne("BiasAddGrad", {many}));
  EXPECT_EQ(grad.shape(), TensorShape({0}));
  const Tensor hollow(DT_FLOAT, {int64_t{1} << 40, 2, 0});
  ASSERT_OK_AND_ASSIGN(
      const Tensor zeros,
      harness_.RunOne("BiasAddGrad", {hollow}, {{"data_format", "NCHW"}}));
  EXPECT_TRUE(SameBits(zeros, Tensor(DT_FLOAT, {2})));
}

TEST_F(NnKernelsTest, BadBiasesAreRefused) {
  const Tensor value = Floats({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(harness_.RunOne("BiasAdd", {value, Floats({2}, {1, 2})}),
              StatusIs(kInvalid,
                       "Must provide as many biases as the last dimension of "
                       "the input tensor: [2] vs. [2,3]"));
  EXPECT_THAT(harness_.RunOne("BiasAdd", {Floats({}, {3}), Floats({1}, {1})}),
              StatusIs(kInvalid, "Input tensor must be at least 2D: []"));
  EXPECT_THAT(harness_.RunOne("BiasAdd", {value, Floats({1, 3}, {1, 2, 3})}),
              StatusIs(kInvalid, "Biases must be 1D"));
  EXPECT_THAT(harness_.RunOne("BiasAdd", {value, Floats({3}, {1, 2, 3})},
                              {{"data_format", "NCHW"}}),
              StatusIs(kInvalid, "at least 3D"));
}

TEST_F(NnKernelsTest, SoftmaxInEveryFloatingType) {
  const Tensor logits = Floats({3, 3}, {1, 2, 3, -1, 0, 1000, 0, 0, 0});
  const double third = 1.0 / 3;
  for (DataType dtype : DataTypesOf(FloatingTypes{})) {
    SCOPED_TRACE(DataTypeName(dtype));
    ASSERT_OK_AND_ASSIGN(Tensor y,
                         harness_.RunOne("Softmax", {Convert(logits, dtype)}));
    ExpectValues(
        y, {0.0900306, 0.2447285, 0.6652409, 0, 0, 1, third, third, third},
        Tolerance(dtype));
    ASSERT_OK_AND_ASSIGN(
        Tensor log, harness_.RunOne("LogSoftmax", {Convert(logits, dtype)}));
    ExpectValues(log,
                 {-2.4076059, -1.4076059, -0.4076059, -1001, -1000, 0,
                  -1.0986123, -1.0986123, -1.0986123},
                 Tolerance(dtype));
  }
}

TEST_F(NnKernelsTest, SoftmaxOfOtherShapes) {
  ASSERT_OK_AND_ASSIGN(Tensor empty,
                       harness_.RunOne("Softmax", {Floats({0, 3}, {})}));
  EXPECT_EQ(empty.shape(), TensorShape({0, 3}));
  ASSERT_OK_AND_ASSIGN(Tensor no_classes,
                       harness_.RunOne("Softmax", {Floats({3, 0}, {})}));
  EXPECT_EQ(no_classes.shape(), TensorShape({3, 0}));
  EXPECT_THAT(harness_.RunOne("Softmax", {Floats({}, {1})}),
              StatusIs(kInvalid, "logits must have >= 1 dimension, got []"));
}

TEST_F(NnKernelsTest, CrossEntropies) {
  const Tensor logits = Floats({3, 3}, {1, 2, 3, -1, 0, 1000, 0, 0, 0});
  const Tensor labels = Floats({3, 3}, {0, 0, 1, 1, 0, 0, 0.2f, 0.3f, 0.5f});
  for (DataType dtype : DataTypesOf(FloatingTypes{})) {
    SCOPED_TRACE(DataTypeName(dtype));
    ASSERT_OK_AND_ASSIGN(
        auto dense,
        harness_.Run("SoftmaxCrossEntropyWithLogits",
                     {Convert(logits, dtype), Convert(labels, dtype)}));
    ExpectValues(dense[0], {0.4076059, 1001, 1.0986123}, Tolerance(dtype));
    ExpectValues(dense[1],
                 {0.0900306, 0.2447285, -0.3347591, -1, 0, 1, 0.1333333,
                  0.0333333, -0.1666667},
                 Tolerance(dtype));
    ASSERT_OK_AND_ASSIGN(
        auto sparse,
        harness_.Run("SparseSoftmaxCrossEntropyWithLogits",
                     {Convert(logits, dtype), Tensor::Vector({2, 0, 1})}));
    ExpectValues(sparse[0], {0.4076059, 1001, 1.0986123}, Tolerance(dtype));
    ExpectValues(sparse[1],
                 {0.0900306, 0.2447285, -0.3347591, -1, 0, 1, 0.3333333,
                  -0.6666667, 0.3333333},
                 Tolerance(dtype));
  }
}

TEST_F(NnKernelsTest, LabelsAreRepeatedForEachRow) {
  ASSERT_OK_AND_ASSIGN(
      auto outputs,
      harness_.Run("SoftmaxCrossEntropyWithLogits",
                   {Floats({2, 2}, {0, 0, 0, 0}), Floats({1, 2}, {1, 0})}));
  ExpectValues(outputs[0], {0.6931472, 0.6931472});
  ExpectValues(outputs[1], {-0.5, 0.5, -0.5, 0.5});
  EXPECT_THAT(
      harness_.Run(
          "SoftmaxCrossEntropyWithLogits",
          {Floats({3, 3}, std::vector<float>(9)), Floats({1, 2}, {1, 0})}),
      StatusIs(kInvalid,
               "logits and labels must be broadcastable: logits_size=[3,3] "
               "labels_size=[1,2]"));
}

TEST_F(NnKernelsTest, LabelsOutOfRangeAreRejected) {
  const Tensor logits = Floats({3, 3}, std::vector<float>(9));
  const std::string op = "SparseSoftmaxCrossEntropyWithLogits";
  EXPECT_THAT(harness_.Run(op, {logits, Tensor::Vector({0, 3, 1})}),
              StatusIs(kInvalid,
                       "Received a label value of 3 which is outside the valid "
                       "range of [0, 3).  Label values: 0 3 1"));
  EXPECT_THAT(harness_.Run(op, {logits, Tensor::Vector<int64_t>({0, -1, 1})}),
              StatusIs(kInvalid, "label value of -1"));
  EXPECT_THAT(harness_.Run(op, {logits, Tensor::Vector({0, 1})}),
              StatusIs(kInvalid,
                       "logits and labels must have the same first dimension, "
                       "got logits shape [3,3] and labels shape [2]"));
  EXPECT_THAT(harness_.Run(op, {Floats({2, 0}, {}), Tensor::Vector({0, 0})}),
              StatusIs(kInvalid, "Must have at least one class"));
}

TEST_F(NnKernelsTest, InTopK) {
  const Tensor predictions = Floats({3, 3}, {1, 2, 3, -1, 0, 1000, 0, 0, 0});
  const auto run = [&](const Tensor& targets) {
    return harness_.RunOne("InTopK", {predictions, targets},
                           {{"k", int64_t{1}}});
  };
  ASSERT_OK_AND_ASSIGN(Tensor in, run(Tensor::Vector({2, 0, 1})));
  EXPECT_TRUE(SameBits(in, Tensor::Vector({true, false, true})));
  ASSERT_OK_AND_ASSIGN(Tensor outside, run(Tensor::Vector({2, -1, 5})));
  EXPECT_TRUE(SameBits(outside, Tensor::Vector({true, false, false})));
  ASSERT_OK_AND_ASSIGN(
      Tensor infinite,
      harness_.RunOne("InTopKV2", {Floats({1, 3}, {1, kInfinity, kNaN}),
                                   Tensor::Vector({1}), Tensor::Scalar(2)}));
  EXPECT_TRUE(SameBits(infinite, Tensor::Vector({false})));
  EXPECT_THAT(run(Tensor::Vector({1})),
              StatusIs(kInvalid, "must match length of targets 1"));
}

TEST_F(NnKernelsTest, TopK) {
  ASSERT_OK_AND_ASSIGN(
      auto top,
      harness_.Run("TopKV2", {Floats({2, 4}, {1, 4, 4, 2, 9, -1, 3, 9}),
                              Tensor::Scalar(2)}));
  EXPECT_TRUE(SameBits(top[0], Floats({2, 2}, {4, 4, 9, 9})));
  EXPECT_TRUE(
      SameBits(top[1], Tensor::FromValues<int32_t>({2, 2}, {1, 2, 0, 3})));
  ASSERT_OK_AND_ASSIGN(auto none, harness_.Run("TopKV2", {Floats({2}, {1, 2}),
                                                          Tensor::Scalar(0)}));
  EXPECT_EQ(none[0].shape(), TensorShape({0}));
  ASSERT_OK_AND_ASSIGN(
      auto odd, harness_.Run("TopKV2", {Floats({3}, {kNaN, 1, kInfinity}),
                                        Tensor::Scalar(3)}));
  EXPECT_TRUE(SameBits(odd[1], Tensor::Vector({2, 1, 0})));
}

// The expected order is that of TensorFlow 2.21 on a CPU; top_k_order_test.cc
// has more cases.
TEST_F(NnKernelsTest, UnsortedTopKHasTensorFlowsOrder) {
  const auto run = [&](const Tensor& x, int32_t k) {
    return harness_.Run("TopKV2", {x, Tensor::Scalar(k)}, {{"sorted", false}});
  };
  const Tensor x = Floats({10}, {.7, .8, .6, .2, .75, .1, .5, .9, .55, .95});
  ASSERT_OK_AND_ASSIGN(auto top, run(x, 5));
  EXPECT_TRUE(SameBits(top[0], Floats({5}, {.7, .8, .75, .9, .95})));
  EXPECT_TRUE(SameBits(top[1], Tensor::Vector({0, 1, 4, 7, 9})));
  ASSERT_OK_AND_ASSIGN(auto all, run(Floats({2, 3}, {1, 3, 2, 5, 5, 6}), 3));
  EXPECT_TRUE(SameBits(
      all[1], Tensor::FromValues<int32_t>({2, 3}, {1, 2, 0, 2, 0, 1})));
  ASSERT_OK_AND_ASSIGN(auto first, run(Floats({4}, {1, 7, 7, 3}), 1));
  EXPECT_TRUE(SameBits(first[1], Tensor::Vector({1})));
}

TEST_F(NnKernelsTest, UnsortedTopKHasTheSameColumns) {
  Tensor x(DT_FLOAT, {4, 100});
  for (int i = 0; i < 400; ++i) {
    x.mutable_flat<float>()[i] = static_cast<float>(i * 7919 % 53);
  }
  for (const int32_t k : {1, 2, 17, 98, 99, 100}) {
    const auto columns = [&](bool sorted) {
      auto top =
          harness_.Run("TopKV2", {x, Tensor::Scalar(k)}, {{"sorted", sorted}});
      EXPECT_OK(top);
      std::vector<std::vector<int32_t>> rows;
      for (int row = 0; top.ok() && row < 4; ++row) {
        const auto row_columns = (*top)[1].flat<int32_t>().subspan(row * k, k);
        rows.emplace_back(row_columns.begin(), row_columns.end());
        std::sort(rows.back().begin(), rows.back().end());
      }
      return rows;
    };
    EXPECT_EQ(columns(false), columns(true)) << k;
  }
}

// In old graphs, k is an attr.
TEST_F(NnKernelsTest, OldTopK) {
  const Tensor input = Floats({2, 4}, {1, 4, 4, 2, 9, -1, 3, 9});
  ASSERT_OK_AND_ASSIGN(auto top,
                       harness_.Run("TopK", {input}, {{"k", int64_t{2}}}));
  EXPECT_TRUE(SameBits(top[0], Floats({2, 2}, {4, 4, 9, 9})));
  EXPECT_TRUE(
      SameBits(top[1], Tensor::FromValues<int32_t>({2, 2}, {1, 2, 0, 3})));
  EXPECT_THAT(harness_.Run("TopK", {input}, {{"k", int64_t{5}}}),
              StatusIs(kInvalid,
                       "input must have at least k columns. Had 4, needed 5"));
  EXPECT_THAT(harness_.Run("TopK", {Floats({}, {1})}, {{"k", int64_t{0}}}),
              StatusIs(kInvalid, "input must be >= 1-D, got shape []"));
  const auto infer = [&](const PartialShape& shape) {
    return harness_.InferShapes("TopK", {{DT_FLOAT, shape}},
                                {{"k", int64_t{5}}});
  };
  ASSERT_OK_AND_ASSIGN(auto shapes, infer(PartialShape({3, -1})));
  EXPECT_EQ(shapes[0], PartialShape({3, 5}));
  EXPECT_EQ(shapes[1], PartialShape({3, 5}));
  EXPECT_THAT(
      infer(PartialShape({3, 4})),
      StatusIs(kInvalid, "input must have last dimension >= k = 5 but is 4"));
}

TEST_F(NnKernelsTest, BadTopKsAreRefused) {
  EXPECT_THAT(harness_.Run("TopKV2", {Floats({2}, {1, 2}), Tensor::Scalar(3)}),
              StatusIs(kInvalid,
                       "input must have at least k columns. Had 2, needed 3"));
  EXPECT_THAT(harness_.Run("TopKV2", {Floats({2}, {1, 2}), Tensor::Scalar(-1)}),
              StatusIs(kInvalid, "Need k >= 0, got -1"));
  EXPECT_THAT(harness_.Run("TopKV2", {Floats({}, {1}), Tensor::Scalar(1)}),
              StatusIs(kInvalid, "input must be >= 1-D, got shape []"));
  EXPECT_THAT(
      harness_.Run("TopKV2", {Floats({2}, {1, 2}), Tensor::Vector({1})}),
      StatusIs(kInvalid, "k must be scalar"));
}

TEST_F(NnKernelsTest, Shapes) {
  ASSERT_OK_AND_ASSIGN(
      auto bias,
      harness_.InferShapes("BiasAdd", {{DT_FLOAT, PartialShape({-1, -1})},
                                       {DT_FLOAT, PartialShape({3})}}));
  EXPECT_EQ(bias[0], PartialShape({-1, 3}));
  ASSERT_OK_AND_ASSIGN(
      auto loss, harness_.InferShapes("SparseSoftmaxCrossEntropyWithLogits",
                                      {{DT_FLOAT, PartialShape({-1, 10})},
                                       {DT_INT64, PartialShape({32})}}));
  EXPECT_EQ(loss[0], PartialShape({32}));
  EXPECT_EQ(loss[1], PartialShape({32, 10}));
  ASSERT_OK_AND_ASSIGN(
      auto top,
      harness_.InferShapes(
          "TopKV2", {{DT_FLOAT, PartialShape({4, 9})}, Tensor::Scalar(3)}));
  EXPECT_EQ(top[1], PartialShape({4, 3}));
  EXPECT_THAT(harness_.InferShapes("BiasAdd", {{DT_FLOAT, PartialShape({2, 3})},
                                               {DT_FLOAT, PartialShape({2})}}),
              StatusIs(kInvalid));
}

// All instruction sets of this machine agree up to rounding.
TEST(NnLoopsTest, InstructionSetsAgree) {
  constexpr size_t kRows = 5, kClasses = 37;
  std::vector<float> logits(kRows * kClasses), labels(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    logits[i] = std::sin(static_cast<float>(i)) * 4;
    labels[i] = i % kClasses == 3 ? 1.0f : 0.0f;
  }
  std::vector<float> first;
  for (InstructionSet set : SupportedInstructionSets()) {
    const NnLoops<float> loops = NnLoopsFor<float>(set);
    std::vector<float> out(logits.size() * 4 + kRows);
    float* to = out.data();
    loops.relu(logits.data(), to, logits.size());
    loops.softmax(logits.data(), to + logits.size(), kRows, kClasses);
    loops.log_softmax(logits.data(), to + 2 * logits.size(), kRows, kClasses);
    loops.cross_entropy(logits.data(), labels.data(), to + 4 * logits.size(),
                        to + 3 * logits.size(), kRows, kClasses);
    if (first.empty()) first = out;
    for (size_t i = 0; i < out.size(); ++i) {
      ASSERT_NEAR(out[i], first[i], 1e-5 * (1 + std::abs(first[i]))) << i;
    }
  }
}

}  // namespace
}  // namespace weft
