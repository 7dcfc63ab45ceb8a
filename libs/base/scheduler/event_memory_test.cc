#include "libs/base/scheduler/event_memory.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace weft {
namespace {

TEST(EventMemoryTest, FreedMemoryIsReused) {
  auto memory = std::make_shared<EventMemory>();
  void* first = memory->Take();
  void* second = memory->Take();
  EXPECT_NE(first, second);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(first) % alignof(std::max_align_t), 0u);
  EventMemory::Give(first);
  EXPECT_EQ(memory->Take(), first);
  EventMemory::Give(first);
  EventMemory::Give(second);
}

TEST(EventMemoryTest, BlocksOutliveTheirOwner) {
  auto memory = std::make_shared<EventMemory>();
  std::weak_ptr<EventMemory> watched = memory;
  void* block = memory->Take();
  memory.reset();
  static_cast<char*>(block)[EventMemory::kBytes - 1] = 1;
  EventMemory::Give(block);
  EXPECT_TRUE(watched.expired());
}

TEST(EventMemoryTest, ManyThreadsAllocateAndFree) {
  auto memory = std::make_shared<EventMemory>();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&memory, t] {
      for (int i = 0; i < 2000; ++i) {
        std::vector<int*> taken;
        for (int n = 0; n < 7; ++n) {
          taken.push_back(static_cast<int*>(memory->Take()));
          *taken.back() = t;
        }
        for (int* block : taken) {
          EXPECT_EQ(*block, t);  // no other thread has this block
          EventMemory::Give(block);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weft
