// Runs the kernels for NVIDIA GPUs on the CPU (EmulatedCuda) and compares them
// with the CPU kernels. Covers sizes around those of blocks, chunks and tiles,
// and non-finite values. Most values are small multiples of 1/16, so that most
// sums are exact in any order.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/device/cuda/testing/emulated_cuda.h"
#include "libs/kernels/testing/random_tensors.h"
#include "libs/runtime/process/cuda_platform.h"
#include "libs/runtime/process/process.h"

namespace weft {
namespace {

using List = std::vector<int64_t>;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Sizes around those of a warp (32), a tile (64), half a block (128) and a
// block of 256 threads.
const List kSizes = {1, 2, 31, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000};

bool IsClose(double got, double expected, double tolerance) {
  if (std::isnan(expected)) return std::isnan(got);
  if (got == expected) return true;
  return std::abs(got - expected) <=
         tolerance * std::max(1.0, std::abs(expected));
}

class EmulatedGpuKernelsTest : public testing::Test, public RandomTensors {
 protected:
  EmulatedGpuKernelsTest() {
    EmulatedCuda::Reset(testing::UnitTest::GetInstance()->random_seed());
  }

  Tensor Indices(const TensorShape& shape, int64_t below) {
    Tensor x(DT_INT32, shape);
    for (int32_t& value : x.mutable_flat<int32_t>()) {
      value = static_cast<int32_t>(Draw(0, below - 1));
    }
    return x;
  }
  static Tensor Ints(std::initializer_list<int32_t> values) {
    return Tensor::Vector<int32_t>(values);
  }

  // Adds an op to the comparison. Float inputs are converted to `type`, the
  // type of the op.
  void Add(const std::string& op, const std::vector<Tensor>& inputs,
           const AttrMap& attrs = {}, int outputs = 1,
           DataType type = DT_FLOAT) {
    std::string what = absl::StrCat(op, " of ", DataTypeName(type));
    InputList values;
    for (const Tensor& input : inputs) {
      absl::StrAppend(&what, " ", input.shape().ToString());
      const Output value = ops::Const(cpu_, input);
      values.push_back(input.dtype() == DT_FLOAT && type != DT_FLOAT
                           ? ops::Cast(cpu_, value, type)
                           : value);
    }
    const Node* const here = cpu_.AddNode(op, values, attrs);
    const Node* const there = gpu_.AddNode(op, values, attrs);
    ASSERT_OK(root_.status()) << what;
    for (int i = 0; i < outputs; ++i) {
      last_ = Output(here, i);
      expected_.push_back(ops::Cast(cpu_, last_, DT_DOUBLE));
      got_.push_back(ops::Cast(cpu_, Output(there, i), DT_DOUBLE));
      what_.push_back(absl::StrCat(what, " output ", i));
    }
  }

  // Runs all added ops on both devices and compares the results. The tolerance
  // is relative to the larger of 1 and the expected number.
  void ExpectEqual(double tolerance = 1e-6) {
    // Out-of-bounds accesses are only detected if each buffer is a separate
    // allocation.
    Process process({.gpu_platform = std::make_shared<CudaPlatform>(
                         CudaPlatformOptions{.exact_memory = true})});
    SessionOptions options;
    options.process = &process;
    options.device_count["GPU"] = 1;
    ASSERT_OK_AND_ASSIGN(auto session, Session::Connect("", root_, options));
    ASSERT_OK_AND_ASSIGN(const auto expected, session->Run({}, expected_));
    ASSERT_OK_AND_ASSIGN(const auto got, session->Run({}, got_));
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].shape(), expected[i].shape()) << what_[i];
      for (int64_t j = 0; j < got[i].num_elements(); ++j) {
        const double number = expected[i].flat<double>()[j];
        ASSERT_TRUE(IsClose(got[i].flat<double>()[j], number, tolerance))
            << what_[i] << ", element " << j << ": " << got[i].flat<double>()[j]
            << ", not " << number;
      }
    }
  }

  // Returns the CPU result of the op that was added last.
  const Output& last() const { return last_; }

 private:
  const Scope root_ = Scope::Root();
  const Scope cpu_ = root_.WithDevice("/cpu:0");
  const Scope gpu_ = root_.WithDevice("/gpu:0");
  Output last_;
  std::vector<Output> expected_, got_;
  std::vector<std::string> what_;
};

