// Compares matrix products with a slow reference: all instruction sets of this
// machine, a BLAS if available, the split over threads, and the ops that use
// products.
#include "libs/kernels/math/gemm.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

template <typename T>
std::vector<T> Numbers(int64_t count, int64_t seed) {
  std::vector<T> numbers(count);
  for (int64_t i = 0; i < count; ++i) {
    numbers[i] = static_cast<T>((i * 31 + seed * 17) % 23) / 8 - 1;
  }
  return numbers;
}

MatMulArgs Args(int64_t m, int64_t k, int64_t n, bool transpose_a,
                bool transpose_b) {
  return {m,
          n,
          k,
          transpose_a,
          transpose_b,
          transpose_a ? m : k,
          transpose_b ? k : n,
          n};
}

template <typename T>
std::vector<T> Reference(const MatMulArgs& args, const std::vector<T>& a,
                         const std::vector<T>& b) {
  std::vector<T> c(args.m * args.n);
  for (int64_t i = 0; i < args.m; ++i) {
    for (int64_t j = 0; j < args.n; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < args.k; ++k) {
        sum += static_cast<double>(args.transpose_a ? a[k * args.m + i]
                                                    : a[i * args.k + k]) *
               (args.transpose_b ? b[j * args.k + k] : b[k * args.n + j]);
      }
      c[i * args.n + j] = static_cast<T>(sum);
    }
  }
  return c;
}

std::vector<MatMulFunctions> AllFunctions() {
  std::vector<MatMulFunctions> all = {BestMatMul()};
  for (InstructionSet set : SupportedInstructionSets()) {
    all.push_back(MatMulFor(set));
  }
  absl::StatusOr<MatMulFunctions> blas = OpenBlas("libopenblas.so.0");
  if (blas.ok()) all.push_back(*blas);
  return all;
}

class GemmTest : public testing::Test {
 protected:
  template <typename T>
  void Check(const MatMulArgs& args, const MatMulFunctions& functions) {
    const std::vector<T> a = Numbers<T>(args.m * args.k, 1);
    const std::vector<T> b = Numbers<T>(args.k * args.n, 2);
    std::vector<T> c(args.m * args.n, T(-99));
    Gemm(harness_.scheduler(), args, a.data(), b.data(), c.data(), &functions);
    const std::vector<T> want = Reference(args, a, b);
    for (size_t i = 0; i < c.size(); ++i) {
      ASSERT_NEAR(c[i], want[i], 1e-3)
          << args.m << "x" << args.k << "x" << args.n << " " << args.transpose_a
          << args.transpose_b << " at " << i;
    }
  }

  KernelTestHarness harness_{RegisterMathKernels};
};

TEST_F(GemmTest, EveryImplementationAgreesWithTheReference) {
  const int64_t sizes[][3] = {
      {1, 1, 1},      {3, 5, 7},      {64, 128, 10},  {17, 33, 65},
      {1, 300, 4},    {70, 2, 90},    {130, 90, 120}, {1, 7, 1},
      {1, 333, 1},    {1, 5, 2051},   {1, 90, 75},    {75, 90, 1},
      {2051, 6, 1},   {40, 1, 1},     {1, 1, 40},     {5, 600, 33},
      {40, 300, 64},  {90, 70, 3},    {3, 513, 3},    {2, 511, 35},
      {30, 9, 2},     {300, 270, 37}, {8, 40, 300},   {16, 9, 19},
      {64, 300, 201}, {128, 7, 590},  {520, 30, 50}};
  for (const MatMulFunctions& functions : AllFunctions()) {
    for (const auto& [m, k, n] : sizes) {
      for (int transposed = 0; transposed < 4; ++transposed) {
        const MatMulArgs args =
            Args(m, k, n, transposed & 1, (transposed & 2) != 0);
        Check<float>(args, functions);
        Check<double>(args, functions);
      }
    }
  }
}

