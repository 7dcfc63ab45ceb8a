// Compares fused kernels with the separate kernels that they replace.
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/random.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/common/member_errors.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

using Texts = std::vector<std::string>;
using Numbers = std::vector<int64_t>;

struct Function {
  std::string op;
  int64_t x = 0, y = -1;
};
using Functions = std::vector<Function>;

void RegisterAll(KernelRegistry& registry) {
  RegisterArrayKernels(registry);
  RegisterMathKernels(registry);
  RegisterNnKernels(registry);
}

class FusedKernelsTest : public testing::Test {
 protected:
  FusedKernelsTest() : harness_(RegisterAll) {}

  int64_t Draw(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_->Next() % (high - low + 1));
  }
  // Returns values of all magnitudes and both signs, and some NaNs.
  Tensor Values(DataType type, const TensorShape& shape) {
    Tensor x(DT_FLOAT, shape);
    for (float& value : x.mutable_flat<float>()) {
      const auto digits = static_cast<float>(Draw(-1000, 1000)) / 100;
      value = Draw(0, 50) == 0 ? std::sqrt(digits) * 1e20f : digits;
    }
    if (type == DT_FLOAT) return x;
    auto cast = harness_.RunOne("Cast", {x}, {{"DstT", type}});
    EXPECT_OK(cast);
    return *cast;
  }

  static AttrMap AttrsOf(const Texts& head, const Functions& functions) {
    Texts ops, names = head;
    Numbers operands;
    for (const Function& f : functions) {
      ops.push_back(f.op);
      names.push_back(absl::StrCat("node_", names.size()));
      operands.push_back(f.x);
      operands.push_back(f.y);
    }
    return {{"fused_ops", ops},
            {"fused_names", names},
            {"fused_operands", operands}};
  }

  // Applies the functions one by one.
  absl::StatusOr<Tensor> OneByOne(std::vector<Tensor> values,
                                  const Functions& functions) {
    for (const Function& f : functions) {
      std::vector<KernelInput> inputs = {values[f.x]};
      if (f.y >= 0) inputs.emplace_back(values[f.y]);
      absl::StatusOr<Tensor> result = harness_.RunOne(f.op, inputs);
      if (!result.ok()) return result.status();
      values.push_back(*std::move(result));
    }
    return values.back();
  }

  absl::StatusOr<Tensor> Fused(const std::vector<Tensor>& args,
                               const Functions& functions) {
    const std::vector<KernelInput> inputs(args.begin(), args.end());
    return harness_.RunOne("_FusedElementwise", inputs, AttrsOf({}, functions));
  }

  void ExpectSame(const std::vector<Tensor>& args, const Functions& functions) {
    const absl::StatusOr<Tensor> wanted = OneByOne(args, functions);
    absl::StatusOr<Tensor> got = Fused(args, functions);
    ASSERT_EQ(got.status().code(), wanted.status().code()) << got.status();
    if (!wanted.ok()) {
      absl::Status status = got.status();
      TakeFailedNode(status, "", "");
      EXPECT_EQ(status.message(), wanted.status().message());
      return;
    }
    EXPECT_TRUE(SameBits(*got, *wanted)) << Describe(args, functions);
  }

  static std::string Describe(const std::vector<Tensor>& args,
                              const Functions& functions) {
    std::string text;
    for (const Tensor& arg : args) absl::StrAppend(&text, arg.ToString(), " ");
    for (const Function& f : functions) {
      absl::StrAppend(&text, f.op, "(", f.x, ",", f.y, ") ");
    }
    return text;
  }

  const std::unique_ptr<Random> random_ = NewSeededRandom(23);
  KernelTestHarness harness_;
};

constexpr const char* kUnary[] = {
    "Abs",   "Exp",  "Log",   "Neg",    "Relu",    "Relu6", "Elu",
    "Rsqrt", "Sqrt", "Tanh",  "Square", "Sigmoid", "Sign",  "Softplus",
    "Selu",  "Sin",  "Floor", "Log1p",  "Softsign"};
constexpr const char* kBinary[] = {"AddV2",    "Sub",      "Mul",
                                   "RealDiv",  "Maximum",  "Minimum",
                                   "TanhGrad", "ReluGrad", "SquaredDifference",
                                   "EluGrad",  "SqrtGrad", "BiasAdd"};