TEST_F(EmulatedGpuKernelsTest, BroadcastElementsMatchTheCpu) {
  const std::vector<std::pair<TensorShape, TensorShape>> shapes = {
      {{257}, {257}},
      {{257, 1}, {1, 129}},
      {{1}, {300}},
      {{3, 1, 5, 1}, {7, 1, 9}},
      {{2, 3, 4, 5, 6}, {6}},
      {{0, 3}, {1, 3}},
      {{2, 1, 3, 1, 2, 1, 2}, {1, 2, 1, 3, 1, 2, 1}}};
  for (const auto& [x, y] : shapes) {
    for (const char* op : {"Add", "Sub", "Mul", "RealDiv", "Maximum", "Minimum",
                           "SquaredDifference", "FloorDiv", "FloorMod"}) {
      Add(op, {Numbers(x), Numbers(y)});
    }
    Add("FloorDiv", {Numbers(x), Numbers(y)}, {}, 1, DT_HALF);
    Add("FloorDiv", {Numbers(x), Numbers(y)}, {}, 1, DT_BFLOAT16);
    Add("Less", {Numbers(x), Numbers(y)});
    Add("NotEqual", {Numbers(x), Numbers(y)}, {}, 1, DT_DOUBLE);
  }
  ExpectEqual();
}

// Returns infinities, NaN, zeros of both signs, the smallest and the largest
// numbers of each type and their neighbors, and numbers that are halfway
// between two rounded results.
Tensor SpecialNumbers() {
  std::vector<float> numbers = {kNan, 0.0f};
  for (const float x :
       {kInf,          0.0f,          1.0f,           0.5f,
        1.5f,          2.5f,          1e-45f,         1.2e-38f,
        3.4028235e38f, 6e-8f,         5.9604645e-8f,  65504.0f,
        65519.0f,      65520.0f,      1.00048828125f, 1.00390625f,
        127.0f,        127.5f,        128.0f,         255.5f,
        256.0f,        32767.5f,      32768.0f,       65535.0f,
        65536.0f,      2147483520.0f, 2147483648.0f,  4294967296.0f,
        9.223371e18f,  9.223372e18f,  1.8446744e19f,  1e30f}) {
    numbers.push_back(x);
    numbers.push_back(-x);
  }
  return Tensor::Vector<float>(numbers);
}

TEST_F(EmulatedGpuKernelsTest, CastsOfSpecialNumbersMatchTheCpu) {
  const auto types = {DT_FLOAT,  DT_DOUBLE, DT_HALF,  DT_BFLOAT16, DT_INT8,
                      DT_INT16,  DT_INT32,  DT_INT64, DT_UINT8,    DT_UINT16,
                      DT_UINT32, DT_UINT64, DT_BOOL};
  for (const DataType from : types) {
    for (const DataType to : types) {
      for (const bool truncate : {false, true}) {
        Add("Cast", {SpecialNumbers()}, {{"DstT", to}, {"Truncate", truncate}},
            1, from);
      }
    }
  }
  ExpectEqual(0);
}

