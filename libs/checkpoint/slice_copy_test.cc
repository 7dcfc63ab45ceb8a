#include "libs/checkpoint/slice_copy.h"

#include <cstdint>
#include <string>
#include <vector>

#include "libs/base/async/cancellation.h"
#include "libs/base/test_matchers.h"

namespace weft::checkpoint {
namespace {

Box MakeBox(Dims starts, Dims sizes) { return {starts, sizes}; }

// Returns all boxes inside a tensor of that shape.
std::vector<Box> AllBoxes(const std::vector<int64_t>& shape) {
  std::vector<Box> boxes = {Box()};
  for (const int64_t size : shape) {
    std::vector<Box> longer;
    for (const Box& box : boxes) {
      for (int64_t start = 0; start < size; ++start) {
        for (int64_t length = 1; start + length <= size; ++length) {
          Box next = box;
          next.starts.push_back(start);
          next.sizes.push_back(length);
          longer.push_back(next);
        }
      }
    }
    boxes = longer;
  }
  return boxes;
}

// Returns the numbers of a box's elements in the whole tensor.
std::vector<int64_t> NamesIn(const Box& box,
                             const std::vector<int64_t>& shape) {
  std::vector<int64_t> names = {0};
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    std::vector<int64_t> longer;
    for (const int64_t name : names) {
      for (int64_t i = 0; i < box.sizes[dim]; ++i) {
        longer.push_back(name * shape[dim] + box.starts[dim] + i);
      }
    }
    names = longer;
  }
  return names;
}

int64_t Count(const std::vector<int64_t>& names,
              const std::vector<int64_t>& others) {
  int64_t count = 0;
  for (const int64_t name : names) {
    for (const int64_t other : others) count += name == other ? 1 : 0;
  }
  return count;
}

// For every pair of boxes of a small tensor: each common element is copied
// exactly once, to the right position, and in the order in which it is read.
TEST(SharedRunsTest, RunsCopyTheIntersectionOfBoxes) {
  const std::vector<int64_t> shape = {3, 2, 3};
  const std::vector<Box> boxes = AllBoxes(shape);
  ASSERT_EQ(boxes.size(), 6u * 3u * 6u);
  for (const Box& from : boxes) {
    const std::vector<int64_t> source = NamesIn(from, shape);
    for (const Box& to : boxes) {
      const std::vector<int64_t> target = NamesIn(to, shape);
      SharedRuns runs(from, to);
      int64_t copied = 0;
      int64_t read_up_to = 0;
      while (const auto run = runs.Next()) {
        ASSERT_GE(run->from, read_up_to);
        read_up_to = run->from + run->length;
        for (int64_t i = 0; i < run->length; ++i, ++copied) {
          ASSERT_EQ(target[run->to + i], source[run->from + i]);
        }
      }
      ASSERT_EQ(copied, Count(source, target));
    }
  }
}

TEST(SharedRunsTest, RunsAreMaximal) {
  // Whole rows are contiguous in both boxes.
  SharedRuns rows(MakeBox({2, 0}, {4, 5}), MakeBox({3, 0}, {7, 5}));
  const auto run = rows.Next();
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->from, 5);
  EXPECT_EQ(run->to, 0);
  EXPECT_EQ(run->length, 15);
  EXPECT_FALSE(rows.Next().has_value());
}

TEST(SharedRunsTest, ScalarIsOneRun) {
  SharedRuns runs{Box(), Box()};
  const auto run = runs.Next();
  ASSERT_TRUE(run.has_value());
  EXPECT_EQ(run->length, 1);
  EXPECT_FALSE(runs.Next().has_value());
}

TEST(SharedRunsTest, DisjointBoxesHaveNoRuns) {
  SharedRuns apart(MakeBox({0}, {2}), MakeBox({2}, {2}));
  EXPECT_FALSE(apart.Next().has_value());
  SharedRuns empty(MakeBox({0, 0}, {0, 4}), MakeBox({0, 0}, {0, 4}));
  EXPECT_FALSE(empty.Next().has_value());
}