TEST_F(FusedKernelsTest, RandomChainsHaveTheSameBits) {
  const DataType kTypes[] = {DT_FLOAT, DT_FLOAT, DT_DOUBLE, DT_HALF,
                             DT_BFLOAT16};
  for (int n = 0; n < 600; ++n) {
    const DataType type = kTypes[Draw(0, 4)];
    // Covers empty, single, few and many elements, rows shorter than a vector,
    // and rows longer than a block.
    const Numbers kRows = {0, 1, 2, 7, 33}, kColumns = {1, 5, 64, 999, 2500};
    const TensorShape shape = {kRows[Draw(0, 4)], kColumns[Draw(0, 4)]};
    std::vector<Tensor> args = {
        Values(type, shape), Values(type, shape), Values(type, {}),
        Values(type, Draw(0, 4) == 0 ? shape : TensorShape({shape.dim(1)}))};
    Functions functions;
    for (int64_t k = 0, end = Draw(1, 9); k < end; ++k) {
      // One operand is the latest result, so that all functions contribute.
      const int64_t last = static_cast<int64_t>(args.size()) - 1 + k;
      const int64_t x = k == 0 ? 0 : last;
      const int64_t y = Draw(0, 3) == 0 ? 3 : Draw(0, last);
      if (Draw(0, 1) == 0) {
        functions.push_back({kUnary[Draw(0, std::size(kUnary) - 1)], x});
      } else if (Draw(0, 3) != 0) {
        functions.push_back({kBinary[Draw(0, std::size(kBinary) - 1)], x, y});
      } else {
        functions.push_back({"Sub", y, x});
      }
    }
    ASSERT_NO_FATAL_FAILURE(ExpectSame(args, functions)) << n;
  }
}

TEST_F(FusedKernelsTest, LargeTensorsAreSplitOverThreads) {
  const Tensor x = Values(DT_FLOAT, {700, 301});
  const Tensor bias = Values(DT_FLOAT, {301});
  ExpectSame({x, bias}, {{"BiasAdd", 0, 1}, {"Relu", 2}});
  ExpectSame({x, x}, {{"Mul", 0, 1}, {"AddV2", 2, 0}, {"Sigmoid", 3}});
}

// Many intermediate results are live at the same time.
TEST_F(FusedKernelsTest, ManyIntermediateValuesAreKept) {
  const Tensor x = Values(DT_FLOAT, {50, 70});
  Functions functions;
  for (int64_t k = 0; k < 9; ++k) {
    functions.push_back({kUnary[k], 0});
  }
  for (int64_t k = 0; k < 8; ++k) {
    functions.push_back({"Sub", 1 + k, 9 + k});
  }
  ExpectSame({x}, functions);
}

TEST_F(FusedKernelsTest, UnsharedInputIsReused) {
  Tensor x = Values(DT_FLOAT, {20, 300});
  ASSERT_OK_AND_ASSIGN(const Tensor wanted,
                       OneByOne({x}, {{"Neg", 0}, {"AddV2", 1, 0}}));
  const void* const memory = x.data();
  ASSERT_OK_AND_ASSIGN(Tensor copy, x.DeepCopy(harness_.device().allocator()));
  const void* const copied = copy.data();
  std::vector<KernelInput> inputs;
  inputs.emplace_back(std::move(copy));
  ASSERT_OK_AND_ASSIGN(
      const Tensor got,
      harness_.RunOne("_FusedElementwise", std::move(inputs),
                      AttrsOf({}, {{"Neg", 0}, {"AddV2", 1, 0}})));
  EXPECT_TRUE(SameBits(got, wanted));
  EXPECT_EQ(got.data(), copied);
  EXPECT_NE(got.data(), memory);
}