TEST_F(EmulatedGpuKernelsTest, ElementwiseOpsOfSpecialNumbersMatchTheCpu) {
  const Tensor row = SpecialNumbers();
  ASSERT_OK_AND_ASSIGN(const Tensor column,
                       row.Reshaped({row.num_elements(), 1}));
  for (const DataType type : {DT_FLOAT, DT_DOUBLE}) {
    for (const char* op :
         {"Sqrt",     "Rsqrt", "Reciprocal", "Exp",     "Expm1",
          "Log",      "Log1p", "Tanh",       "Sigmoid", "Floor",
          "Ceil",     "Round", "Relu",       "Relu6",   "Elu",
          "Selu",     "Neg",   "Abs",        "Sign",    "Square",
          "Softplus", "Rint",  "IsNan",      "IsInf",   "IsFinite"}) {
      Add(op, {column}, {}, 1, type);
    }
    for (const char* op :
         {"Add", "Sub", "Mul", "RealDiv", "DivNoNan", "Maximum", "Minimum",
          "Xdivy", "Less", "Equal", "NotEqual"}) {
      Add(op, {column, row}, {}, 1, type);
    }
    Add("ClipByValue", {column, Tensor::Scalar(kNan), Tensor::Scalar(2.0f)}, {},
        1, type);
  }
  ExpectEqual(1e-5);
}

TEST_F(EmulatedGpuKernelsTest, UniformNumbersMatchTheCpu) {
  for (const DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16}) {
    for (const int32_t n : {0, 1, 2, 3, 5, 257, 4099}) {
      Add("RandomUniform", {Ints({n})},
          {{"dtype", type}, {"seed", Draw(1, 99)}, {"seed2", Draw(1, 99)}});
    }
  }
  ExpectEqual(0);
}

TEST_F(EmulatedGpuKernelsTest, NormalNumbersNearlyMatchTheCpu) {
  for (const DataType type : {DT_FLOAT, DT_DOUBLE}) {
    for (const int32_t n : {1, 3, 257, 4099}) {
      for (const char* op : {"RandomStandardNormal", "TruncatedNormal"}) {
        Add(op, {Ints({n})},
            {{"dtype", type}, {"seed", Draw(1, 99)}, {"seed2", Draw(1, 99)}});
      }
    }
  }
  ExpectEqual(1e-5);
}

TEST_F(EmulatedGpuKernelsTest, ReductionsOverAnyAxesMatchTheCpu) {
  const std::vector<std::pair<TensorShape, Tensor>> cases = {
      {{1}, Ints({0})},         {{255}, Ints({0})},
      {{257}, Ints({0})},       {{70001}, Ints({0})},
      {{3, 257}, Ints({1})},    {{257, 3}, Ints({0})},
      {{1000, 129}, Ints({0})}, {{5, 7, 129}, Ints({0, 2})},
      {{5, 7, 129}, Ints({1})}, {{2, 3, 4, 5, 6}, Ints({0, 2, 4})},
      {{9, 0, 3}, Ints({1})},   {{128, 256}, Ints({-1})},
      {{4, 300, 4}, Ints({})},  {{129, 2, 65}, Ints({0, 1, 2})}};
  for (const auto& [shape, axes] : cases) {
    for (const char* op : {"Sum", "Mean", "Max", "Min"}) {
      Add(op, {Numbers(shape), axes});
      Add(op, {Numbers(shape), axes}, {{"keep_dims", true}}, 1, DT_DOUBLE);
    }
    Add("Max", {Numbers(shape), axes}, {}, 1, DT_HALF);
    Tensor special = Numbers(shape);
    for (float value : {kNan, kInf, -kInf}) {
      if (special.num_elements() == 0) continue;
      special.mutable_flat<float>()[Draw(0, special.num_elements() - 1)] =
          value;
    }
    for (const char* op : {"Sum", "Max", "Min"}) Add(op, {special, axes});
  }
  for (const int64_t n : kSizes) {
    Add("L2Loss", {Numbers({n})});
    Add("BiasAddGrad", {Numbers({n, 5})});
    Add("BiasAddGrad", {Numbers({3, n})});
    Add("BiasAddGrad", {Numbers({2, 5, n, 3})}, {{"data_format", "NCHW"}});
    Add("BiasAdd", {Numbers({3, n}), Numbers({n})});
  }
  ExpectEqual();
}