// Rows 3 to m - 1 and columns 5 to n - 1.
TEST_F(GemmTest, PartOfAProductHasTheSameBits) {
  const int64_t sizes[][3] = {{128, 100, 67},
                              {9, 1, 15},
                              {30, 512, 256},
                              {9, 600, 15},
                              {270, 513, 300}};
  for (InstructionSet set : SupportedInstructionSets()) {
    const MatMulFunctions functions = MatMulFor(set);
    for (const auto& [m, k, n] : sizes) {
      for (int transposed = 0; transposed < 4; ++transposed) {
        const bool a_too = (transposed & 1) != 0, b_too = (transposed & 2) != 0;
        const MatMulArgs whole = Args(m, k, n, a_too, b_too);
        const bool is_by_element = functions.is_by_element(whole);
        ASSERT_EQ(is_by_element, k <= 512 || set == InstructionSet::kV4) << m;
        if (!is_by_element) continue;
        // Products and sums of these numbers are rounded.
        std::vector<float> a = Numbers<float>(m * k, 1);
        std::vector<float> b = Numbers<float>(k * n, 2);
        for (float& x : a) x = std::sin(x);
        for (float& x : b) x = std::cos(x);
        std::vector<float> all(m * n), some((m - 3) * (n - 5));
        functions.float_product(whole, a.data(), b.data(), all.data());
        MatMulArgs part = PartOfProduct(whole);
        part.m = m - 3;
        part.n = part.c_stride = n - 5;
        functions.float_product(part, a.data() + 3 * (a_too ? 1 : k),
                                b.data() + 5 * (b_too ? k : 1), some.data());
        for (int64_t i = 0; i < part.m; ++i) {
          for (int64_t j = 0; j < part.n; ++j) {
            ASSERT_EQ(some[i * part.n + j], all[(i + 3) * n + j + 5]);
          }
        }
      }
    }
    EXPECT_FALSE(functions.is_by_element(Args(1, 60, 30, false, false)));
  }
}

// A part of any width has the same bits as in the whole product, and nothing
// outside the part is written.
TEST_F(GemmTest, PartOfAnyWidthHasTheSameBits) {
  constexpr int64_t kMost = 115, kBeside = 3;
  for (InstructionSet set : SupportedInstructionSets()) {
    const MatMulFunctions functions = MatMulFor(set);
    for (const int64_t k : {1, 40, 300, 700}) {
      if (k > 512 && set != InstructionSet::kV4) continue;
      for (const int64_t m : {7, 27}) {
        for (const bool transposed : {false, true}) {
          const MatMulArgs whole = Args(m, k, kMost, false, transposed);
          ASSERT_TRUE(functions.is_by_element(whole));
          std::vector<float> a = Numbers<float>(m * k, 1);
          std::vector<float> b = Numbers<float>(k * kMost, 2);
          for (float& x : a) x = std::sin(x);
          for (float& x : b) x = std::cos(x);
          std::vector<float> all(m * kMost);
          functions.float_product(whole, a.data(), b.data(), all.data());
          for (int64_t n = 1; n <= kMost; ++n) {
            MatMulArgs part = PartOfProduct(whole);
            part.n = n;
            part.c_stride = n + kBeside;
            std::vector<float> some(m * part.c_stride, -99);
            // The last columns: no memory follows them.
            const int64_t first = kMost - n;
            functions.float_product(part, a.data(),
                                    b.data() + first * (transposed ? k : 1),
                                    some.data());
            for (int64_t i = 0; i < m * part.c_stride; ++i) {
              const int64_t row = i / part.c_stride, column = i % part.c_stride;
              const float wanted =
                  column < n ? all[row * kMost + first + column] : -99;
              ASSERT_EQ(some[i], wanted) << m << "x" << k << "x" << n << " at "
                                         << row << "," << column;
            }
          }
        }
      }
    }
  }
}

// A naive running sum of a million such numbers is off by thousandths.
TEST_F(GemmTest, LongSumsStayAccurate) {
  constexpr int64_t kMany = 1 << 20, kColumns = 3;
  const std::vector<float> a(2 * kMany, 0.1f), b(kMany * kColumns, 0.7f);
  const double wanted = double{kMany} * double{0.1f} * double{0.7f};
  for (InstructionSet set : SupportedInstructionSets()) {
    const MatMulFunctions functions = MatMulFor(set);
    for (const bool transposed : {false, true}) {
      float c[2 * kColumns];
      functions.float_product(Args(2, kMany, kColumns, false, transposed),
                              a.data(), b.data(), c);
      for (const float x : c) EXPECT_NEAR(x, wanted, 1e-4 * wanted);
    }
  }
}

