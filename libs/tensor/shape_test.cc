#include "libs/tensor/shape.h"

#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

TEST(TensorShapeTest, CountsElements) {
  EXPECT_EQ(TensorShape().num_elements(), 1);
  EXPECT_EQ(TensorShape({2, 3, 4}).num_elements(), 24);
  EXPECT_EQ(TensorShape({2, 0, 4}).num_elements(), 0);
  TensorShape shape({2, 3});
  shape.AddDim(5);
  shape.InsertDim(0, 7);
  EXPECT_EQ(shape, TensorShape({7, 2, 3, 5}));
  EXPECT_EQ(shape.num_elements(), 210);
  shape.RemoveDim(1);
  shape.set_dim(0, 0);
  EXPECT_EQ(shape, TensorShape({0, 3, 5}));
  EXPECT_EQ(shape.num_elements(), 0);
  shape.set_dim(0, 2);
  EXPECT_EQ(shape.num_elements(), 30);
}

TEST(TensorShapeTest, ManyDimensionsAreStored) {
  TensorShape shape;
  for (int i = 0; i < kMaxRank; ++i) shape.AddDim(i % 2 == 0 ? 1 : 1);
  EXPECT_EQ(shape.rank(), kMaxRank);
  const TensorShape copy = shape;
  TensorShape assigned({3});
  assigned = copy;
  EXPECT_EQ(assigned, shape);
  const TensorShape moved = std::move(assigned);
  EXPECT_EQ(moved, shape);
}

TEST(TensorShapeTest, CreateRefusesImpossibleShapes) {
  EXPECT_OK(TensorShape::Create({}));
  EXPECT_OK(TensorShape::Create({kMax}));
  EXPECT_OK(TensorShape::Create({0, kMax}));
  EXPECT_THAT(TensorShape::Create({2, -1}), StatusIs(kInvalid, "-1"));
  EXPECT_THAT(TensorShape::Create({std::numeric_limits<int64_t>::min()}),
              StatusIs(kInvalid));
  EXPECT_THAT(TensorShape::Create({kMax, 2}), StatusIs(kInvalid, "2**63 - 1"));
  EXPECT_THAT(TensorShape::Create({int64_t{1} << 32, int64_t{1} << 32, 0}),
              StatusIs(kInvalid, "2**63 - 1"));
  EXPECT_OK(TensorShape::Create(std::vector<int64_t>(kMaxRank, 1)));
  EXPECT_THAT(TensorShape::Create(std::vector<int64_t>(kMaxRank + 1, 1)),
              StatusIs(kInvalid, "rank"));
}

TEST(TensorShapeTest, ABrokenShapeIsTooLargeToAllocate) {
  EXPECT_EQ(TensorShape({kMax, kMax}).num_elements(), kMax);
  EXPECT_EQ(TensorShape({3, -1}).num_elements(), kMax);
}

TEST(TensorShapeTest, PrintsDimensions) {
  EXPECT_EQ(TensorShape().ToString(), "[]");
  EXPECT_EQ(TensorShape({2, 3}).ToString(), "[2,3]");
  EXPECT_EQ(PartialShape({2, -1}).ToString(), "[2,?]");
  EXPECT_EQ(PartialShape::UnknownRank().ToString(), "<unknown>");
}

TEST(PartialShapeTest, KnownAndUnknownDimensions) {
  EXPECT_FALSE(PartialShape().IsFullyDefined());
  EXPECT_FALSE(PartialShape({2, -1}).IsFullyDefined());
  EXPECT_TRUE(PartialShape({2, 3}).IsFullyDefined());
  EXPECT_TRUE(PartialShape::Scalar().IsFullyDefined());
  EXPECT_EQ(PartialShape({2, 3}).num_elements(), 6);
  EXPECT_EQ(PartialShape({2, -1}).num_elements(), PartialShape::kUnknown);
  EXPECT_EQ(PartialShape({2, 3}).ToShape(), TensorShape({2, 3}));
  EXPECT_EQ(PartialShape::OfRank(2), PartialShape({-1, -1}));
  EXPECT_NE(PartialShape::UnknownRank(), PartialShape::Scalar());
}

TEST(PartialShapeTest, CreateRefusesInvalidDimensions) {
  EXPECT_OK(PartialShape::Create({-1, kMax}));
  EXPECT_THAT(PartialShape::Create({-2}), StatusIs(kInvalid, "-2"));
  EXPECT_THAT(PartialShape::Create({kMax, -1, kMax}), StatusIs(kInvalid));
}

TEST(PartialShapeTest, Merges) {
  const PartialShape a({2, -1, -1});
  ASSERT_OK_AND_ASSIGN(const PartialShape both,
                       a.MergeWith(PartialShape({-1, 3, -1})));
  EXPECT_EQ(both, PartialShape({2, 3, -1}));
  ASSERT_OK_AND_ASSIGN(const PartialShape left, a.MergeWith(PartialShape()));
  EXPECT_EQ(left, a);
  ASSERT_OK_AND_ASSIGN(const PartialShape right, PartialShape().MergeWith(a));
  EXPECT_EQ(right, a);
  EXPECT_THAT(a.MergeWith(PartialShape({3, -1, -1})),
              StatusIs(kInvalid, "[2,?,?] vs. [3,?,?]"));
  EXPECT_THAT(a.MergeWith(PartialShape({2, -1})), StatusIs(kInvalid));
  EXPECT_TRUE(a.IsCompatibleWith(TensorShape({2, 9, 0})));
  EXPECT_FALSE(a.IsCompatibleWith(TensorShape({2, 9})));
}

}  // namespace
}  // namespace weft