TEST_F(EmulatedGpuKernelsTest, ArgMaxAndArgMinMatchTheCpu) {
  for (const int64_t n : kSizes) {
    for (const char* op : {"ArgMax", "ArgMin"}) {
      Add(op, {Numbers({3, n}), Tensor::Scalar<int32_t>(1)});
      Add(op, {Numbers({n, 3}), Tensor::Scalar<int32_t>(0)},
          {{"output_type", DT_INT32}}, 1, DT_HALF);
    }
  }
  for (const char* op : {"ArgMax", "ArgMin"}) {
    const Tensor rows = Tensor::FromValues<float>(
        {6, 4}, {kNan,  -kInf, 1,     kInf, kNan,  kNan, kNan, kNan,
                 kNan,  -kInf, -kInf, kNan, kNan,  kInf, kInf, kNan,
                 -0.0f, 0.0f,  -0.0f, 0.0f, -kInf, kNan, kInf, 2});
    Add(op, {rows, Tensor::Scalar<int32_t>(1)});
  }
  ExpectEqual();
}

TEST_F(EmulatedGpuKernelsTest, ScansLongerThanABlockMatchTheCpu) {
  for (const int64_t n : {1, 64, 65, 255, 256, 257, 2048, 4096, 4097, 9001}) {
    for (int flags = 0; flags < 4; ++flags) {
      const AttrMap attrs = {{"exclusive", (flags & 1) != 0},
                             {"reverse", (flags & 2) != 0}};
      Add("Cumsum", {Numbers({2, n}), Tensor::Scalar<int32_t>(1)}, attrs);
      Add("Cumsum", {Numbers({n, 3}), Tensor::Scalar<int32_t>(0)}, attrs, 1,
          DT_DOUBLE);
      Tensor signs = Numbers({n});
      for (float& x : signs.mutable_flat<float>()) x = x < 0 ? -1.0f : 1.0f;
      Add("Cumprod", {signs, Tensor::Scalar<int32_t>(0)}, attrs);
    }
  }
  ExpectEqual();
}

TEST_F(EmulatedGpuKernelsTest, TopKBySearchAndBySortMatchesTheCpu) {
  for (const int64_t n : kSizes) {
    for (const int64_t k : {int64_t{0}, int64_t{1}, n / 2, n}) {
      const Tensor count = Tensor::Scalar(static_cast<int32_t>(k));
      Add("TopKV2", {Numbers({2, n}), count}, {}, 2);
      if (n > 65) continue;  // larger sizes take long
      Add("TopKV2", {Numbers({3, n}), count}, {}, 2, DT_HALF);
      Add("TopKV2", {Numbers({2, n}), count}, {}, 2, DT_DOUBLE);
      Add("TopKV2", {Numbers({2, n}), count}, {}, 2, DT_INT64);
    }
    Add("InTopKV2", {Numbers({5, n}), Indices({5}, n),
                     Tensor::Scalar(static_cast<int32_t>(n / 2))});
  }
  Tensor special = Numbers({4, 500});
  for (int i = 0; i < 200; ++i) {
    const float values[] = {kInf, -kInf, 0.0f, -0.0f};
    special.mutable_flat<float>()[Draw(0, 1999)] = values[i % 4];
  }
  for (const int32_t k : {3, 500}) {
    Add("TopKV2", {special, Tensor::Scalar(k)}, {}, 2);
  }
  Add("InTopKV2", {special, Indices({4}, 500), Tensor::Scalar<int32_t>(9)});
  ExpectEqual();
}