// Each operand and the result may be rows or columns of a larger matrix.
TEST_F(GemmTest, RowsMayHaveAnyStride) {
  constexpr int64_t kStride = 50;
  const std::vector<float> a = Numbers<float>(kStride * kStride, 1);
  const std::vector<float> b = Numbers<float>(kStride * kStride, 2);
  for (const MatMulFunctions& functions : AllFunctions()) {
    for (int kind = 0; kind < 16; ++kind) {
      const bool transpose_a = (kind & 1) != 0, transpose_b = (kind & 2) != 0;
      const MatMulArgs args = {.m = kind / 4 == 0   ? 1
                                    : kind / 4 == 3 ? 31
                                                    : 21,
                               .n = kind / 4 == 1 ? 1 : 21,
                               .k = 43,
                               .transpose_a = transpose_a,
                               .transpose_b = transpose_b,
                               .a_stride = kStride,
                               .b_stride = kStride,
                               .c_stride = kStride};
      std::vector<float> c(kStride * kStride, -99);
      Gemm(harness_.scheduler(), args, a.data(), b.data(), c.data(),
           &functions);
      for (int64_t i = 0; i < kStride * kStride; ++i) {
        const int64_t row = i / kStride, column = i % kStride;
        double want = row < args.m && column < args.n ? 0 : -99;
        for (int64_t k = 0; want != -99 && k < args.k; ++k) {
          want += a[transpose_a ? k * kStride + row : row * kStride + k] *
                  b[transpose_b ? column * kStride + k : k * kStride + column];
        }
        ASSERT_NEAR(c[i], want, 1e-3) << kind << " at " << i;
      }
    }
  }
}

TEST_F(GemmTest, EmptyInnerDimensionGivesZeros) {
  std::vector<float> c(6, -1.0f);
  Gemm(harness_.scheduler(), Args(2, 0, 3, false, false),
       static_cast<const float*>(nullptr), static_cast<const float*>(nullptr),
       c.data());
  EXPECT_EQ(c, std::vector<float>(6, 0.0f));
}

TEST_F(GemmTest, MissingBlasIsNotFound) {
  // The first BLAS opened is used for the whole process. In a process of its
  // own, this test would see NOT_FOUND here.
  const absl::StatusOr<MatMulFunctions> blas = OpenBlas("libopenblas.so.0");
  EXPECT_TRUE(blas.ok() || absl::IsNotFound(blas.status()));
}

TEST_F(GemmTest, MatMulOfEveryType) {
  for (DataType type :
       {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT32, DT_INT64, DT_UINT8,
        DT_UINT16, DT_UINT32, DT_UINT64, DT_COMPLEX64, DT_COMPLEX128}) {
    const auto cast = [&](Tensor x, DataType to) {
      return *harness_.RunOne("Cast", {x}, {{"DstT", to}});
    };
    const Tensor a =
        cast(Tensor::FromValues<float>(TensorShape({3, 2}), {1, 2, 3, 4, 5, 6}),
             type);
    const Tensor b =
        cast(Tensor::FromValues<float>(TensorShape({2, 3}), {1, 0, 2, 0, 1, 1}),
             type);
    ASSERT_OK_AND_ASSIGN(Tensor c, harness_.RunOne("MatMul", {a, b},
                                                   {{"transpose_a", true},
                                                    {"transpose_b", true}}));
    const Tensor values = cast(c, DT_FLOAT);
    EXPECT_THAT(values.flat<float>(), ElementsAre(11, 8, 14, 10))
        << DataTypeName(type);
  }
}

// Returns multiples of 1/8 between -1 and 2. Their products and sums are exact
// as floats, so a result is the true sum rounded once, in any order.
template <typename T>
Tensor NarrowMatrix(int64_t rows, int64_t columns, int64_t seed) {
  Tensor matrix(DataTypeOf<T>::value, {rows, columns});
  const auto numbers = Numbers<float>(rows * columns, seed);
  std::transform(numbers.begin(), numbers.end(),
                 matrix.mutable_flat<T>().begin(),
                 [](float x) { return T(x); });
  return matrix;
}

template <typename T>
class NarrowProductTest : public GemmTest {};

using NarrowNumbers = testing::Types<half, bfloat16>;
TYPED_TEST_SUITE(NarrowProductTest, NarrowNumbers);

