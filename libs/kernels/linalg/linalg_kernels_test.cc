#include "libs/kernels/linalg/linalg_kernels.h"

#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <vector>

#include "libs/base/test_matchers.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/testing/kernel_test_harness.h"
#include "libs/tensor/tensor.h"

namespace weft {
namespace {

using Complex = std::complex<double>;

template <typename T>
T Conjugated(T x) {
  if constexpr (std::is_same_v<T, Complex>) {
    return std::conj(x);
  } else {
    return x;
  }
}

// Returns numbers without a regular pattern.
template <typename T>
Tensor Values(const TensorShape& shape) {
  Tensor tensor(DataTypeOf<T>::value, shape);
  for (int64_t i = 0; i < tensor.num_elements(); ++i) {
    const double x = std::sin(3.7 * static_cast<double>(i) + 1);
    if constexpr (std::is_same_v<T, Complex>) {
      tensor.mutable_flat<T>()[i] = {x, std::cos(2.3 * x)};
    } else {
      tensor.mutable_flat<T>()[i] = static_cast<T>(static_cast<Wide<T>>(x));
    }
  }
  return tensor;
}

Tensor Floats(const TensorShape& shape, std::vector<float> values) {
  return Tensor::FromValues<float>(shape, absl::Span<const float>(values));
}

// Returns the element at (row, column) of matrix `batch`.
template <typename T>
T At(const Tensor& tensor, int64_t batch, int64_t row, int64_t column) {
  const int64_t rows = tensor.dim(tensor.rank() - 2);
  const int64_t columns = tensor.dim(tensor.rank() - 1);
  return tensor.flat<T>()[(batch * rows + row) * columns + column];
}

class LinalgKernelsTest : public testing::Test {
 protected:
  LinalgKernelsTest() : harness_(RegisterLinalgKernels) {}

  template <typename T>
  void CheckQr(const TensorShape& shape, bool full);

  KernelTestHarness harness_;
};

template <typename T>
void LinalgKernelsTest::CheckQr(const TensorShape& shape, bool full) {
  SCOPED_TRACE(shape.ToString() + (full ? " full" : ""));
  const Tensor input = Values<T>(shape);
  ASSERT_OK_AND_ASSIGN(auto outputs,
                       harness_.Run("Qr", {input}, {{"full_matrices", full}}));
  const Tensor &q = outputs[0], &r = outputs[1];
  const int64_t rows = shape.dim(shape.rank() - 2);
  const int64_t columns = shape.dim(shape.rank() - 1);
  const int64_t inner = full ? rows : std::min(rows, columns);
  ASSERT_EQ(q.dim(q.rank() - 1), inner);
  ASSERT_EQ(r.dim(r.rank() - 2), inner);
  const auto q_row = [&, data = q.flat<T>().data()](int64_t b, int64_t i) {
    return data + (b * rows + i) * inner;
  };
  const auto r_row = [&, data = r.flat<T>().data()](int64_t b, int64_t i) {
    return data + (b * inner + i) * columns;
  };
  for (int64_t b = 0; b < shape.num_elements() / (rows * columns); ++b) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        T sum = 0;
        for (int64_t k = 0; k < inner; ++k) {
          sum += q_row(b, i)[k] * r_row(b, k)[j];
        }
        EXPECT_LT(std::abs(sum - At<T>(input, b, i, j)), 1e-12);
      }
    }
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t j = 0; j < inner; ++j) {
        T sum = 0;
        for (int64_t k = 0; k < rows; ++k) {
          sum += Conjugated(q_row(b, k)[i]) * q_row(b, k)[j];
        }
        EXPECT_LT(std::abs(sum - T(i == j ? 1 : 0)), 1e-12);
      }
      for (int64_t j = 0; j < std::min(i, columns); ++j) {
        EXPECT_EQ(At<T>(r, b, i, j), T(0));
      }
    }
  }
}

TEST_F(LinalgKernelsTest, FactorsAreOrthonormalAndTriangular) {
  for (const TensorShape& shape :
       {TensorShape({1, 1}), TensorShape({3, 3}), TensorShape({5, 2}),
        TensorShape({2, 5}), TensorShape({40, 60}), TensorShape({2, 3, 4, 3}),
        TensorShape({300, 2, 2}), TensorShape({33, 32}), TensorShape({32, 33}),
        TensorShape({2, 65, 40}), TensorShape({33, 165}),
        TensorShape({165, 3})}) {
    for (const bool full : {false, true}) {
      CheckQr<double>(shape, full);
      CheckQr<Complex>(shape, full);
    }
  }
}

