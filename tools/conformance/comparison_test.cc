#include "tools/conformance/comparison.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "gtest/gtest.h"

namespace weft::conformance {
namespace {

using Mode = Comparison::Mode;

bool Agree(const Tensor& got, const Tensor& want, Mode mode = Mode::kClose,
           Tolerance tolerance = {}) {
  Comparison how;
  how.mode = mode;
  how.tolerance = tolerance;
  return !Difference(got, want, how).has_value();
}

TEST(ComparisonTest, CloseIsWithinBothTolerances) {
  const Tolerance tolerance{.relative = 0.01, .absolute = 0.1};
  const auto agree = [&](double got, double want) {
    return Agree(Tensor::Scalar(got), Tensor::Scalar(want), Mode::kClose,
                 tolerance);
  };
  EXPECT_TRUE(agree(101.0, 100.0));
  EXPECT_TRUE(agree(101.09, 100.0));
  EXPECT_FALSE(agree(101.11, 100.0));
  EXPECT_FALSE(agree(98.8, 100.0));
  EXPECT_TRUE(agree(0.09, 0.0));
  EXPECT_FALSE(agree(0.11, 0.0));
}

TEST(ComparisonTest, NanAndInfinityAreCompared) {
  const float nan = std::nanf("");
  const float inf = std::numeric_limits<float>::infinity();
  const auto agree = [](float got, float want) {
    return Agree(Tensor::Scalar(got), Tensor::Scalar(want));
  };
  EXPECT_TRUE(agree(nan, nan));
  EXPECT_FALSE(agree(nan, 0.0f));
  EXPECT_FALSE(agree(0.0f, nan));
  EXPECT_TRUE(agree(inf, inf));
  EXPECT_FALSE(agree(inf, -inf));
  EXPECT_FALSE(agree(1.0f, inf));
  EXPECT_FALSE(agree(inf, 1.0f));
}

TEST(ComparisonTest, ComplexNumbersAreComparedByDistance) {
  using C = std::complex<float>;
  EXPECT_TRUE(Agree(Tensor::Scalar(C(1, 2)), Tensor::Scalar(C(1.000001f, 2))));
  EXPECT_FALSE(Agree(Tensor::Scalar(C(1, 2)), Tensor::Scalar(C(1, 2.1f))));
}

TEST(ComparisonTest, EveryNumberTypeIsCompared) {
  for (DataType dtype :
       {DT_FLOAT, DT_DOUBLE, DT_HALF, DT_BFLOAT16, DT_COMPLEX64, DT_COMPLEX128,
        DT_INT8, DT_INT16, DT_INT32, DT_INT64, DT_UINT8, DT_UINT16, DT_UINT32,
        DT_UINT64, DT_BOOL}) {
    const Tensor zeros(dtype, TensorShape({2}));
    Tensor other(dtype, TensorShape({2}));
    auto* bytes = static_cast<unsigned char*>(other.mutable_data());
    bytes[other.num_bytes() - 1] = 1;
    // Changes a byte so that the number is not denormal in any float type. A
    // bool must remain 0 or 1.
    if (dtype != DT_BOOL) bytes[other.num_bytes() - 2] = 0x40;
    for (Mode mode : {Mode::kClose, Mode::kExact, Mode::kMultiset}) {
      EXPECT_TRUE(Agree(zeros, zeros, mode)) << DataTypeName(dtype);
      EXPECT_FALSE(Agree(other, zeros, mode, {0, 0})) << DataTypeName(dtype);
    }
  }
}

TEST(ComparisonTest, IntegersAndStringsHaveNoTolerance) {
  EXPECT_FALSE(Agree(Tensor::Scalar<int32_t>(1000001),
                     Tensor::Scalar<int32_t>(1000000), Mode::kClose, {1, 1}));
  EXPECT_TRUE(Agree(Tensor::Scalar("a"), Tensor::Scalar("a")));
  EXPECT_FALSE(Agree(Tensor::Scalar("a"), Tensor::Scalar("b")));
}

TEST(ComparisonTest, TypesAndShapesAreCompared) {
  EXPECT_FALSE(Agree(Tensor::Scalar(1.0f), Tensor::Scalar(1.0)));
  EXPECT_FALSE(Agree(Tensor::Scalar(1.0f), Tensor::Vector<float>({1})));
  EXPECT_FALSE(Agree(Tensor(DT_FLOAT, {0, 2}), Tensor(DT_FLOAT, {2, 0})));
  EXPECT_TRUE(Agree(Tensor(DT_FLOAT, {0, 2}), Tensor(DT_FLOAT, {0, 2})));
}

TEST(ComparisonTest, ExactDistinguishesSignedZeros) {
  EXPECT_TRUE(Agree(Tensor::Scalar(0.0f), Tensor::Scalar(-0.0f)));
  EXPECT_FALSE(
      Agree(Tensor::Scalar(0.0f), Tensor::Scalar(-0.0f), Mode::kExact));
}

TEST(ComparisonTest, ExactAcceptsAnyNan) {
  for (const DataType dtype : {DT_HALF, DT_FLOAT, DT_DOUBLE}) {
    const int64_t size = DataTypeSize(dtype);
    Tensor one(dtype, TensorShape({2})), other(dtype, TensorShape({2}));
    std::memset(one.mutable_data(), 0xff, 2 * size);
    std::memset(other.mutable_data(), 0x7f, 2 * size);
    if (dtype != DT_HALF) {  // for other types, the bits 0x7f7f... are a number
      static_cast<char*>(other.mutable_data())[size - 2] = '\xff';
      static_cast<char*>(other.mutable_data())[2 * size - 2] = '\xff';
    }
    EXPECT_TRUE(Agree(one, other, Mode::kExact)) << DataTypeName(dtype);
    std::memset(other.mutable_data(), 0, size);
    EXPECT_FALSE(Agree(one, other, Mode::kExact)) << DataTypeName(dtype);
  }
}

TEST(ComparisonTest, MultisetComparesRows) {
  const auto rows = [](std::initializer_list<int32_t> values) {
    return Tensor::FromValues<int32_t>(TensorShape({2, 2}), values);
  };
  EXPECT_TRUE(Agree(rows({1, 2, 3, 4}), rows({3, 4, 1, 2}), Mode::kMultiset));
  EXPECT_FALSE(Agree(rows({1, 2, 3, 4}), rows({2, 1, 3, 4}), Mode::kMultiset));
  EXPECT_FALSE(Agree(rows({1, 2, 1, 2}), rows({1, 2, 3, 4}), Mode::kMultiset));
  const Tensor zeros = Tensor::Vector<std::string>({std::string("a\0\0", 3)});
  const Tensor record = Tensor::Vector<std::string>({"a"});
  EXPECT_TRUE(Agree(zeros, record, Mode::kClose));
  EXPECT_FALSE(Agree(record, zeros, Mode::kClose));
  EXPECT_FALSE(Agree(zeros, record, Mode::kExact));
  EXPECT_FALSE(Agree(Tensor::Vector<std::string>({std::string("a\0b", 3)}),
                     record, Mode::kClose));
  EXPECT_TRUE(Agree(Tensor::Vector<std::string>({"a", "bc"}),
                    Tensor::Vector<std::string>({"bc", "a"}), Mode::kMultiset));
  EXPECT_FALSE(
      Agree(Tensor::FromValues<std::string>(TensorShape({1, 2}), {"a", "bc"}),
            Tensor::FromValues<std::string>(TensorShape({1, 2}), {"ab", "c"}),
            Mode::kMultiset));
}

TEST(ComparisonTest, DifferenceNamesTheElement) {
  const auto difference = Difference(Tensor::Vector<float>({1, 2}),
                                     Tensor::Vector<float>({1, 3}), {});
  EXPECT_EQ(difference, "element 1 of 2 is 2, want 3");
}

TEST(ComparisonTest, MomentsAreCompared) {
  Comparison how;
  how.mode = Mode::kMoments;
  how.dtype = "float32";
  how.shape = std::vector<int64_t>{4};
  how.moments = {{"mean", {2.4, 2.6}},
                 {"std", {1.11, 1.12}},
                 {"min", {1, 1}},
                 {"max", {4, 4}}};
  const Tensor tensor = Tensor::Vector<float>({1, 2, 3, 4});
  EXPECT_EQ(MomentsDifference(tensor, how), std::nullopt);
  for (const auto& [name, interval] : how.moments) {
    Comparison other = how;
    other.moments[name] = {interval.high + 1, interval.high + 2};
    EXPECT_TRUE(MomentsDifference(tensor, other).has_value()) << name;
  }
  EXPECT_TRUE(MomentsDifference(Tensor::Vector<double>({1, 2, 3, 4}), how));
  EXPECT_TRUE(MomentsDifference(Tensor::Vector<float>({1, 2, 3}), how));
}

}  // namespace
}  // namespace weft::conformance
