#include "libs/base/hash_tables.h"

#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/testing/failing_memory.h"

namespace weft {
namespace {

using ::testing::Pair;
using ::testing::UnorderedElementsAre;

// Returns a name that is longer than the inline buffer of a string.
std::string Name(int i) { return absl::StrCat("a_name_that_is_not_short_", i); }

// Runs `call` with a failing `nth` allocation. Returns whether `call` has
// thrown std::bad_alloc.
template <typename Call>
bool Fails(int64_t nth, Call call) {
  const FailingMemory failing(nth);
  try {
    call();
    return false;
  } catch (const std::bad_alloc&) {
    return true;
  }
}

// Repeats `call` with its first, second, ... allocation failing, until no
// allocation fails. `check` verifies the state after each failure. Returns the
// number of failures.
template <typename Call, typename Check>
int CountFailures(Call call, Check check) {
  int failures = 0;
  while (Fails(failures + 1, call)) {
    ++failures;
    check();
  }
  return failures;
}

TEST(FlatHashSetTest, FailedGrowthLeavesTheTableUnchanged) {
  FlatHashSet<std::string> set;
  int failures = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string name = Name(i);
    failures += CountFailures([&] { set.insert(name); },
                              [&] {
                                ASSERT_EQ(set.size(), static_cast<size_t>(i));
                                ASSERT_FALSE(set.contains(name));
                              });
    ASSERT_TRUE(set.contains(Name(0)));
    ASSERT_TRUE(set.contains(name));
  }
  EXPECT_GT(failures, 200);  // each copy of a name, and each growth
}

TEST(FlatHashSetTest, TableIsDestroyedAfterFirstInsertionFailed) {
  const bool has_failed = Fails(1, [] {
    FlatHashSet<int> set;
    set.insert(7);
  });
  EXPECT_TRUE(has_failed);
}

TEST(FlatHashMapTest, FailedValueLeavesTheTableUnchanged) {
  FlatHashMap<std::string, std::string> map;
  const std::string key = Name(0);
  int failures = CountFailures([&] { map[key] = Name(1); },
                               [&] { ASSERT_TRUE(map.empty()); });
  EXPECT_EQ(failures, 3);  // of the value, the key, and the table
  EXPECT_THAT(map, UnorderedElementsAre(Pair(key, Name(1))));
  failures = CountFailures([&] { map.emplace(Name(2), Name(3)); },
                           [&] { ASSERT_EQ(map.size(), 1u); });
  EXPECT_EQ(failures, 2);
  EXPECT_THAT(map,
              UnorderedElementsAre(Pair(key, Name(1)), Pair(Name(2), Name(3))));
}

TEST(FlatHashMapTest, FailedCopyLeavesBothTablesUnchanged) {
  FlatHashMap<std::string, int> map;
  for (int i = 0; i < 40; ++i) map[Name(i)] = i;
  FlatHashMap<std::string, int> copy = {{"x", 1}};
  const int failures = CountFailures(
      [&] { copy = map; },
      [&] { ASSERT_THAT(copy, UnorderedElementsAre(Pair("x", 1))); });
  EXPECT_GE(failures, 41);  // of the table, and each key
  EXPECT_EQ(copy, map);
  EXPECT_GE(CountFailures([&] { const auto other = map; }, [] {}), 41);
}

TEST(FlatHashMapTest, MemoryIsReservedOnce) {
  FlatHashMap<int, int> map;
  map[0] = 0;
  EXPECT_TRUE(Fails(1, [&] { map.reserve(1000); }));
  map.reserve(1000);
  const bool has_failed = Fails(1, [&] {
    for (int i = 0; i < 1000; ++i) map.try_emplace(i, i);
  });
  EXPECT_FALSE(has_failed);
  EXPECT_EQ(map.size(), 1000u);
}

TEST(FlatHashMapTest, InsertOfPresentKeyKeepsItsValue) {
  FlatHashMap<int, std::unique_ptr<int>> map;
  for (int i = 0; !MayAllocate(map) || i == 0; ++i) {
    map[i] = std::make_unique<int>(i);
  }
  const auto& first = map[0];
  EXPECT_FALSE(map.emplace(0, nullptr).second);
  EXPECT_FALSE(map.try_emplace(0, nullptr).second);
  EXPECT_EQ(&map[0], &first);
  EXPECT_EQ(*first, 0);
  EXPECT_FALSE(map.insert_or_assign(0, std::make_unique<int>(5)).second);
  EXPECT_EQ(*map[0], 5);
}

}  // namespace
}  // namespace weft