TEST(BoxTest, BoxOfSliceHasExplicitBounds) {
  ASSERT_OK_AND_ASSIGN(const TensorSlice slice, TensorSlice::Parse("3,2:-"));
  const Box box = BoxOf(slice, TensorShape({5, 4}));
  EXPECT_EQ(box, MakeBox({3, 0}, {2, 4}));
  EXPECT_EQ(box.num_elements(), 8);
}

// Compares AnyOverlap with a comparison of all elements, for every three boxes
// of a small tensor.
TEST(BoxTest, AnyOverlapMatchesBruteForce) {
  const std::vector<int64_t> shape = {2, 3};
  const std::vector<Box> boxes = AllBoxes(shape);
  EXPECT_FALSE(*AnyOverlap({}));
  for (const Box& a : boxes) {
    EXPECT_FALSE(*AnyOverlap({a}));
    for (const Box& b : boxes) {
      for (const Box& c : boxes) {
        const auto names_a = NamesIn(a, shape);
        const auto names_b = NamesIn(b, shape);
        const auto names_c = NamesIn(c, shape);
        const int64_t shared = Count(names_a, names_b) +
                               Count(names_b, names_c) +
                               Count(names_a, names_c);
        ASSERT_EQ(*AnyOverlap({a, b, c}), shared > 0);
      }
    }
  }
}

// The boxes are columns with overlapping ranges in the first dimension, so each
// box is compared with all others.
TEST(BoxTest, SearchForOverlapsCanBeCancelled) {
  std::vector<Box> boxes = {MakeBox({0, 0}, {1, 1})};
  for (int64_t i = 1; i < 400; ++i) boxes.push_back(MakeBox({1, i}, {1, 1}));
  Cancellation cancellation;
  EXPECT_FALSE(AnyOverlap(boxes, &cancellation).value());
  cancellation.Cancel(absl::CancelledError("enough"));
  EXPECT_THAT(AnyOverlap(boxes, &cancellation),
              StatusIs(absl::StatusCode::kCancelled, "enough"));
}

// Tests every two boxes of a small tensor with every requested box.
TEST(BoxesInOrderTest, FindsIntersectingBoxes) {
  const std::vector<int64_t> shape = {2, 3};
  const std::vector<Box> all = AllBoxes(shape);
  for (const Box& a : all) {
    for (const Box& b : all) {
      const BoxesInOrder boxes({a, b});
      for (const Box& wanted : all) {
        std::vector<size_t> sharing;
        if (Intersection(a, wanted).has_value()) sharing.push_back(0);
        if (Intersection(b, wanted).has_value()) sharing.push_back(1);
        int64_t compared = 0;
        ASSERT_EQ(boxes.Sharing(wanted, &compared), sharing);
        ASSERT_GE(compared, static_cast<int64_t>(sharing.size()));
      }
    }
  }
  int64_t compared = 0;
  EXPECT_TRUE(BoxesInOrder({}).Sharing(MakeBox({0}, {1}), &compared).empty());
  const BoxesInOrder scalar({Box()});
  EXPECT_EQ(scalar.Sharing(Box(), &compared), std::vector<size_t>{0});
}

// The tensor is cut into parts of different sizes along the second dimension.
// The parts are given in arbitrary order.
TEST(BoxesInOrderTest, ComparesOnlyNeighbors) {
  std::vector<Box> boxes;
  for (const int64_t begin : {60, 0, 30, 90, 10, 50, 20, 40, 80, 70}) {
    boxes.push_back(MakeBox({0, begin}, {4, 10}));
  }
  const BoxesInOrder ordered(std::move(boxes));
  int64_t compared = 0;
  EXPECT_EQ(ordered.Sharing(MakeBox({1, 35}, {2, 10}), &compared),
            (std::vector<size_t>{2, 7}));
  EXPECT_LE(compared, 3);
}

}  // namespace
}  // namespace weft::checkpoint
