#include "libs/resource/chunk_snapshot.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

constexpr int64_t kRowElements = 1 << 16;  // 256 KiB: four rows a chunk
constexpr int64_t kRows = 40;              // 10 MiB

class ChunkSnapshotTest : public ::testing::Test {
 protected:
  ChunkSnapshotTest() { AssignAll(0); }

  void AssignAll(int32_t value) {
    Tensor tensor(DT_INT32, {kRows, kRowElements});
    auto flat = tensor.mutable_flat<int32_t>();
    std::fill(flat.begin(), flat.end(), value);
    EXPECT_OK(variable_->Assign(step_, std::move(tensor)));
  }

  absl::Status AddToRows(std::vector<int64_t> rows) {
    return variable_->UpdateRows(
        step_, HeapAllocator(),
        [&](Variable::RowVisitor visit) {
          for (int64_t row : rows) visit(row);
        },
        [&](Tensor& value) {
          for (int64_t row : rows) AddToRow(value, row);
          return absl::OkStatus();
        });
  }

  static void AddToRow(Tensor& value, int64_t row) {
    int32_t* begin = value.mutable_flat<int32_t>().data() + row * kRowElements;
    std::for_each(begin, begin + kRowElements, [](int32_t& x) { ++x; });
  }

  std::unique_ptr<ChunkSnapshot> Take() {
    return *ChunkSnapshot::Take(variable_, HeapAllocator());
  }

  // All elements of the chunk are `expected`.
  static void ExpectChunk(ChunkSnapshot& snapshot, int64_t chunk,
                          int32_t expected) {
    bool same = true;
    ASSERT_OK(snapshot.ReadChunk(chunk, [&](absl::Span<const char> bytes) {
      const auto* begin = reinterpret_cast<const int32_t*>(bytes.data());
      same = std::all_of(begin, begin + bytes.size() / sizeof(int32_t),
                         [&](int32_t x) { return x == expected; });
    }));
    EXPECT_TRUE(same) << "chunk " << chunk;
  }

  Cancellation step_;
  std::shared_ptr<Variable> variable_ = std::make_shared<Variable>(
      "table", DT_INT32, PartialShape({kRows, kRowElements}));
};

TEST_F(ChunkSnapshotTest, ReadsInPlaceWhileNobodyWrites) {
  auto snapshot = Take();
  EXPECT_EQ(snapshot->dtype(), DT_INT32);
  EXPECT_EQ(snapshot->shape(), TensorShape({kRows, kRowElements}));
  ASSERT_EQ(snapshot->num_chunks(), 10);
  for (int64_t i = 0; i < 10; ++i) ExpectChunk(*snapshot, i, 0);
  EXPECT_EQ(snapshot->bytes_copied_aside(), 0);
  EXPECT_FALSE(snapshot->whole().IsInitialized());
}

// One row's update copies one chunk, and the table not at all.
TEST_F(ChunkSnapshotTest, ARowsUpdateCopiesItsChunkOnce) {
  auto snapshot = Take();
  ASSERT_OK(AddToRows({5}));
  ASSERT_OK(AddToRows({4, 6}));
  EXPECT_EQ(snapshot->bytes_copied_aside(), ChunkSnapshot::kChunkBytes);
  EXPECT_EQ(variable_->bytes_copied_on_write(), 0u);
  for (int64_t i = 0; i < 10; ++i) ExpectChunk(*snapshot, i, 0);
}

TEST_F(ChunkSnapshotTest, ChunksAlreadyReadAreNotCopied) {
  auto snapshot = Take();
  for (int64_t i = 0; i < 9; ++i) ExpectChunk(*snapshot, i, 0);
  ASSERT_OK(variable_->Update(step_, HeapAllocator(), [](Tensor& value) {
    for (int64_t row = 0; row < kRows; ++row) AddToRow(value, row);
    return absl::OkStatus();
  }));
  EXPECT_EQ(snapshot->bytes_copied_aside(), ChunkSnapshot::kChunkBytes);
  ExpectChunk(*snapshot, 9, 0);
  EXPECT_THAT(snapshot->ReadChunk(9, [](absl::Span<const char>) {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "read twice"));
  EXPECT_THAT(snapshot->ReadChunk(10, [](absl::Span<const char>) {}),
              StatusIs(absl::StatusCode::kOutOfRange));
}

TEST_F(ChunkSnapshotTest, AReplacedValueIsTakenOver) {
  auto snapshot = Take();
  ASSERT_OK(AddToRows({0}));
  AssignAll(7);
  ASSERT_OK(AddToRows({4}));
  EXPECT_EQ(snapshot->bytes_copied_aside(), ChunkSnapshot::kChunkBytes);
  for (int64_t i = 0; i < 10; ++i) ExpectChunk(*snapshot, i, 0);
}

TEST_F(ChunkSnapshotTest, AWritersCopyLeavesTheOldValueToIt) {
  auto snapshot = Take();
  ASSERT_OK_AND_ASSIGN(Tensor held, variable_->Read());
  ASSERT_OK(AddToRows({4}));
  EXPECT_EQ(snapshot->bytes_copied_aside(), 0);
  for (int64_t i = 0; i < 10; ++i) ExpectChunk(*snapshot, i, 0);
}

TEST_F(ChunkSnapshotTest, SnapshotsOfDifferentMoments) {
  auto before = Take();
  ASSERT_OK(AddToRows({0, 1, 2, 3}));
  auto after = Take();
  ASSERT_OK(AddToRows({0, 1, 2, 3}));
  ExpectChunk(*before, 0, 0);
  ExpectChunk(*after, 0, 1);
  auto now = Take();
  ExpectChunk(*now, 0, 2);
}

TEST_F(ChunkSnapshotTest, SmallValuesAreHeldWhole) {
  auto small = std::make_shared<Variable>("s", DT_STRING, PartialShape({2}));
  EXPECT_THAT(ChunkSnapshot::Take(small, HeapAllocator()),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  ASSERT_OK(small->Assign(step_, Tensor::Vector<std::string>({"a", "b"})));
  ASSERT_OK_AND_ASSIGN(auto snapshot,
                       ChunkSnapshot::Take(small, HeapAllocator()));
  EXPECT_EQ(snapshot->whole().flat<std::string>()[1], "b");
}

// Writers add to rows while a reader takes snapshot after snapshot; rows of a
// snapshot add up to a moment of the variable: all writers write the rows of
// a chunk together.
TEST_F(ChunkSnapshotTest, SnapshotsAreNeverTorn) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (int64_t first = 0; first < 2; ++first) {
    writers.emplace_back([&, first] {
      for (int64_t chunk = first; !stop; chunk = (chunk + 2) % 10) {
        EXPECT_OK(AddToRows(
            {4 * chunk, 4 * chunk + 1, 4 * chunk + 2, 4 * chunk + 3}));
      }
    });
  }
  for (int round = 0; round < 20; ++round) {
    auto snapshot = Take();
    for (int64_t i = snapshot->num_chunks() - 1; i >= 0; --i) {
      ASSERT_OK(snapshot->ReadChunk(i, [&](absl::Span<const char> bytes) {
        const auto* begin = reinterpret_cast<const int32_t*>(bytes.data());
        EXPECT_TRUE(std::all_of(begin, begin + bytes.size() / 4,
                                [&](int32_t x) { return x == *begin; }));
      }));
    }
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
}

}  // namespace
}  // namespace weft
