#include "libs/resource/chunk_snapshot.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/tensor/buffer.h"

namespace weft {
namespace {

constexpr int64_t kRowElements = 1 << 16;  // 256 KiB: four rows per chunk
constexpr int64_t kRows = 40;              // 10 MiB
constexpr int64_t kRowBytes = 4 * kRowElements;

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

  absl::Status AddToAll() {
    return variable_->Update(step_, HeapAllocator(), AddOneToAll);
  }

  static absl::Status AddOneToAll(const Tensor& from, Tensor& to) {
    const auto before = from.flat<int32_t>();
    std::transform(before.begin(), before.end(),
                   to.mutable_flat<int32_t>().begin(),
                   [](int32_t x) { return x + 1; });
    return absl::OkStatus();
  }

  static void AddToRow(Tensor& value, int64_t row) {
    int32_t* begin = value.mutable_flat<int32_t>().data() + row * kRowElements;
    std::for_each(begin, begin + kRowElements, [](int32_t& x) { ++x; });
  }

  std::unique_ptr<ChunkSnapshot> Take() {
    return *ChunkSnapshot::Take(variable_, HeapAllocator());
  }

  // Checks that all elements of the chunk are `expected`.
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

TEST_F(ChunkSnapshotTest, ReadsInPlaceWithoutWriters) {
  auto snapshot = Take();
  EXPECT_EQ(snapshot->dtype(), DT_INT32);
  EXPECT_EQ(snapshot->shape(), TensorShape({kRows, kRowElements}));
  ASSERT_EQ(snapshot->num_chunks(), 10);
  for (int64_t i = 0; i < 10; ++i) ExpectChunk(*snapshot, i, 0);
  EXPECT_EQ(snapshot->bytes_copied_aside(), 0);
  EXPECT_FALSE(snapshot->whole().IsInitialized());
}

// A row update copies the pages of that row once. It copies neither the whole
// chunk nor the whole table.
TEST_F(ChunkSnapshotTest, RowUpdateCopiesItsPagesOnce) {
  auto snapshot = Take();
  ASSERT_OK(AddToRows({5}));
  ASSERT_OK(AddToRows({4, 5, 6}));
  EXPECT_EQ(snapshot->bytes_copied_aside(), 3 * kRowBytes);
  EXPECT_EQ(variable_->bytes_copied_on_write(), 0u);
  for (int64_t i = 0; i < 10; ++i) ExpectChunk(*snapshot, i, 0);
}

// Rows of 4,000 bytes do not align with pages of 4,096 bytes, and the value
// ends inside a page and inside a chunk.
TEST_F(ChunkSnapshotTest, RowsAcrossPageBoundariesAreKept) {
  constexpr int64_t kOddRows = 601, kOddElements = 1000;
  const auto numbers = [](int32_t first) {
    Tensor tensor(DT_INT32, {kOddRows, kOddElements});
    auto flat = tensor.mutable_flat<int32_t>();
    std::iota(flat.begin(), flat.end(), first);
    return tensor;
  };
  variable_ = std::make_shared<Variable>("odd", DT_INT32, PartialShape());
  ASSERT_OK(variable_->Assign(step_, numbers(0)));
  auto snapshot = Take();
  ASSERT_EQ(snapshot->num_chunks(), 3);
  const std::vector<int64_t> rows = {0, 1, 261, 262, 300, 599, 600, 600, -1};
  ASSERT_OK(variable_->UpdateRows(
      step_, HeapAllocator(),
      [&](Variable::RowVisitor visit) {
        for (int64_t row : rows) visit(row);
      },
      [&](Tensor& value) {
        auto flat = value.mutable_flat<int32_t>();
        for (int64_t row : rows) {
          if (row < 0) continue;
          std::fill_n(flat.begin() + row * kOddElements, kOddElements, -1);
        }
        return absl::OkStatus();
      }));
  std::string read;
  for (int64_t i = 0; i < 3; ++i) {
    ASSERT_OK(snapshot->ReadChunk(i, [&](absl::Span<const char> bytes) {
      read.append(bytes.data(), bytes.size());
    }));
  }
  const Tensor before = numbers(0);
  ASSERT_EQ(read.size(), before.num_bytes());
  EXPECT_EQ(std::memcmp(read.data(), before.data(), read.size()), 0);
  // The three rows at each end of the list touch at most nine pages.
  EXPECT_LE(snapshot->bytes_copied_aside(), 12 * ChunkSnapshot::kPageBytes);
}

// Copied pages of different chunks share a block, so updates of rows all over a
// variable allocate hardly more than they copy. All blocks are freed with the
// last chunk.
TEST_F(ChunkSnapshotTest, PagesOfAllChunksShareBlocks) {
  BufferPool pool;
  ASSERT_OK_AND_ASSIGN(auto snapshot, ChunkSnapshot::Take(variable_, pool));
  ASSERT_OK(AddToRows({0, 4}));
  EXPECT_EQ(pool.stats().bytes_in_use, 2 * kRowBytes);
  EXPECT_EQ(pool.stats().allocations, 1);
  std::vector<int64_t> rows(kRows);
  std::iota(rows.begin(), rows.end(), 0);
  ASSERT_OK(AddToRows(rows));
  EXPECT_EQ(snapshot->bytes_copied_aside(), kRows * kRowBytes);
  EXPECT_EQ(pool.stats().bytes_in_use, kRows * kRowBytes);
  for (int64_t i = 0; i < 10; ++i) ExpectChunk(*snapshot, i, 0);
  EXPECT_EQ(pool.stats().bytes_in_use, 0);
}

// The preallocated memory is used for the next value, and only once.
TEST_F(ChunkSnapshotTest, FirstUpdateUsesPreallocatedMemory) {
  ASSERT_OK(AddToAll());
  auto ahead = ChunkSnapshot::AllocateAhead({variable_}, HeapAllocator());
  ASSERT_TRUE(ahead[0].value.IsInitialized());
  const void* const memory = ahead[0].value.data();
  auto snapshots =
      ChunkSnapshot::TakeAll({variable_}, HeapAllocator(), std::move(ahead));
  ASSERT_OK(snapshots.status());
  ASSERT_OK(AddToAll());
  EXPECT_EQ(variable_->Read()->data(), memory);
  ASSERT_OK(AddToAll());
  EXPECT_EQ(variable_->Read()->flat<int32_t>()[0], 3);
  for (int64_t i = 0; i < 10; ++i) ExpectChunk(*(*snapshots)[0], i, 1);
}

// No memory is preallocated for a value that was not updated or has changed its
// shape. Preallocated memory is freed with the snapshot.
TEST_F(ChunkSnapshotTest, PreallocatesOnlyWhenNeeded) {
  const auto ahead = [&] {
    return std::move(
        ChunkSnapshot::AllocateAhead({variable_}, HeapAllocator())[0].value);
  };
  EXPECT_FALSE(ahead().IsInitialized()) << "it is not updated";
  ASSERT_OK(AddToRows({1}));
  EXPECT_FALSE(ahead().IsInitialized()) << "pages of rows are copied";
  ASSERT_OK(AddToAll());
  EXPECT_TRUE(ahead().IsInitialized());
  AssignAll(1);
  EXPECT_FALSE(ahead().IsInitialized()) << "values come from elsewhere";
  ASSERT_OK(AddToAll());
  Take();
  EXPECT_FALSE(ahead().IsInitialized()) << "no update since the last snapshot";
  ASSERT_OK(AddToAll());
  Tensor memory = ahead();
  auto snapshots =
      ChunkSnapshot::TakeAll({variable_}, HeapAllocator(), {{memory, {}}});
  ASSERT_OK(snapshots.status());
  EXPECT_FALSE(memory.RefCountIsOne());
  snapshots->clear();
  EXPECT_TRUE(memory.RefCountIsOne());
}

// Pages of rows are copied into preallocated memory. The memory is enough for
// sixteen updates like the first, but has at most the size of the variable.
// Reading the last chunk frees the unused memory.
TEST_F(ChunkSnapshotTest, RowUpdatesUsePreallocatedMemory) {
  const auto ahead_after = [&](std::vector<int64_t> rows, BufferPool& pool) {
    Take();
    EXPECT_OK(AddToRows(std::move(rows)));
    return ChunkSnapshot::AllocateAhead({variable_}, pool);
  };
  BufferPool pool;
  EXPECT_TRUE(ahead_after({}, pool)[0].blocks.empty());
  auto ahead = ahead_after({3, 1}, pool);
  EXPECT_EQ(pool.stats().bytes_in_use, 32 * kRowBytes);
  const int64_t allocations = pool.stats().allocations;
  ASSERT_OK_AND_ASSIGN(
      auto snapshots,
      ChunkSnapshot::TakeAll({variable_}, pool, std::move(ahead)));
  ASSERT_OK(AddToRows({0, 5, 10}));
  EXPECT_EQ(pool.stats().allocations, allocations);
  for (int64_t i = 0; i < 9; ++i) {
    ASSERT_OK(snapshots[0]->ReadChunk(i, [](absl::Span<const char>) {}));
  }
  EXPECT_EQ(pool.stats().bytes_in_use, 32 * kRowBytes);
  ASSERT_OK(snapshots[0]->ReadChunk(9, [](absl::Span<const char>) {}));
  EXPECT_EQ(pool.stats().bytes_in_use, 0);
  ahead = ahead_after({0, 1, 2, 3}, pool);
  EXPECT_EQ(pool.stats().bytes_in_use, kRows * kRowBytes);
}

TEST_F(ChunkSnapshotTest, StringsAreNotPreallocated) {
  variable_ = std::make_shared<Variable>("texts", DT_STRING, PartialShape());
  ASSERT_OK(variable_->Assign(step_, Tensor(DT_STRING, {200000})));
  ASSERT_OK(variable_->Update(
      step_, HeapAllocator(),
      [](const Tensor&, Tensor&) { return absl::OkStatus(); }));
  EXPECT_FALSE(ChunkSnapshot::AllocateAhead({variable_}, HeapAllocator())[0]
                   .value.IsInitialized());
}

// An update of all elements writes a new value. The snapshot keeps the old
// value without a copy.
TEST_F(ChunkSnapshotTest, FullUpdateWritesANewValue) {
  auto snapshot = Take();
  ExpectChunk(*snapshot, 3, 0);
  ASSERT_OK(AddToRows({0}));
  ASSERT_OK(AddToAll());
  ASSERT_OK(AddToAll());
  EXPECT_EQ(snapshot->bytes_copied_aside(), kRowBytes);
  EXPECT_EQ(variable_->bytes_copied_on_write(), 0u);
  for (int64_t i = 0; i < 10; ++i) {
    if (i != 3) ExpectChunk(*snapshot, i, 0);
  }
  EXPECT_EQ(variable_->Read()->flat<int32_t>()[0], 3);
  EXPECT_EQ(variable_->Read()->flat<int32_t>()[kRowElements], 2);
}

TEST_F(ChunkSnapshotTest, ChunksAlreadyReadAreNotKept) {
  auto snapshot = Take();
  for (int64_t i = 0; i < 9; ++i) ExpectChunk(*snapshot, i, 0);
  ASSERT_OK(AddToRows({0, 4, 35, 36}));
  EXPECT_EQ(snapshot->bytes_copied_aside(), kRowBytes);
  ExpectChunk(*snapshot, 9, 0);
  EXPECT_THAT(snapshot->ReadChunk(9, [](absl::Span<const char>) {}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "already read"));
  EXPECT_THAT(snapshot->ReadChunk(10, [](absl::Span<const char>) {}),
              StatusIs(absl::StatusCode::kOutOfRange));
}

// When the last chunk is read, a snapshot releases all memory and no longer
// slows writers down.
TEST_F(ChunkSnapshotTest, ReadSnapshotReleasesItsMemory) {
  auto in_place = Take();
  auto held = Take();
  for (int64_t i = 0; i < 10; ++i) ExpectChunk(*in_place, i, 0);
  EXPECT_TRUE(in_place->IsRead());
  ASSERT_OK_AND_ASSIGN(Tensor old, variable_->Read());
  ASSERT_OK(AddToAll());
  for (int64_t i = 0; i < 9; ++i) ExpectChunk(*held, i, 0);
  EXPECT_FALSE(old.buffer()->RefCountIsOne());
  ExpectChunk(*held, 9, 0);
  EXPECT_TRUE(held->IsRead());
  EXPECT_TRUE(old.buffer()->RefCountIsOne());
  const void* const memory = variable_->Read()->data();
  ASSERT_OK(AddToAll());
  EXPECT_EQ(variable_->Read()->data(), memory);
}

TEST_F(ChunkSnapshotTest, ReplacedValueIsKeptBySnapshot) {
  auto snapshot = Take();
  ASSERT_OK(AddToRows({0}));
  AssignAll(7);
  ASSERT_OK(AddToRows({4}));
  EXPECT_EQ(snapshot->bytes_copied_aside(), kRowBytes);
  for (int64_t i = 0; i < 10; ++i) ExpectChunk(*snapshot, i, 0);
}

TEST_F(ChunkSnapshotTest, CopyOnWriteLeavesTheOldValue) {
  auto snapshot = Take();
  ASSERT_OK_AND_ASSIGN(Tensor held, variable_->Read());
  ASSERT_OK(AddToRows({4}));
  EXPECT_EQ(snapshot->bytes_copied_aside(), 0);
  for (int64_t i = 0; i < 10; ++i) ExpectChunk(*snapshot, i, 0);
}

TEST_F(ChunkSnapshotTest, SnapshotsKeepTheirOwnVersions) {
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

// A value of one chunk is held whole. Each change copies at least one chunk, so
// chunks have no advantage for it.
TEST_F(ChunkSnapshotTest, SmallValuesUpToAChunkAreHeldWhole) {
  for (const int64_t more : {0, 1}) {
    const int64_t elements = ChunkSnapshot::kChunkBytes + more;
    auto bytes =
        std::make_shared<Variable>("b", DT_UINT8, PartialShape({elements}));
    ASSERT_OK(bytes->Assign(step_, Tensor(DT_UINT8, {elements})));
    ASSERT_OK_AND_ASSIGN(auto snapshot,
                         ChunkSnapshot::Take(bytes, HeapAllocator()));
    EXPECT_EQ(snapshot->num_chunks(), 1 + more);
    EXPECT_EQ(snapshot->whole().IsInitialized(), more == 0);
  }
}

TEST_F(ChunkSnapshotTest, TakeAllTakesAllOrNone) {
  auto slot = std::make_shared<Variable>("slot", DT_INT32,
                                         PartialShape({kRows, kRowElements}));
  const std::shared_ptr<Variable> both[] = {variable_, slot};
  EXPECT_THAT(ChunkSnapshot::TakeAll(both, HeapAllocator()),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       "uninitialized value slot"));
  const std::shared_ptr<Variable> twice[] = {variable_, variable_};
  EXPECT_THAT(ChunkSnapshot::TakeAll(twice, HeapAllocator()),
              StatusIs(absl::StatusCode::kInvalidArgument, "twice"));
  ASSERT_OK(AddToRows({0}));  // without snapshots and locks
  EXPECT_EQ(variable_->bytes_copied_on_write(), 0u);
}

// A variable and its slot are updated together, both by full updates and by row
// updates. The snapshots must show the same version of both.
TEST_F(ChunkSnapshotTest, TakeAllIsConsistent) {
  auto slot = std::make_shared<Variable>("slot", DT_INT32,
                                         PartialShape({kRows, kRowElements}));
  ASSERT_OK(slot->Assign(step_, *variable_->Read()->DeepCopy(HeapAllocator())));
  Variable* const pair[] = {variable_.get(), slot.get()};
  std::atomic<bool> stop{false};
  std::thread dense([&] {
    while (!stop) {
      EXPECT_OK(
          Variable::UpdateAll(step_, HeapAllocator(), pair,
                              [](absl::Span<const Variable::FromTo> values) {
                                for (const auto& [from, to] : values) {
                                  EXPECT_OK(AddOneToAll(*from, *to));
                                }
                                return absl::OkStatus();
                              }));
    }
  });
  std::thread sparse([&] {
    for (int64_t row = 0; !stop; row = (row + 7) % kRows) {
      EXPECT_OK(Variable::UpdateAllRows(
          step_, HeapAllocator(), pair,
          [&](Variable::RowVisitor visit) { visit(row); },
          [&](absl::Span<Tensor* const> values) {
            for (Tensor* value : values) AddToRow(*value, row);
            return absl::OkStatus();
          }));
    }
  });
  const std::shared_ptr<Variable> both[] = {variable_, slot};
  for (int round = 0; round < 4; ++round) {
    ASSERT_OK_AND_ASSIGN(auto snapshots,
                         ChunkSnapshot::TakeAll(both, HeapAllocator()));
    std::vector<std::string> read(2);
    for (int64_t i = 0; i < 10; ++i) {
      for (int k : {0, 1}) {
        ASSERT_OK(snapshots[k]->ReadChunk(i, [&](absl::Span<const char> bytes) {
          read[k].assign(bytes.data(), bytes.size());
        }));
      }
      EXPECT_TRUE(read[0] == read[1]) << "chunk " << i;
    }
  }
  stop = true;
  dense.join();
  sparse.join();
}

// Writers add to rows while a reader takes snapshots. All writers update the
// rows of a chunk together, so a snapshot must show all of an update or none of
// it.
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

// Releasing a snapshot needs the lock that writers take all the time. A mutex
// is not fair, so two writers could block a third thread until they stop. The
// test uses most but not all rounds, because in some rounds a thread is not
// scheduled for a while.
TEST_F(ChunkSnapshotTest, ReleaseRunsBeforeLaterWriters) {
  std::atomic<bool> done{false};
  std::atomic<int> updates{0};
  std::vector<std::thread> writers;
  for (int i = 0; i < 2; ++i) {
    writers.emplace_back([&] {
      for (; !done; ++updates) EXPECT_OK(AddToRows({0}));
    });
  }
  std::vector<int> waited_for;
  for (int round = 0; round < 101; ++round) {
    auto snapshot = Take();
    const int running = updates;
    while (updates < running + 3) std::this_thread::yield();
    const int before = updates;
    snapshot.reset();
    waited_for.push_back(updates - before);
  }
  done = true;
  for (std::thread& writer : writers) writer.join();
  std::sort(waited_for.begin(), waited_for.end());
  // Each of the two writers may run one update that was already waiting and one
  // that was starting.
  EXPECT_LE(waited_for[75], 4);
}

// An empty value has no chunks to read, but it has a type and a shape.
TEST_F(ChunkSnapshotTest, EmptyValueIsHeldWhole) {
  for (const DataType dtype : {DT_STRING, DT_FLOAT}) {
    const auto empty =
        std::make_shared<Variable>("empty", dtype, PartialShape({3, 0}));
    ASSERT_OK(empty->Assign(step_, Tensor(dtype, {3, 0})));
    const auto snapshot = *ChunkSnapshot::Take(empty, HeapAllocator());
    EXPECT_TRUE(snapshot->IsRead());
    EXPECT_EQ(snapshot->num_chunks(), 0);
    EXPECT_TRUE(SameBits(snapshot->whole(), Tensor(dtype, {3, 0})));
  }
}

}  // namespace
}  // namespace weft