TEST_F(EmulatedGpuKernelsTest, SoftmaxAndCrossEntropyMatchTheCpu) {
  for (const int64_t n : kSizes) {
    for (const DataType type : {DT_FLOAT, DT_DOUBLE}) {
      Add("Softmax", {Numbers({3, n})}, {}, 1, type);
      Add("LogSoftmax", {Numbers({3, n})}, {}, 1, type);
      Add("SoftmaxCrossEntropyWithLogits", {Numbers({3, n}), Numbers({3, n})},
          {}, 2, type);
    }
    Add("SoftmaxCrossEntropyWithLogits", {Numbers({3, n}), Numbers({1, n})}, {},
        2);
    Add("SoftmaxCrossEntropyWithLogits", {Numbers({1, n}), Numbers({3, n})}, {},
        2);
    Add("SparseSoftmaxCrossEntropyWithLogits",
        {Numbers({3, n}), Indices({3}, n)}, {}, 2);
  }
  Tensor special = Numbers({4, 300});
  special.mutable_flat<float>()[7] = kInf;
  special.mutable_flat<float>()[307] = -kInf;
  special.mutable_flat<float>()[607] = kNan;
  Add("Softmax", {special});
  ExpectEqual(1e-4);
}

// Tests products with Weft's own kernels and, if available, with cuBLAS.
class EmulatedGpuProductsTest : public EmulatedGpuKernelsTest,
                                public testing::WithParamInterface<bool> {
 protected:
  EmulatedGpuProductsTest() {
    if (GetParam()) {
      EmulatedCuda::UseCublas("libs/device/cuda/libemulated_cublas.so");
    }
  }

  // Adds a convolution and its gradients.
  void AddConvolution(const std::string& op, const TensorShape& image,
                      const TensorShape& filter, const AttrMap& attrs,
                      DataType type) {
    Add(op, {Numbers(image), Numbers(filter)}, attrs, 1, type);
    const PartialShape shape = last().shape();
    ASSERT_TRUE(shape.IsFullyDefined()) << op;
    const Tensor gradient = Numbers(shape.ToShape());
    Add(op + "BackpropInput", {SizesOf(image), Numbers(filter), gradient},
        attrs, 1, type);
    Add(op + "BackpropFilter", {Numbers(image), SizesOf(filter), gradient},
        attrs, 1, type);
  }
};
INSTANTIATE_TEST_SUITE_P(Cublas, EmulatedGpuProductsTest, testing::Bool());

TEST_P(EmulatedGpuProductsTest, ProductsOfAnySizeMatchTheCpu) {
  for (int i = 0; i < 16; ++i) {
    const auto size = [&] { return kSizes[Draw(0, 9)]; };
    const int64_t m = size(), n = size(), k = size();
    for (int flags = 0; flags < 4; ++flags) {
      const bool a = (flags & 1) != 0, b = (flags & 2) != 0;
      Add("MatMul",
          {Numbers(a ? TensorShape{k, m} : TensorShape{m, k}),
           Numbers(b ? TensorShape{n, k} : TensorShape{k, n})},
          {{"transpose_a", a}, {"transpose_b", b}}, 1,
          i % 4 == 0 ? DT_DOUBLE : DT_FLOAT);
    }
  }
  for (const DataType type : {DT_HALF, DT_BFLOAT16}) {
    // The exact sums are representable in these types.
    Add("MatMul", {Numbers({65, 3}), Numbers({3, 127})}, {}, 1, type);
  }
  Add("MatMul", {Numbers({5, 0}), Numbers({0, 7})});
  Add("BatchMatMulV2", {Numbers({3, 1, 33, 17}), Numbers({2, 17, 65})});
  Add("BatchMatMulV2", {Numbers({2, 17, 33}), Numbers({17, 65})},
      {{"adj_x", true}});
  Add("BatchMatMul", {Numbers({2, 3, 5, 7}), Numbers({2, 3, 9, 7})},
      {{"adj_y", true}}, 1, DT_DOUBLE);
  ExpectEqual(1e-4);
}

// Reorders the sizes of [batch, rows, columns, channels] to channels-first if
// `is_nchw`.
List Ordered(const List& sizes, bool is_nchw) {
  if (!is_nchw) return sizes;
  return {sizes[0], sizes[3], sizes[1], sizes[2]};
}

