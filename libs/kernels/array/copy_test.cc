// Patterns against a slow reference, for every size of element.
#include "libs/kernels/array/copy.h"

#include "libs/base/test_matchers.h"

namespace weft {
namespace {

// Element i is different from its neighbours in every type.
template <typename T>
T Numbered(int64_t i) {
  return static_cast<T>(i);
}
template <>
std::string Numbered<std::string>(int64_t i) {
  return "element " + std::to_string(i);
}
template <>
std::complex<double> Numbered<std::complex<double>>(int64_t i) {
  return {static_cast<double>(i), 0.5};
}
template <>
std::complex<float> Numbered<std::complex<float>>(int64_t i) {
  return {static_cast<float>(i), 0.5f};
}

template <typename T>
class ArrayCopyTest : public testing::Test {
 protected:
  static Tensor Counting(int64_t size) {
    Tensor tensor(DataTypeOf<T>::value, TensorShape({size}));
    for (int64_t i = 0; i < size; ++i) {
      tensor.mutable_flat<T>()[i] = Numbered<T>(i);
    }
    return tensor;
  }
};

using ElementTypes = testing::Types<int8_t, int16_t, float, std::complex<float>,
                                    std::complex<double>, std::string>;
TYPED_TEST_SUITE(ArrayCopyTest, ElementTypes);

// The places of a pattern, one after the other.
std::vector<int64_t> Places(const ElementPattern& pattern, size_t d = 0) {
  if (d == pattern.dims.size()) return {pattern.offset};
  std::vector<int64_t> places;
  for (int64_t i = 0; i < pattern.dims[d]; ++i) {
    ElementPattern rest = pattern;
    rest.offset += i * pattern.strides[d];
    for (int64_t place : Places(rest, d + 1)) places.push_back(place);
  }
  return places;
}

std::vector<ElementPattern> Patterns() {
  return {
      {{}, {}, 5},
      {{7}, {1}, 3},
      {{7}, {-1}, 9},
      {{3, 4}, {4, 1}, 0},           // one run
      {{3, 4}, {1, 3}, 0},           // transposed
      {{40, 50}, {1, 40}, 0},        // transposed in blocks
      {{2, 3, 4}, {1, 8, 2}, 0},     // permuted
      {{2, 3, 2}, {0, 1, 0}, 4},     // repeated
      {{3, 1, 2}, {-4, 100, 1}, 8},  // backward, with a size of 1
      {{2, 0, 3}, {1, 1, 1}, 0},     // nothing
  };
}

TYPED_TEST(ArrayCopyTest, ReadsWhatThePatternNames) {
  const Tensor in = this->Counting(2000);
  for (const ElementPattern& pattern : Patterns()) {
    const std::vector<int64_t> places = Places(pattern);
    Tensor out(in.dtype(), TensorShape({static_cast<int64_t>(places.size())}));
    ASSERT_OK(CopyFromPattern(in, pattern, out));
    for (size_t i = 0; i < places.size(); ++i) {
      ASSERT_EQ(out.flat<TypeParam>()[i], Numbered<TypeParam>(places[i])) << i;
    }
  }
}

TYPED_TEST(ArrayCopyTest, WritesWhatThePatternNamesAndNothingElse) {
  for (const ElementPattern& pattern : Patterns()) {
    const std::vector<int64_t> places = Places(pattern);
    const int64_t count = static_cast<int64_t>(places.size());
    const Tensor in = this->Counting(count);
    Tensor out(in.dtype(), TensorShape({2000}));
    ASSERT_OK(FillWithValue(this->Counting(1), out));
    std::vector<TypeParam> expected(2000, Numbered<TypeParam>(0));
    for (int64_t i = 0; i < count; ++i) {
      expected[places[i]] = Numbered<TypeParam>(i);
    }
    ASSERT_OK(CopyToPattern(in, pattern, out));
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_EQ(out.flat<TypeParam>()[i], expected[i]) << i;
    }
  }
}

TEST(CoordinatesTest, NameAnElement) {
  EXPECT_EQ(CoordinatesOf(TensorShape({2, 3}), 4), "[1,1]");
  EXPECT_EQ(CoordinatesOf(TensorShape({5}), 4), "[4]");
  EXPECT_EQ(CoordinatesOf(TensorShape(), 0), "");
}

TEST(IntegersTest, ComeFromIntegersOnly) {
  ASSERT_OK_AND_ASSIGN(Dims values,
                       IntegersOf(Tensor::Vector<int16_t>({-1, 2})));
  EXPECT_THAT(values, testing::ElementsAre(-1, 2));
  EXPECT_THAT(IntegersOf(Tensor::Scalar(1.0f)),
              StatusIs(absl::StatusCode::kInvalidArgument, "float"));
}

}  // namespace
}  // namespace weft