TYPED_TEST(NarrowProductTest, IsTheSumRoundedOnce) {
  struct Sizes {
    int64_t m, k, n;
  };
  for (const auto& [m, k, n] : std::vector<Sizes>{{1, 129, 300},
                                                  {300, 129, 1},
                                                  {129, 33, 7},
                                                  {17, 130, 257},
                                                  {256, 127, 255},
                                                  {8, 1, 64},
                                                  {700, 20, 600},
                                                  {33, 5001, 19},
                                                  {1030, 64, 3},
                                                  {3, 70, 2050}}) {
    for (int kind = 0; kind < 4; ++kind) {
      const bool transpose_a = kind & 1, transpose_b = kind & 2;
      const MatMulArgs args = Args(m, k, n, transpose_a, transpose_b);
      const auto want =
          Reference(args, Numbers<float>(m * k, 1), Numbers<float>(k * n, 2));
      const Tensor a =
          NarrowMatrix<TypeParam>(transpose_a ? k : m, transpose_a ? m : k, 1);
      const Tensor b =
          NarrowMatrix<TypeParam>(transpose_b ? n : k, transpose_b ? k : n, 2);
      ASSERT_OK_AND_ASSIGN(const Tensor c, this->harness_.RunOne(
                                               "MatMul", {a, b},
                                               {{"transpose_a", transpose_a},
                                                {"transpose_b", transpose_b}}));
      ASSERT_EQ(c.shape(), TensorShape({m, n}));
      for (int64_t i = 0; i < m * n; ++i) {
        ASSERT_EQ(c.flat<TypeParam>()[i].bits, TypeParam(want[i]).bits)
            << m << " " << k << " " << n << " " << kind << " at " << i;
      }
    }
  }
}

TYPED_TEST(NarrowProductTest, InfinityAndNaNStayInTheirRow) {
  Tensor a = NarrowMatrix<TypeParam>(40, 50, 1);
  const Tensor b = NarrowMatrix<TypeParam>(50, 30, 2);
  ASSERT_OK_AND_ASSIGN(const Tensor without,
                       this->harness_.RunOne("MatMul", {a, b}));
  a.mutable_flat<TypeParam>()[3 * 50 + 49] =
      TypeParam(std::numeric_limits<float>::infinity());
  a.mutable_flat<TypeParam>()[39 * 50] =
      TypeParam(std::numeric_limits<float>::quiet_NaN());
  ASSERT_OK_AND_ASSIGN(const Tensor with,
                       this->harness_.RunOne("MatMul", {a, b}));
  for (int64_t i = 0; i < 40 * 30; ++i) {
    const float x = with.flat<TypeParam>()[i];
    if (i / 30 == 39) {
      EXPECT_TRUE(std::isnan(x)) << i;
    } else if (i / 30 == 3) {
      EXPECT_FALSE(std::isfinite(x)) << i;
    } else {
      EXPECT_EQ(x, static_cast<float>(without.flat<TypeParam>()[i])) << i;
    }
  }
}

// Batches and Einsum use the same code.
TYPED_TEST(NarrowProductTest, BatchesAndEinsums) {
  const Tensor a =
      *NarrowMatrix<TypeParam>(6 * 20, 34, 1).Reshaped({6, 20, 34});
  const Tensor b =
      *NarrowMatrix<TypeParam>(6 * 34, 18, 2).Reshaped({6, 34, 18});
  ASSERT_OK_AND_ASSIGN(const Tensor batches,
                       this->harness_.RunOne("BatchMatMulV2", {a, b}));
  ASSERT_OK_AND_ASSIGN(
      const Tensor sums,
      this->harness_.RunOne("Einsum", {a, b},
                            {{"equation", std::string("bij,bjk->bki")}}));
  for (int64_t batch = 0; batch < 6; ++batch) {
    for (int64_t i = 0; i < 20; ++i) {
      for (int64_t k = 0; k < 18; ++k) {
        float sum = 0;
        for (int64_t j = 0; j < 34; ++j) {
          sum += static_cast<float>(
                     a.flat<TypeParam>()[(batch * 20 + i) * 34 + j]) *
                 static_cast<float>(
                     b.flat<TypeParam>()[(batch * 34 + j) * 18 + k]);
        }
        const TypeParam want(sum);
        ASSERT_EQ(batches.flat<TypeParam>()[(batch * 20 + i) * 18 + k].bits,
                  want.bits);
        ASSERT_EQ(sums.flat<TypeParam>()[(batch * 18 + k) * 20 + i].bits,
                  want.bits);
      }
    }
  }
}