TEST_P(EmulatedGpuProductsTest, ConvolutionsMatchTheCpu) {
  for (int i = 0; i < 17; ++i) {
    const bool is_nchw = i % 5 == 1, is_depthwise = i % 4 == 3;
    // Wide cases have enough channels to be computed as products of windows.
    // The others are small, because emulated barriers take long.
    const bool is_wide = i % 2 == 0;
    if (GetParam() && !is_wide) continue;  // narrow cases use no products
    const List image = {Draw(1, 3), Draw(1, 12), Draw(1, 12),
                        is_wide ? Draw(12, 20) : Draw(1, 4)};
    const List filter = {is_wide ? 5 : Draw(1, 3), Draw(1, 4), image[3],
                         is_depthwise ? Draw(1, 3)
                         : is_wide    ? Draw(9, 18)
                                      : Draw(1, 5)};
    const int64_t stride = Draw(1, 3);
    AttrMap attrs = {{"strides", Ordered({1, stride, stride, 1}, is_nchw)},
                     {"padding", "SAME"},
                     {"data_format", is_nchw ? "NCHW" : "NHWC"}};
    if (i % 3 == 0 && !is_depthwise && !is_nchw) {
      attrs["dilations"] = List{1, Draw(1, 2), Draw(1, 2), 1};
      attrs["padding"] = "EXPLICIT";
      attrs["explicit_paddings"] =
          List{0, 0, Draw(0, 9), Draw(8, 9), Draw(0, 9), Draw(8, 9), 0, 0};
    }
    const DataType type = i % 7 == 0 ? DT_DOUBLE : DT_FLOAT;
    AddConvolution(is_depthwise ? "DepthwiseConv2dNative" : "Conv2D",
                   TensorShape(Ordered(image, is_nchw)), TensorShape(filter),
                   attrs, type);
  }
  ExpectEqual(1e-4);
}

TEST_F(EmulatedGpuKernelsTest, PoolsAndNormsMatchTheCpu) {
  for (int i = 0; i < 24; ++i) {
    const TensorShape image = {Draw(1, 3), Draw(1, 12), Draw(1, 12),
                               Draw(1, 9)};
    const int64_t stride = Draw(1, 3);
    const AttrMap attrs = {{"ksize", List{1, Draw(1, 4), Draw(1, 4), 1}},
                           {"strides", List{1, stride, stride, 1}},
                           {"padding", "SAME"}};
    const Tensor x = Numbers(image);
    Add("MaxPool", {x}, attrs);
    const PartialShape shape = last().shape();
    ASSERT_TRUE(shape.IsFullyDefined());
    const Tensor gradient = Numbers(shape.ToShape());
    Add("AvgPool", {x}, attrs);
    Add("AvgPoolGrad", {SizesOf(image), gradient}, attrs);
    Add("LRN", {x}, {{"depth_radius", Draw(0, 4)}});
  }
  for (const int64_t n : kSizes) {
    const Tensor scale = Numbers({3}), offset = Numbers({3});
    const Tensor nothing(DT_FLOAT, TensorShape({0}));
    Add("FusedBatchNormV3",
        {Numbers({2, n, 1, 3}), scale, offset, nothing, nothing}, {}, 3);
    Tensor variance = Numbers({3});
    for (float& x : variance.mutable_flat<float>()) x = x * x;
    Add("FusedBatchNormV3",
        {Numbers({1, n, 2, 3}), scale, offset, Numbers({3}), variance},
        {{"is_training", false}});
  }
  ExpectEqual(1e-4);
}