TEST_F(FusedKernelsTest, ProductsHaveTheSameBits) {
  for (const DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16}) {
    const Tensor a = Values(type, {65, 40}), b = Values(type, {40, 130});
    const Tensor bias = Values(type, {130}), y = Values(type, {65, 130});
    ASSERT_OK_AND_ASSIGN(const Tensor product,
                         harness_.RunOne("MatMul", {a, b}));
    const Functions functions = {
        {"BiasAdd", 2, 0}, {"Elu", 3}, {"TanhGrad", 1, 4}};
    ASSERT_OK_AND_ASSIGN(const Tensor wanted,
                         OneByOne({bias, y, product}, functions));
    ASSERT_OK_AND_ASSIGN(const Tensor got,
                         harness_.RunOne("_FusedMatMul", {a, b, bias, y},
                                         AttrsOf({"product"}, functions)));
    EXPECT_TRUE(SameBits(got, wanted)) << DataTypeName(type);
  }
}

TEST_F(FusedKernelsTest, ConvolutionsHaveTheSameBits) {
  const Tensor image = Values(DT_FLOAT, {3, 9, 8, 4});
  const Tensor bias = Values(DT_FLOAT, {8});
  for (const char* op : {"Conv2D", "DepthwiseConv2dNative"}) {
    const Tensor filter = Values(DT_FLOAT, op == std::string("Conv2D")
                                               ? TensorShape({3, 3, 4, 8})
                                               : TensorShape({3, 3, 4, 2}));
    AttrMap attrs = {{"strides", Numbers{1, 1, 1, 1}},
                     {"padding", std::string("SAME")}};
    ASSERT_OK_AND_ASSIGN(const Tensor conv,
                         harness_.RunOne(op, {image, filter}, attrs));
    const Functions functions = {{"BiasAdd", 1, 0}, {"Relu", 2}};
    ASSERT_OK_AND_ASSIGN(const Tensor wanted,
                         OneByOne({bias, conv}, functions));
    attrs.merge(AttrsOf({"conv"}, functions));
    ASSERT_OK_AND_ASSIGN(const Tensor got,
                         harness_.RunOne(absl::StrCat("_Fused", op),
                                         {image, filter, bias}, attrs));
    EXPECT_TRUE(SameBits(got, wanted)) << op;
  }
}

struct Corner {
  Numbers begin, size;
};

// Tests slices of products of an m x k and a k x n matrix.
class SlicedMatMulTest : public FusedKernelsTest {
 protected:
  static AttrMap Transposed(int how) {
    return {{"transpose_a", (how & 1) != 0}, {"transpose_b", (how & 2) != 0}};
  }
  absl::StatusOr<Tensor> Sliced(const Tensor& a, const Tensor& b,
                                const Corner& corner, int transposed = 0) {
    AttrMap attrs = Transposed(transposed);
    attrs["product_name"] = std::string("product");
    return harness_.RunOne("_SlicedMatMul",
                           {a, b, Tensor::Vector<int64_t>(corner.begin),
                            Tensor::Vector<int64_t>(corner.size)},
                           attrs);
  }
  void ExpectSameBits(int64_t m, int64_t k, int64_t n, const Corner& corner) {
    for (int transposed = 0; transposed < 4; ++transposed) {
      const bool a_too = (transposed & 1) != 0, b_too = (transposed & 2) != 0;
      const Tensor a =
          Values(DT_FLOAT, a_too ? TensorShape({k, m}) : TensorShape({m, k}));
      const Tensor b =
          Values(DT_FLOAT, b_too ? TensorShape({n, k}) : TensorShape({k, n}));
      ASSERT_OK_AND_ASSIGN(
          const Tensor product,
          harness_.RunOne("MatMul", {a, b}, Transposed(transposed)));
      ASSERT_OK_AND_ASSIGN(
          const Tensor wanted,
          harness_.RunOne("Slice",
                          {product, Tensor::Vector<int64_t>(corner.begin),
                           Tensor::Vector<int64_t>(corner.size)}));
      ASSERT_OK_AND_ASSIGN(const Tensor got, Sliced(a, b, corner, transposed));
      EXPECT_TRUE(SameBits(got, wanted))
          << m << "x" << k << "x" << n << " from "
          << absl::StrJoin(corner.begin, ",") << " so many "
          << absl::StrJoin(corner.size, ",") << " " << transposed;
    }
  }
};

