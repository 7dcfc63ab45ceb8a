// Compares copies by patterns with a slow reference, for every element size.
#include "libs/kernels/array/copy.h"

#include "absl/algorithm/container.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/isa/transpose_loops.h"

namespace weft {
namespace {

// Element i is different from its neighbors in every type.
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

// Returns the positions that the pattern names, in order.
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
      {{2, 0, 3}, {1, 1, 1}, 0},     // empty
  };
}

TYPED_TEST(ArrayCopyTest, ReadsTheElementsOfThePattern) {
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

TYPED_TEST(ArrayCopyTest, WritesOnlyTheElementsOfThePattern) {
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

// Patterns large enough that threads share the work.
std::vector<ElementPattern> LargePatterns() {
  return {
      {{300'001}, {-1}, 300'000},            // one run
      {{3, 100'001}, {100'001, 1}, 0},       // as above, with several rows
      {{601, 500}, {1, 601}, 0},             // transposed
      {{500, 601}, {1, 500}, 0},             // as above, with other edges
      {{5, 300, 207}, {62'100, 1, 300}, 0},  // transposed matrices
      {{7, 90, 400}, {400, 2800, 1}, 0},     // runs in another order
      {{2, 3, 5, 60, 100}, {15, 5, 1, 3000, 30}, 0},
      {{310, 1000}, {0, 1}, 17},  // repeated rows
      {{1000, 310}, {1, 0}, 17},  // repeated columns
      {{2, 300'000}, {0, 0}, 3},  // one element
  };
}

TYPED_TEST(ArrayCopyTest, ThreadsReadTheElementsOfThePattern) {
  const SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock);
  const Tensor in = this->Counting(320'000);
  for (const ElementPattern& pattern : LargePatterns()) {
    const std::vector<int64_t> places = Places(pattern);
    Tensor out(in.dtype(), TensorShape({static_cast<int64_t>(places.size())}));
    ASSERT_OK(CopyFromPattern(in, pattern, out, scheduler.get()));
    for (size_t i = 0; i < places.size(); ++i) {
      ASSERT_EQ(out.flat<TypeParam>()[i], Numbered<TypeParam>(places[i])) << i;
    }
  }
}

TYPED_TEST(ArrayCopyTest, ThreadsWriteWhereThePatternSays) {
  const SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock);
  for (const ElementPattern& pattern : LargePatterns()) {
    // Writing requires that each position occurs only once.
    if (absl::c_linear_search(pattern.strides, 0)) continue;
    const std::vector<int64_t> places = Places(pattern);
    const auto size = static_cast<int64_t>(places.size());
    const Tensor in = this->Counting(size);
    Tensor out(in.dtype(), TensorShape({320'000}));
    ASSERT_OK(CopyToPattern(in, pattern, out, scheduler.get()));
    for (int64_t i = 0; i < size; ++i) {
      ASSERT_EQ(out.flat<TypeParam>()[places[i]], Numbered<TypeParam>(i)) << i;
    }
  }
}

TEST(TransposeWordsTest, EachInstructionSetTransposesAnySize) {
  for (const InstructionSet set : SupportedInstructionSets()) {
    const TransposeWords transpose = TransposeWordsFor(set);
    for (const int64_t rows : {1, 3, 7, 8, 15, 16, 17, 33}) {
      for (const int64_t columns : {1, 2, 7, 8, 9, 31, 64}) {
        const int64_t stride = rows + 2;
        std::vector<uint32_t> in(stride * columns), out(rows * columns + 1, 7);
        for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<uint32_t>(i);
        transpose(in.data(), stride, rows, columns, out.data());
        for (int64_t r = 0; r < rows; ++r) {
          for (int64_t c = 0; c < columns; ++c) {
            ASSERT_EQ(out[r * columns + c], in[r + c * stride])
                << rows << " " << columns << " at " << r << " " << c;
          }
        }
        EXPECT_EQ(out.back(), 7);
      }
    }
  }
}

TEST(CoordinatesTest, IdentifyAnElement) {
  EXPECT_EQ(CoordinatesOf(TensorShape({2, 3}), 4), "[1,1]");
  EXPECT_EQ(CoordinatesOf(TensorShape({5}), 4), "[4]");
  EXPECT_EQ(CoordinatesOf(TensorShape(), 0), "");
}

TEST(IntegersTest, RejectOtherTypes) {
  ASSERT_OK_AND_ASSIGN(Dims values,
                       IntegersOf(Tensor::Vector<int16_t>({-1, 2})));
  EXPECT_THAT(values, testing::ElementsAre(-1, 2));
  EXPECT_THAT(IntegersOf(Tensor::Scalar(1.0f)),
              StatusIs(absl::StatusCode::kInvalidArgument, "float"));
}

}  // namespace
}  // namespace weft
