#include "libs/ops/array/strided_slice.h"

#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kUnknown = PartialShape::kUnknown;

StridedSliceSpec Spec(Dims begin, Dims end, Dims strides,
                      StridedSliceMasks masks = {}) {
  StridedSliceSpec spec;
  spec.begin = std::move(begin);
  spec.end = std::move(end);
  spec.strides = std::move(strides);
  spec.masks = masks;
  return spec;
}

// Applies Python's rule for x[begin:end:stride] of a vector by testing every
// index.
std::vector<int64_t> Reference(int64_t size, int64_t begin, int64_t end,
                               int64_t stride) {
  if (begin < 0) begin += size;
  if (end < 0) end += size;
  std::vector<int64_t> result;
  if (stride > 0) {
    for (int64_t i = std::max<int64_t>(begin, 0); i < std::min(end, size);
         i += stride) {
      result.push_back(i);
    }
  } else {
    for (int64_t i = std::min(begin, size - 1); i > std::max<int64_t>(end, -1);
         i += stride) {
      result.push_back(i);
    }
  }
  return result;
}

TEST(StridedSliceTest, FollowsPythonForEveryRangeOfAVector) {
  for (int64_t size = 0; size < 4; ++size) {
    for (int64_t begin = -5; begin <= 5; ++begin) {
      for (int64_t end = -5; end <= 5; ++end) {
        for (int64_t stride : {-3, -2, -1, 1, 2, 3}) {
          ASSERT_OK_AND_ASSIGN(StridedSlicePlan plan,
                               PlanStridedSlice(Spec({begin}, {end}, {stride}),
                                                PartialShape({size})));
          std::vector<int64_t> places;
          for (int64_t i = 0; i < plan.final_shape.dim(0); ++i) {
            places.push_back(plan.begin[0] + i * plan.strides[0]);
          }
          EXPECT_EQ(places, Reference(size, begin, end, stride))
              << size << " " << begin << ":" << end << ":" << stride;
        }
      }
    }
  }
}

TEST(StridedSliceTest, MasksShapeTheResult) {
  // x[..., 1, newaxis, :2] of [4, 5, 6, 7]
  const StridedSliceSpec spec =
      Spec({0, 1, 0, 0}, {0, 2, 0, 2}, {1, 1, 1, 1},
           {.begin = 8, .ellipsis = 1, .new_axis = 4, .shrink_axis = 2});
  ASSERT_OK_AND_ASSIGN(StridedSlicePlan plan,
                       PlanStridedSlice(spec, PartialShape({4, 5, 6, 7})));
  EXPECT_THAT(plan.final_shape.dims(), ElementsAre(4, 5, 1, 2));
  EXPECT_THAT(plan.processing_shape.dims(), ElementsAre(4, 5, 1, 2));
  EXPECT_THAT(plan.begin, ElementsAre(0, 0, 1, 0));
  EXPECT_FALSE(plan.is_identity);
}

TEST(StridedSliceTest, FullSliceIsIdentity) {
  ASSERT_OK_AND_ASSIGN(
      StridedSlicePlan plan,
      PlanStridedSlice(Spec({0, 0}, {2, 9}, {1, 1}), PartialShape({2, 3, 4})));
  EXPECT_TRUE(plan.is_identity);
  EXPECT_THAT(plan.final_shape.dims(), ElementsAre(2, 3, 4));
}

TEST(StridedSliceTest, UnknownSizesStayUnknown) {
  ASSERT_OK_AND_ASSIGN(StridedSlicePlan plan,
                       PlanStridedSlice(Spec({0, 1}, {5, 2}, {1, 1}),
                                        PartialShape({kUnknown, 3})));
  EXPECT_THAT(plan.final_shape.dims(), ElementsAre(kUnknown, 1));
  StridedSliceSpec spec = Spec({}, {}, {1, 1}, {.shrink_axis = 1});
  spec.begin.reset();
  spec.end.reset();
  ASSERT_OK_AND_ASSIGN(plan, PlanStridedSlice(spec, PartialShape({2, 3, 4})));
  EXPECT_THAT(plan.final_shape.dims(), ElementsAre(kUnknown, 4));
  ASSERT_OK_AND_ASSIGN(plan, PlanStridedSlice(spec, PartialShape()));
  EXPECT_FALSE(plan.final_shape.has_rank());
}

TEST(StridedSliceTest, RejectsMismatchedArguments) {
  const auto code = absl::StatusCode::kInvalidArgument;
  const PartialShape vector({3});
  EXPECT_THAT(PlanStridedSlice(Spec({0}, {1}, {0}), vector),
              StatusIs(code, "strides[0] must be non-zero"));
  EXPECT_THAT(PlanStridedSlice(Spec({7}, {8}, {1}, {.shrink_axis = 1}), vector),
              StatusIs(code, "slice index 7 of dimension 0 out of bounds."));
  EXPECT_THAT(
      PlanStridedSlice(Spec({0}, {1}, {-1}, {.shrink_axis = 1}), vector),
      StatusIs(code, "only stride 1 allowed on non-range indexing."));
  EXPECT_THAT(PlanStridedSlice(Spec({0, 0}, {1, 1}, {1, 1}), vector),
              StatusIs(code,
                       "Index out of range using input dim 1; input has "
                       "only 1 dims"));
  EXPECT_THAT(
      PlanStridedSlice(Spec({0, 0}, {1, 1}, {1, 1}, {.ellipsis = 3}), vector),
      StatusIs(code, "Multiple ellipses"));
}

TEST(StridedSliceTest, ExtremeIndicesDoNotOverflow) {
  const int64_t low = INT64_MIN, high = INT64_MAX;
  for (int64_t stride : {low, int64_t{-1}, int64_t{1}, high}) {
    for (int64_t begin : {low, high}) {
      for (int64_t end : {low, high}) {
        EXPECT_OK(PlanStridedSlice(Spec({begin}, {end}, {stride}),
                                   PartialShape({5})));
      }
    }
  }
}

}  // namespace
}  // namespace weft