// Invalid arguments are still reported.
TEST_F(GemmTest, UnusedProductsAreNotComputed) {
  const Tensor matrix(DT_FLOAT, {2, 3}), other(DT_FLOAT, {3, 2});
  for (const char* op : {"MatMul", "BatchMatMulV2"}) {
    ASSERT_OK_AND_ASSIGN(const auto kernel,
                         harness_.Make(op, {DT_FLOAT, DT_FLOAT}));
    kernel->RequireNothing();
    ASSERT_OK_AND_ASSIGN(const auto outputs, kernel->Run({matrix, other}));
    EXPECT_FALSE(outputs[0].IsInitialized());
    EXPECT_THAT(kernel->Run({matrix, matrix}), StatusIs(kInvalid));
  }
}

TEST_F(GemmTest, MatMulRefusesSizesThatDoNotMatch) {
  const Tensor a(DT_FLOAT, TensorShape({2, 3}));
  const Tensor b(DT_FLOAT, TensorShape({2, 2}));
  EXPECT_THAT(harness_.Run("MatMul", {a, b}),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Matrix size-incompatible: In[0]: [2,3], In[1]: [2,2]"));
  EXPECT_THAT(harness_.Run("MatMul", {Tensor(DT_FLOAT, TensorShape({3})), b}),
              StatusIs(absl::StatusCode::kInvalidArgument, "ndims"));
}

TEST_F(GemmTest, BatchesBroadcast) {
  Tensor x(DT_FLOAT, TensorShape({2, 1, 2, 3}));
  Tensor y(DT_FLOAT, TensorShape({4, 3, 2}));
  for (int64_t i = 0; i < x.num_elements(); ++i) {
    x.mutable_flat<float>()[i] = static_cast<float>(i);
  }
  for (int64_t i = 0; i < y.num_elements(); ++i) {
    y.mutable_flat<float>()[i] = static_cast<float>(i % 5);
  }
  ASSERT_OK_AND_ASSIGN(Tensor z, harness_.RunOne("BatchMatMulV2", {x, y}));
  ASSERT_EQ(z.shape(), TensorShape({2, 4, 2, 2}));
  for (int64_t i = 0; i < 2; ++i) {
    for (int64_t j = 0; j < 4; ++j) {
      const std::vector<float> a(x.flat<float>().data() + i * 6,
                                 x.flat<float>().data() + i * 6 + 6);
      const std::vector<float> b(y.flat<float>().data() + j * 6,
                                 y.flat<float>().data() + j * 6 + 6);
      const auto want = Reference(Args(2, 3, 2, false, false), a, b);
      const float* got = z.flat<float>().data() + (i * 4 + j) * 4;
      EXPECT_EQ(std::vector<float>(got, got + 4), want) << i << " " << j;
    }
  }
  EXPECT_THAT(harness_.Run("BatchMatMul", {x, y}),
              StatusIs(absl::StatusCode::kInvalidArgument, "ndims"));
}

// A loop over all rows would practically never end.
TEST_F(GemmTest, ManyEmptyRowsTakeNoTime) {
  constexpr int64_t kMany = int64_t{1} << 40;
  for (DataType dtype : {DT_FLOAT, DT_INT32}) {
    ASSERT_OK_AND_ASSIGN(const Tensor z,
                         harness_.RunOne("MatMul", {Tensor(dtype, {kMany, 0}),
                                                    Tensor(dtype, {0, 0})}));
    EXPECT_EQ(z.shape(), TensorShape({kMany, 0}));
    ASSERT_OK_AND_ASSIGN(
        const Tensor batches,
        harness_.RunOne("BatchMatMulV2", {Tensor(dtype, {kMany, 0, 3}),
                                          Tensor(dtype, {1, 3, 2})}));
    EXPECT_EQ(batches.shape(), TensorShape({kMany, 0, 2}));
  }
}

// Compares Einsum with sums over all values of all labels, one by one. Labels
// are letters: 'a' has size 2, 'b' has size 3, and so on.
class EinsumTest : public testing::Test {
 protected:
  static int64_t SizeOf(char label) { return label - 'a' + 2; }

  static int64_t PlaceOf(absl::string_view labels,
                         const std::map<char, int64_t>& values) {
    int64_t place = 0;
    for (const char label : labels) {
      place = place * SizeOf(label) + values.at(label);
    }
    return place;
  }

  static Tensor Operand(absl::string_view labels, int64_t seed) {
    Dims dims;
    for (const char label : labels) dims.push_back(SizeOf(label));
    Tensor x(DT_FLOAT, TensorShape(dims));
    const auto numbers = Numbers<float>(x.num_elements(), seed);
    std::copy(numbers.begin(), numbers.end(), x.mutable_flat<float>().begin());
    return x;
  }

  static std::vector<float> Sums(const std::vector<std::string>& inputs,
                                 absl::string_view output,
                                 const std::vector<Tensor>& operands) {
    std::vector<float> sums(Operand(output, 0).num_elements());
    std::map<char, int64_t> values;
    for (const std::string& input : inputs) {
      for (const char label : input) values[label] = 0;
    }
    while (true) {
      float product = 1;
      for (size_t i = 0; i < inputs.size(); ++i) {
        product *= operands[i].flat<float>()[PlaceOf(inputs[i], values)];
      }
      sums[PlaceOf(output, values)] += product;
      auto label = values.begin();
      while (label != values.end() && ++label->second == SizeOf(label->first)) {
        (label++)->second = 0;
      }
      if (label == values.end()) return sums;
    }
  }

  void Check(const std::vector<std::string>& inputs,
             const std::string& output) {
    const std::string equation =
        absl::StrCat(absl::StrJoin(inputs, ","), "->", output);
    std::vector<Tensor> operands;
    for (const std::string& input : inputs) {
      operands.push_back(Operand(input, 1 + operands.size()));
    }
    ASSERT_OK_AND_ASSIGN(
        Tensor got,
        harness_.RunOne("Einsum", {operands.begin(), operands.end()},
                        {{"equation", equation}}));
    EXPECT_EQ(got.shape(), Operand(output, 0).shape()) << equation;
    const std::vector<float> want = Sums(inputs, output, operands);
    for (size_t i = 0; i < want.size(); ++i) {
      ASSERT_NEAR(got.flat<float>()[i], want[i], 1e-3) << equation;
    }
  }

  absl::Status Refusal(const std::string& equation,
                       const std::vector<Tensor>& operands) {
    return harness_
        .Run("Einsum", {operands.begin(), operands.end()},
             {{"equation", equation}})
        .status();
  }

  KernelTestHarness harness_{RegisterMathKernels};
};

TEST_F(EinsumTest, SumsProducts) {
  Check({"ab", "bc"}, "ac");
  Check({"ab", "bc"}, "ca");
  Check({"ba", "cb"}, "ac");
  Check({"abde", "acde"}, "adbc");  // attention: products in place
  Check({"adbc", "acde"}, "abde");
  Check({"bad", "dac"}, "bac");
  Check({"ae", "dae"}, "d");
  Check({"", "ab"}, "ba");
}

// Random equations with up to four labels in three places: diagonals, plain
// sums, outer products, all orders.
TEST_F(EinsumTest, AgreesOnRandomEquations) {
  uint32_t state = 7;
  const auto draw = [&](uint32_t below) {
    state = state * 1664525 + 1013904223;
    return (state >> 16) % below;
  };
  const auto letters = [&](absl::string_view from) {
    std::string drawn;
    const auto length = from.empty() ? 0 : draw(4);
    for (uint32_t i = 0; i < length; ++i) {
      drawn += from[draw(static_cast<uint32_t>(from.size()))];
    }
    return drawn;
  };
  for (int i = 0; i < 400; ++i) {
    std::vector<std::string> inputs = {letters("abcd")};
    if (i % 4 != 0) inputs.push_back(letters("abcd"));
    Check(inputs, letters(absl::StrJoin(inputs, "")));
  }
}

TEST_F(EinsumTest, EllipsesBroadcast) {
  const auto shape = [&](const std::string& equation,
                         std::initializer_list<TensorShape> shapes) {
    std::vector<Tensor> operands;
    for (const TensorShape& one : shapes) {
      operands.emplace_back(DT_FLOAT, one);
      std::fill_n(operands.back().mutable_flat<float>().begin(),
                  one.num_elements(), 1.0f);
    }
    absl::StatusOr<Tensor> result = harness_.RunOne(
        "Einsum", {operands.begin(), operands.end()}, {{"equation", equation}});
    if (!result.ok()) return std::string(result.status().message());
    const auto values = result->flat<float>();
    return absl::StrCat(result->shape().ToString(), " of ",
                        values.empty() ? 0 : values.back());
  };
  EXPECT_EQ(shape("...ab,bc->...ac", {{5, 2, 3}, {3, 4}}), "[5,2,4] of 3");
  EXPECT_EQ(shape("...a,...a->...", {{2, 1, 3}, {4, 3}}), "[2,4] of 3");
  EXPECT_EQ(shape("a...,...b->ab...", {{2, 3}, {1, 5}}), "[2,5,3] of 1");
  EXPECT_EQ(shape("...ab->ab", {{2, 3}}), "[2,3] of 1");
  EXPECT_EQ(shape("ab->...ba", {{2, 3}}), "[3,2] of 1");
  EXPECT_EQ(shape("...ab,bc->...ac", {{0, 2, 3}, {3, 4}}), "[0,2,4] of 0");
  EXPECT_EQ(shape("...ab,bc->...ac", {{5, 2, 0}, {0, 4}}), "[5,2,4] of 0");
  EXPECT_EQ(shape("ab->", {{2, 0}}), "[] of 0");
  EXPECT_EQ(shape("...a,...a->...", {{2, 3}, {4, 3}}),
            "Invalid broadcasting dimensions: 2 vs. 4 at axis 0 of the input "
            "shaped [4,3]");
  EXPECT_EQ(shape("...ab->ab", {{5, 2, 3}}),
            "Output contains 1 broadcasting dimension(s) but no ellipsis (...) "
            "was found in the output subscripts.");
}

TEST_F(EinsumTest, RejectsMismatchedArguments) {
  const Tensor x(DT_FLOAT, TensorShape({2, 3}));
  const auto is = [](const char* text) {
    return StatusIs(absl::StatusCode::kInvalidArgument, text);
  };
  EXPECT_THAT(Refusal("ab,bc->ac", {x, x}),
              is("Expected dimension 3 at axis 0 of the input shaped [2,3] "
                 "but got dimension 2"));
  EXPECT_THAT(Refusal("aa->a", {x}),
              is("Expected dimension 2 at axis 1 of the input shaped [2,3] "
                 "but got dimension 3"));
  EXPECT_THAT(Refusal("abc->a", {x}),
              is("Expected input 0 to have rank 3 but got: 2"));
  EXPECT_THAT(Refusal("a...bc->a", {x}),
              is("Expected input 0 to have rank at least 3 but got: 2"));
  EXPECT_THAT(Refusal("ab,ab->ab", {x}), is("Expected 2 inputs for equation"));
  EXPECT_THAT(Refusal("ab", {x}), is("Expecting exactly one '->'"));
  EXPECT_THAT(Refusal("ab,bc,cd->ad", {x, x, x}), is("but got: 3"));
  EXPECT_THAT(Refusal("ab->ac", {x}), is("has label 'c' which is not present"));
  EXPECT_THAT(Refusal(".ab->ab", {x}), is("found 1 periods"));
  EXPECT_THAT(Refusal("a.b..->ab", {x}), is("found 3 periods"));
  EXPECT_THAT(Refusal(absl::StrCat("ab->", std::string(300, 'a')), {x}),
              is("more than 254 dimensions"));
}

TEST_F(EinsumTest, EveryTypeIsSupported) {
  for (DataType type : {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_INT32,
                        DT_INT64, DT_COMPLEX64, DT_COMPLEX128}) {
    const auto cast = [&](Tensor x, DataType to) {
      return *harness_.RunOne("Cast", {x}, {{"DstT", to}});
    };
    const Tensor a = cast(
        Tensor::FromValues<float>(TensorShape({2, 2}), {1, 2, 3, 4}), type);
    ASSERT_OK_AND_ASSIGN(
        Tensor c, harness_.RunOne("Einsum", {a, a},
                                  {{"equation", std::string("ij,kj->i")}}));
    EXPECT_THAT(cast(c, DT_FLOAT).flat<float>(), ElementsAre(16, 36))
        << DataTypeName(type);
  }
}

}  // namespace
}  // namespace weft