// Values and signs are those of TensorFlow 2.21 on a CPU.
TEST_F(LinalgKernelsTest, SignsMatchTensorFlow) {
  ASSERT_OK_AND_ASSIGN(auto outputs,
                       harness_.Run("Qr", {Floats({2, 2}, {3, 1, 4, 2})}));
  const std::vector<float> q = {-0.6f, -0.8f, -0.8f, 0.6f};
  const std::vector<float> r = {-5, -2.2f, 0, 0.4f};
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(outputs[0].flat<float>()[i], q[i], 1e-6);
    EXPECT_NEAR(outputs[1].flat<float>()[i], r[i], 1e-6);
  }
}

TEST_F(LinalgKernelsTest, HalvesAreComputedAsFloats) {
  const Tensor input = Values<half>({4, 3});
  ASSERT_OK_AND_ASSIGN(auto outputs, harness_.Run("Qr", {input}));
  ASSERT_EQ(outputs[0].dtype(), DT_HALF);
  for (int i = 0; i < 4; ++i) {
    for (int j = 0; j < 3; ++j) {
      float sum = 0;
      for (int k = 0; k < 3; ++k) {
        sum += static_cast<float>(At<half>(outputs[0], 0, i, k)) *
               static_cast<float>(At<half>(outputs[1], 0, k, j));
      }
      EXPECT_NEAR(sum, static_cast<float>(At<half>(input, 0, i, j)), 3e-3);
    }
  }
}

TEST_F(LinalgKernelsTest, EmptyMatricesHaveFactors) {
  const auto shapes = [&](const TensorShape& shape, bool full) {
    auto outputs = harness_.Run("Qr", {Tensor(DT_FLOAT, shape)},
                                {{"full_matrices", full}});
    EXPECT_OK(outputs);
    return (*outputs)[0].shape().ToString() + (*outputs)[1].shape().ToString();
  };
  EXPECT_EQ(shapes({0, 3}, false), "[0,0][0,3]");
  EXPECT_EQ(shapes({3, 0}, false), "[3,0][0,0]");
  EXPECT_EQ(shapes({3, 0}, true), "[3,3][3,0]");
  EXPECT_EQ(shapes({0, 3, 2}, true), "[0,3,3][0,3,2]");
  EXPECT_EQ(shapes({2, 0, 3}, true), "[2,0,0][2,0,3]");
  ASSERT_OK_AND_ASSIGN(auto outputs,
                       harness_.Run("Qr", {Tensor(DT_FLOAT, {2, 2, 0})},
                                    {{"full_matrices", true}}));
  EXPECT_TRUE(
      SameBits(outputs[0], Floats({2, 2, 2}, {1, 0, 0, 1, 1, 0, 0, 1})));
}

TEST_F(LinalgKernelsTest, NaNPropagates) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  ASSERT_OK_AND_ASSIGN(auto outputs,
                       harness_.Run("Qr", {Floats({2, 2}, {nan, 1, 1, 1})}));
  EXPECT_TRUE(std::isnan(outputs[0].flat<float>()[0]));
}

TEST_F(LinalgKernelsTest, FactorsNeedAMatrix) {
  EXPECT_THAT(harness_.Run("Qr", {Floats({3}, {1, 2, 3})}),
              StatusIs(kInvalid, "Input tensor 0 must have rank >= 2, got 1"));
  // A square matrix with this many rows has no valid shape.
  EXPECT_THAT(harness_.Run("Qr", {Tensor(DT_FLOAT, {int64_t{1} << 40, 0})},
                           {{"full_matrices", true}}),
              StatusIs(kInvalid));
}

TEST_F(LinalgKernelsTest, SolvesWithEachTriangle) {
  // The other triangle is ignored.
  const Tensor matrix = Floats({2, 2}, {2, 3, 4, 5});
  const Tensor rhs = Floats({2, 1}, {2, 9});
  const auto solve = [&](bool lower, bool adjoint) {
    return harness_.RunOne("MatrixTriangularSolve", {matrix, rhs},
                           {{"lower", lower}, {"adjoint", adjoint}});
  };
  const auto is = [](const absl::StatusOr<Tensor>& x, float a, float b) {
    ASSERT_OK(x);
    EXPECT_NEAR(x->flat<float>()[0], a, 1e-6);
    EXPECT_NEAR(x->flat<float>()[1], b, 1e-6);
  };
  is(solve(true, false), 1, 1);
  is(solve(true, true), -2.6f, 1.8f);
  is(solve(false, false), -1.7f, 1.8f);
  is(solve(false, true), 1, 1.2f);
}