TEST_F(SlicedMatMulTest, HasTheSameBits) {
  const Corner corners[] = {{{0, 0}, {-1, -1}}, {{0, 1}, {-1, 2}},
                            {{1, 0}, {1, -1}},  {{2, 1}, {1, 1}},
                            {{0, 2}, {-1, 1}},  {{1, 2}, {2, 1}},
                            {{3, 3}, {0, 0}},   {{0, 3}, {-1, 0}}};
  for (const Corner& corner : corners) {
    // Covers small products, products summed at once, products in panels, and
    // products in parts.
    for (const int64_t k : {0, 1, 5, 17, 100, 257, 600}) {
      ExpectSameBits(3, k, 3, corner);
      ExpectSameBits(128, k, 67, corner);
      ExpectSameBits(31, k, 300, corner);
    }
  }
  for (const Corner& corner :
       {Corner{{0, 59}, {-1, 8}}, Corner{{100, 16}, {28, 51}}}) {
    ExpectSameBits(128, 100, 67, corner);
  }
  // Covers vectors, and products for more than one thread.
  ExpectSameBits(1, 90, 67, {{0, 59}, {1, 8}});
  ExpectSameBits(67, 90, 1, {{59, 0}, {8, 1}});
  ExpectSameBits(700, 256, 256, {{3, 5}, {690, 250}});
}

// Gradients of concatenations produce int32.
TEST_F(SlicedMatMulTest, BeginAndSizeMayBeInt32) {
  const Tensor a = Values(DT_FLOAT, {20, 30}), b = Values(DT_FLOAT, {30, 40});
  ASSERT_OK_AND_ASSIGN(const Tensor wanted, Sliced(a, b, {{0, 30}, {20, 8}}));
  ASSERT_OK_AND_ASSIGN(
      const Tensor got,
      harness_.RunOne("_SlicedMatMul",
                      {a, b, Tensor::Vector<int32_t>({0, 30}),
                       Tensor::Vector<int32_t>({20, 8})},
                      {{"product_name", std::string("product")}}));
  EXPECT_TRUE(SameBits(got, wanted));
}

TEST_F(SlicedMatMulTest, ErrorsNameTheOriginalNode) {
  const Tensor a = Values(DT_FLOAT, {20, 30}), b = Values(DT_FLOAT, {30, 40});
  absl::Status status = Sliced(a, a, {{0, 0}, {1, 1}}).status();
  EXPECT_EQ(TakeFailedNode(status, "y", "_SlicedMatMul"), "product (MatMul)");
  EXPECT_EQ(status, harness_.RunOne("MatMul", {a, a}).status());
  const std::pair<Corner, std::string> slices[] = {
      {{{21, 0}, {-1, 1}}, "Expected begin[0] in [0, 20], but got 21"},
      {{{0, -1}, {1, 1}}, "Expected begin[1] in [0, 40], but got -1"},
      {{{0, 30}, {1, 11}}, "Expected size[1] in [0, 10], but got 11"},
      {{{0, 0}, {-2, 1}}, "Expected size[0] in [0, 20], but got -2"},
      {{{0}, {1}}, "Expected begin and size arguments to be 1-D tensors"}};
  for (const auto& [corner, text] : slices) {
    status = Sliced(a, b, corner).status();
    EXPECT_THAT(TakeFailedNode(status, "y", "_SlicedMatMul"),
                testing::EndsWith(" (Slice)"));
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument, text));
  }
}

// Errors are those of the separate nodes, with their names.
TEST_F(FusedKernelsTest, ErrorsNameTheFailedMember) {
  const Tensor a = Values(DT_FLOAT, {2, 3}), b = Values(DT_FLOAT, {3, 4});
  const AttrMap attrs = AttrsOf({"product"}, {{"BiasAdd", 1, 0}, {"Relu", 2}});
  absl::Status status =
      harness_.RunOne("_FusedMatMul", {a, b, Values(DT_FLOAT, {5})}, attrs)
          .status();
  EXPECT_EQ(TakeFailedNode(status, "y", "_FusedMatMul"), "node_1 (BiasAdd)");
  EXPECT_THAT(status, StatusIs(absl::StatusCode::kInvalidArgument,
                               "Must provide as many biases"));
  status = harness_.RunOne("_FusedMatMul", {a, a, Values(DT_FLOAT, {4})}, attrs)
               .status();
  EXPECT_EQ(TakeFailedNode(status, "y", "_FusedMatMul"), "product (MatMul)");
  EXPECT_EQ(status, harness_.RunOne("MatMul", {a, a}).status());
}

