#include "libs/base/random.h"

#include <set>
#include <vector>

#include "gtest/gtest.h"

namespace weft {
namespace {

std::vector<uint64_t> Draw(Random& random, int count) {
  std::vector<uint64_t> result(count);
  for (uint64_t& value : result) value = random.Next();
  return result;
}

TEST(RandomTest, SameSeedGivesSameNumbers) {
  EXPECT_EQ(Draw(*NewSeededRandom(7), 100), Draw(*NewSeededRandom(7), 100));
  EXPECT_NE(Draw(*NewSeededRandom(7), 100), Draw(*NewSeededRandom(8), 100));
}

// The published first output of SplitMix64 for seed 0.
TEST(RandomTest, SeededNumbersNeverChange) {
  EXPECT_EQ(NewSeededRandom(0)->Next(), 0xe220a8397b1dcdafu);
}

TEST(RandomTest, ConsecutiveNumbersDiffer) {
  for (const auto& random : {NewSystemRandom(), NewSeededRandom(1)}) {
    const std::vector<uint64_t> drawn = Draw(*random, 1000);
    EXPECT_EQ(std::set<uint64_t>(drawn.begin(), drawn.end()).size(), 1000u);
    EXPECT_NE(random->NextId(), 0u);
  }
}

}  // namespace
}  // namespace weft
