#include "libs/master/weak_table.h"

#include <cstdint>
#include <memory>
#include <vector>

#include "gtest/gtest.h"

namespace weft {
namespace {

constexpr uint64_t kEntries = 10'000;

TEST(WeakTableTest, FindsObjectsThatOthersOwn) {
  WeakTable<int> table;
  auto one = std::make_shared<int>(7);
  table.Add(1, one);
  EXPECT_EQ(table.Find(1), one);
  EXPECT_EQ(table.Find(2), nullptr);
  one.reset();
  EXPECT_EQ(table.Find(1), nullptr);
}

TEST(WeakTableTest, AddingDoesNotExamineAllThatStay) {
  WeakTable<int> table;
  std::vector<std::shared_ptr<int>> owned;
  for (uint64_t id = 0; id < kEntries; ++id) {
    owned.push_back(std::make_shared<int>(0));
    table.Add(id, owned.back());
  }
  EXPECT_EQ(table.num_entries(), kEntries);
  EXPECT_LE(table.num_examined(), 2 * kEntries);
  for (uint64_t id = 0; id < kEntries; ++id) {
    ASSERT_EQ(table.Find(id), owned[id]);
  }
}

TEST(WeakTableTest, EntriesOfGoneObjectsAreRemoved) {
  WeakTable<int> table;
  for (uint64_t id = 0; id < kEntries; ++id) {
    table.Add(id, std::make_shared<int>(0));
    ASSERT_LE(table.num_entries(), WeakTable<int>::kLeastSweep);
  }
  EXPECT_LE(table.num_examined(), 2 * kEntries);
}

TEST(WeakTableTest, ShrinksAfterManyObjectsEnd) {
  WeakTable<int> table;
  std::vector<std::shared_ptr<int>> owned;
  for (uint64_t id = 0; id < kEntries; ++id) {
    owned.push_back(std::make_shared<int>(0));
    table.Add(id, owned.back());
  }
  owned.clear();
  for (uint64_t id = kEntries; id < 3 * kEntries; ++id) {
    table.Add(id, std::make_shared<int>(0));
  }
  EXPECT_LE(table.num_entries(), WeakTable<int>::kLeastSweep);
}

}  // namespace
}  // namespace weft