// Element-wise functions do not see the data format of the product.
TEST_F(FusedKernelsTest, ProductAttrsAreNotShared) {
  const Tensor image = Values(DT_FLOAT, {1, 4, 6, 8});
  const Tensor filter = Values(DT_FLOAT, {3, 3, 4, 5});
  const Tensor bias = Values(DT_FLOAT, {8});
  AttrMap attrs = {{"strides", Numbers{1, 1, 1, 1}},
                   {"data_format", std::string("NCHW")},
                   {"padding", std::string("SAME")}};
  const Functions functions = {{"BiasAdd", 1, 0}};
  ASSERT_OK_AND_ASSIGN(const Tensor conv,
                       harness_.RunOne("Conv2D", {image, filter}, attrs));
  ASSERT_OK_AND_ASSIGN(const Tensor wanted, OneByOne({bias, conv}, functions));
  attrs.merge(AttrsOf({"conv"}, functions));
  ASSERT_OK_AND_ASSIGN(
      const Tensor got,
      harness_.RunOne("_FusedConv2D", {image, filter, bias}, attrs));
  EXPECT_TRUE(SameBits(got, wanted));
}

// Covers all functions that the pass fuses (libs/passes/element_fusion.cc), for
// each type.
TEST_F(FusedKernelsTest, EachFunctionOfThePassCanBeFused) {
  for (const DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16}) {
    const Tensor x = Values(type, {37});
    for (const char* op :
         {"Abs",        "Ceil",     "Cos",     "Elu",    "Exp",
          "Floor",      "Inv",      "Log",     "Log1p",  "Neg",
          "Reciprocal", "Relu",     "Relu6",   "Rint",   "Round",
          "Rsqrt",      "Selu",     "Sigmoid", "Sign",   "Sin",
          "Softplus",   "Softsign", "Sqrt",    "Square", "Tanh"}) {
      ExpectSame({x}, {{op, 0}});
      EXPECT_OK(Fused({x}, {{op, 0}})) << op;
    }
    for (const char* op : {"Add",
                           "AddV2",
                           "Div",
                           "Maximum",
                           "Minimum",
                           "Mul",
                           "RealDiv",
                           "SquaredDifference",
                           "Sub",
                           "EluGrad",
                           "Relu6Grad",
                           "ReluGrad",
                           "SeluGrad",
                           "SoftplusGrad",
                           "SoftsignGrad",
                           "InvGrad",
                           "ReciprocalGrad",
                           "RsqrtGrad",
                           "SigmoidGrad",
                           "SqrtGrad",
                           "TanhGrad"}) {
      ExpectSame({x, x}, {{op, 0, 1}});
      EXPECT_OK(Fused({x, x}, {{op, 0, 1}})) << op;
    }
  }
}

// A row of one element is repeated like a scalar, also for BiasAdd.
TEST_F(FusedKernelsTest, RowsOfOneElement) {
  const Tensor x = Values(DT_FLOAT, {1500, 1});
  const Tensor row = Values(DT_FLOAT, {1});
  ExpectSame({x, row}, {{"BiasAdd", 0, 1}, {"Mul", 2, 1}, {"Sub", 1, 3}});
}

TEST_F(FusedKernelsTest, NonElementwiseFunctionsAreRejected) {
  const Tensor x = Values(DT_FLOAT, {2, 3});
  for (const Functions& functions :
       {Functions{{"Softmax", 0}}, Functions{{"NoSuchOp", 0}},
        Functions{{"Neg", 1}}, Functions{{"Neg", -7}}, Functions{{"Add", 0}},
        Functions{{"Neg", 0, 0}}, Functions{{"IsNan", 0}},
        Functions{{"_FusedElementwise", 0}}, Functions{}}) {
    EXPECT_THAT(Fused({x}, functions),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

}  // namespace
}  // namespace weft
