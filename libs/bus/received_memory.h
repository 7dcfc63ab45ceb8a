// ReceivedMemory: what keeps the memory alive in which another process's bytes
// came, and tells that nobody else has it: who holds the only Blob of all of it
// may read and write it, and keep it for as long as he likes.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_BUS_RECEIVED_MEMORY_H_
#define WEFT_LIBS_BUS_RECEIVED_MEMORY_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "libs/bus/blob.h"

namespace weft::bus {

// The deleter of such a blob's owner, by which it is known again.
struct ReceivedMemory {
  std::shared_ptr<const void> memory;
  size_t size = 0;
  void operator()(const void*) { memory.reset(); }
};

// `memory` keeps [data, data + size) alive and has nothing else.
inline Blob ReceivedBlob(std::shared_ptr<const void> memory, const void* data,
                         size_t size) {
  std::shared_ptr<const void> owner(data,
                                    ReceivedMemory{std::move(memory), size});
  return Blob(std::move(owner), data, size);
}

// Whether the blob is all of what came into memory of its own.
inline bool IsWhollyReceived(const Blob& blob) {
  const auto* received = std::get_deleter<ReceivedMemory>(blob.owner());
  return received != nullptr && blob.data() == blob.owner().get() &&
         blob.size() == received->size;
}

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_RECEIVED_MEMORY_H_