TEST_F(EmulatedGpuKernelsTest, GatherScatterAndSegmentSumsMatchTheCpu) {
  for (const int64_t n : kSizes) {
    for (const int64_t width : {1, 3, 130}) {
      const Tensor x = Numbers({n, width});
      Add("GatherV2", {x, Indices({257}, n), Tensor::Scalar<int32_t>(0)});
      Add("UnsortedSegmentSum", {x, Indices({n}, 9), Tensor::Scalar(9)});
      Tensor some = Indices({n}, 9);  // index -1 is ignored
      for (int32_t& id : some.mutable_flat<int32_t>()) --id;
      Add("UnsortedSegmentSum", {x, some, Tensor::Scalar(8)});
      Add("UnsortedSegmentMax", {x, Indices({n}, 300), Tensor::Scalar(300)});
      Add("UnsortedSegmentMin", {x, Indices({n}, 2), Tensor::Scalar(2)}, {}, 1,
          DT_HALF);
      Add("ScatterNd",
          {Indices({n, 1}, 50), x, Ints({50, static_cast<int32_t>(width)})});
      Tensor ids = Indices({n}, 1);
      for (int64_t i = 0; i < n; ++i) {
        ids.mutable_flat<int32_t>()[i] = static_cast<int32_t>(i / 3 * 2);
      }
      for (const char* op : {"SegmentSum", "SegmentMean"}) Add(op, {x, ids});
      Add("SparseSegmentSum", {x, Indices({n}, n), ids});
      Add("SparseSegmentSqrtN", {x, Indices({n}, n), ids});
      Add("DynamicPartition", {x, Indices({n}, 4)},
          {{"num_partitions", int64_t{4}}}, 4);
    }
  }
  ExpectEqual();
}

TEST_F(EmulatedGpuKernelsTest, TransposeAndRelatedOpsMatchTheCpu) {
  for (const DataType type : {DT_FLOAT, DT_HALF, DT_DOUBLE}) {
    for (const auto& [shape, order] :
         std::vector<std::pair<TensorShape, Tensor>>{
             {{33, 65}, Ints({1, 0})},
             {{2, 33, 65}, Ints({0, 2, 1})},
             {{65, 2, 33}, Ints({2, 1, 0})},
             {{3, 4, 5, 6}, Ints({3, 0, 2, 1})},
             {{1, 300, 1, 2}, Ints({1, 3, 0, 2})},
             {{0, 4}, Ints({1, 0})}}) {
      Add("Transpose", {Numbers(shape), order}, {}, 1, type);
    }
    Add("PadV2",
        {Numbers({3, 257}), Tensor::FromValues<int32_t>({2, 2}, {1, 2, 0, 3}),
         Tensor::Scalar(0.5f)},
        {}, 1, type);
    Add("Tile", {Numbers({3, 1, 65}), Ints({2, 5, 3})}, {}, 1, type);
    Add("ReverseV2", {Numbers({3, 257, 2}), Ints({0, 1})}, {}, 1, type);
    Add("Slice", {Numbers({9, 257}), Ints({2, 255}), Ints({-1, 1})}, {}, 1,
        type);
    Add("StridedSlice",
        {Numbers({9, 257}), Ints({8, 256}), Ints({0, -257}), Ints({-3, -2})},
        {{"end_mask", int64_t{1}}}, 1, type);
    Add("BroadcastTo", {Numbers({3, 1, 2}), Ints({2, 3, 129, 2})}, {}, 1, type);
  }
  Add("ConcatV2",
      {Numbers({3, 1}), Numbers({3, 257}), Numbers({3, 0}),
       Tensor::Scalar<int32_t>(1)},
      {{"N", int64_t{3}}});
  Add("SplitV",
      {Numbers({3, 260}), Ints({1, 2, 257}), Tensor::Scalar<int32_t>(1)},
      {{"num_split", int64_t{3}}}, 3);
  Add("Pack", {Numbers({5, 129}), Numbers({5, 129})},
      {{"N", int64_t{2}}, {"axis", int64_t{1}}});
  Add("OneHot",
      {Indices({3, 129}, 12), Tensor::Scalar<int32_t>(10), Tensor::Scalar(2.0f),
       Tensor::Scalar(-1.0f)},
      {{"axis", int64_t{1}}});
  ExpectEqual(0);
}

}  // namespace
}  // namespace weft
