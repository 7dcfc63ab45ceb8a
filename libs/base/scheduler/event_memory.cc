#include "libs/base/scheduler/event_memory.h"

#include <utility>

namespace weft {

EventMemory::~EventMemory() {
  for (std::atomic<Block*>& kept : kept_) delete kept.load();
}

void* EventMemory::Take() {
  Block* block = nullptr;
  for (std::atomic<Block*>& kept : kept_) {
    if (kept.load(std::memory_order_relaxed) == nullptr) continue;
    block = kept.exchange(nullptr, std::memory_order_acquire);
    if (block != nullptr) break;
  }
  if (block == nullptr) block = new Block;
  block->owner = shared_from_this();
  return block->bytes;
}

void EventMemory::Give(void* memory) {
  std::unique_ptr<Block> block(reinterpret_cast<Block*>(
      static_cast<std::byte*>(memory) - offsetof(Block, bytes)));
  // `owner` is declared first, so that the EventMemory lives until its last use
  // here.
  const std::shared_ptr<EventMemory> owner = std::move(block->owner);
  owner->Keep(std::move(block));
}

void EventMemory::Keep(std::unique_ptr<Block> block) {
  for (std::atomic<Block*>& kept : kept_) {
    Block* empty = nullptr;
    if (kept.load(std::memory_order_relaxed) == nullptr &&
        kept.compare_exchange_strong(empty, block.get(),
                                     std::memory_order_release)) {
      static_cast<void>(block.release());  // kept_ owns the block
      return;
    }
  }
}

}  // namespace weft