TEST_F(LinalgKernelsTest, TheAdjointIsConjugated) {
  Tensor matrix(DT_COMPLEX128, {1, 1}), rhs(DT_COMPLEX128, {1, 1});
  matrix.mutable_flat<Complex>()[0] = {0, 2};
  rhs.mutable_flat<Complex>()[0] = {4, 0};
  for (const bool adjoint : {false, true}) {
    ASSERT_OK_AND_ASSIGN(Tensor x,
                         harness_.RunOne("MatrixTriangularSolve", {matrix, rhs},
                                         {{"adjoint", adjoint}}));
    EXPECT_EQ(x.flat<Complex>()[0], Complex(0, adjoint ? 2 : -2));
  }
}

TEST_F(LinalgKernelsTest, BatchesOfSystemsBroadcast) {
  const Tensor matrices = Floats({3, 1, 1, 1}, {1, 2, 4});
  const Tensor rhs = Floats({2, 1, 2}, {4, 8, 12, 16});
  ASSERT_OK_AND_ASSIGN(
      Tensor x, harness_.RunOne("MatrixTriangularSolve", {matrices, rhs}));
  EXPECT_TRUE(SameBits(
      x, Floats({3, 2, 1, 2}, {4, 8, 12, 16, 2, 4, 6, 8, 1, 2, 3, 4})));
}

TEST_F(LinalgKernelsTest, ZeroOnTheDiagonalGivesInfinities) {
  ASSERT_OK_AND_ASSIGN(Tensor x, harness_.RunOne("MatrixTriangularSolve",
                                                 {Floats({2, 2}, {0, 1, 3, 4}),
                                                  Floats({2, 1}, {1, 1})}));
  EXPECT_TRUE(std::isinf(x.flat<float>()[0]));
}

TEST_F(LinalgKernelsTest, MismatchedSystemsAreRejected) {
  const auto solve = [&](const TensorShape& matrix, const TensorShape& rhs) {
    return harness_
        .Run("MatrixTriangularSolve",
             {Values<float>(matrix), Values<float>(rhs)})
        .status();
  };
  EXPECT_THAT(solve({3}, {2, 1}),
              StatusIs(kInvalid, "In[0] ndims must be >= 2: 1"));
  EXPECT_THAT(solve({2, 2}, {2}),
              StatusIs(kInvalid, "In[1] ndims must be >= 2: 1"));
  EXPECT_THAT(solve({2, 3}, {2, 1}),
              StatusIs(kInvalid,
                       "In[0] matrices in the last dimensions must be square "
                       "(3 =/= 2)"));
  EXPECT_THAT(solve({3, 3}, {2, 1}),
              StatusIs(kInvalid,
                       "In[0] mismatch In[1] shape: 3 vs. 2: [3,3] [2,1] 1 0"));
  EXPECT_THAT(solve({3, 2, 2}, {2, 2, 1}),
              StatusIs(kInvalid,
                       "In[0] and In[1] must have compatible batch "
                       "dimensions: [3,2,2] vs. [2,2,1]"));
  EXPECT_OK(solve({0, 2, 2}, {0, 2, 1}));
  EXPECT_OK(solve({2, 2}, {2, 0}));
  EXPECT_OK(solve({0, 0}, {0, 3}));
}

TEST_F(LinalgKernelsTest, Shapes) {
  const auto qr = [&](const PartialShape& shape, bool full) {
    return harness_.InferShapes("Qr", {{DT_FLOAT, shape}},
                                {{"full_matrices", full}});
  };
  ASSERT_OK_AND_ASSIGN(auto shapes, qr({-1, 3, 4}, true));
  EXPECT_EQ(shapes[0], PartialShape({-1, 3, 3}));
  EXPECT_EQ(shapes[1], PartialShape({-1, 3, 4}));
  ASSERT_OK_AND_ASSIGN(shapes, qr({-1, -1, 4}, false));
  EXPECT_EQ(shapes[0], PartialShape({-1, -1, -1}));
  EXPECT_EQ(shapes[1], PartialShape({-1, -1, 4}));
  ASSERT_OK_AND_ASSIGN(shapes, qr(PartialShape::UnknownRank(), false));
  EXPECT_FALSE(shapes[0].has_rank());
  EXPECT_THAT(qr({3}, false), StatusIs(kInvalid, "at least rank 2"));

  const auto solve = [&](const PartialShape& matrix, const PartialShape& rhs) {
    return harness_.InferShapes("MatrixTriangularSolve",
                                {{DT_FLOAT, matrix}, {DT_FLOAT, rhs}});
  };
  ASSERT_OK_AND_ASSIGN(shapes, solve({5, 1, 2, -1}, {3, 2, 7}));
  EXPECT_EQ(shapes[0], PartialShape({5, 3, 2, 7}));
  EXPECT_THAT(solve({2, 3}, {2, 1}),
              StatusIs(kInvalid, "Dimensions must be equal, but are 2 and 3"));
  EXPECT_THAT(solve({2, 2}, {3, 1}), StatusIs(kInvalid));
}

}  // namespace
}  // namespace weft
