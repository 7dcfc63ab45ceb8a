// Compares the GPU's distribution of row updates with a loop over the indices.
#include "libs/kernels/cuda/row_places.h"

#include <algorithm>
#include <vector>

#include "gtest/gtest.h"

namespace weft::cuda {
namespace {

using Numbers = std::vector<int64_t>;

// Updates in the order that a GPU produces.
struct Ordered {
  std::vector<uint64_t> keys;
  RowOrder order;

  Ordered(const Numbers& indices, int64_t rows) {
    order.count = static_cast<int64_t>(indices.size());
    order.rows = rows;
    order.row = 1;
    order.place_bits = BitsFor(order.count);
    for (size_t i = 0; i < indices.size(); ++i) {
      keys.push_back(KeyOf(order, indices[i], static_cast<int64_t>(i)));
    }
    std::sort(keys.begin(), keys.end());
    order.keys = keys.data();
  }
};

// Returns, for each row, the sum of the positions of its updates, each plus
// one. Computes the sums by chunks.
Numbers SumsByChunks(const RowOrder& order, int64_t chunk_size) {
  Numbers sums(order.rows);
  const int64_t chunks = (order.count + chunk_size - 1) / chunk_size;
  Numbers partial(chunks, -1);
  for (int64_t c = chunks - 1; c >= 0; --c) {
    const int64_t end = std::min((c + 1) * chunk_size, order.count);
    ForEachRun(order, c * chunk_size, end,
               [&](int64_t row, int64_t first, int64_t last, bool is_first) {
                 int64_t sum = 0;
                 for (int64_t j = first; j < last; ++j) {
                   sum += PlaceOf(order, j) + 1;
                 }
                 if (is_first) {
                   EXPECT_EQ(sums[row], 0) << "begins twice";
                   sums[row] = sum;
                 } else {
                   EXPECT_EQ(first, c * chunk_size);
                   partial[c] = sum;
                 }
               });
  }
  for (int64_t c = 0; c < chunks; ++c) {
    const int64_t end = EndOfPartialSums(order, c, chunk_size);
    for (int64_t d = c; d < end; ++d) {
      EXPECT_GT(partial[d], 0) << "not made, or added twice";
      sums[RowOf(order, c * chunk_size)] += partial[d];
      partial[d] = -1;
    }
  }
  return sums;
}

Numbers SumsByLoop(const Numbers& indices, int64_t rows) {
  Numbers sums(rows);
  for (size_t i = 0; i < indices.size(); ++i) {
    if (indices[i] < 0 || indices[i] >= rows) continue;
    sums[indices[i]] += static_cast<int64_t>(i) + 1;
  }
  return sums;
}

TEST(RowPlacesTest, SumsOfChunksAreThoseOfALoop) {
  constexpr int64_t kRows = 7;
  const Numbers cases[] = {
      {3},
      {-1},
      {7, INT64_MIN, INT64_MAX},
      Numbers(40, 6),
      Numbers(33, 9),
      {0, 6, 0, 6, 5, -2, 0, 7, 6, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0},
  };
  for (const Numbers& indices : cases) {
    const Ordered ordered(indices, kRows);
    for (const int64_t chunk_size : {1, 2, 3, 8, 32, 64}) {
      EXPECT_EQ(SumsByChunks(ordered.order, chunk_size),
                SumsByLoop(indices, kRows))
          << indices.size() << " in chunks of " << chunk_size;
    }
  }
}

TEST(RowPlacesTest, ChangesOfARowKeepTheirOrder) {
  const Ordered ordered({2, 0, 9, 2, 0, 2}, 3);
  Numbers places;
  for (int64_t j = 0; j < ordered.order.count; ++j) {
    places.push_back(PlaceOf(ordered.order, j));
  }
  EXPECT_EQ(places, (Numbers{1, 4, 0, 3, 5, 2}));
  EXPECT_TRUE(IsFirstOfRow(ordered.order, 2));
  EXPECT_FALSE(IsLastOfRow(ordered.order, 3));
  EXPECT_TRUE(IsLastOfRow(ordered.order, 4));
}

TEST(RowPlacesTest, ChunkSizeGrowsWithTheChanges) {
  EXPECT_EQ(ChunkOfChanges(1), 32);
  EXPECT_EQ(ChunkOfChanges(1024), 32);
  EXPECT_EQ(ChunkOfChanges(1025), 64);
  EXPECT_EQ(ChunkOfChanges(int64_t{1} << 40), 1 << 20);
  EXPECT_EQ(BitsFor(1), 0);
  EXPECT_EQ(BitsFor(256), 8);
  EXPECT_EQ(BitsFor(257), 9);
  EXPECT_EQ(BitsFor(INT64_MAX), 63);
}

}  // namespace
}  // namespace weft::cuda
