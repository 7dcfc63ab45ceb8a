#include "libs/protocol/codec/receive_memory.h"

#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft::protocol {
namespace {

// Holds the buffer as a shared_ptr; the type identifies it later.
struct ReceivedMemory {
  BufferPtr buffer;
  void operator()(const void*) { buffer = BufferPtr(); }
};

absl::Status NoMemory(uint64_t bytes) {
  return absl::ResourceExhaustedError(
      absl::StrCat("no memory for ", bytes, " bytes that another task sends"));
}

}  // namespace

absl::StatusOr<bus::ReceiveMemory::Buffer> AllocatorReceiveMemory::Reserve(
    uint64_t bytes) {
  if (bytes > std::numeric_limits<size_t>::max()) return NoMemory(bytes);
  BufferPtr buffer = allocator_.Allocate(static_cast<size_t>(bytes));
  if (!buffer) return NoMemory(bytes);
  Buffer room;
  room.data = static_cast<char*>(buffer->data());
  room.owner =
      std::shared_ptr<const void>(room.data, ReceivedMemory{std::move(buffer)});
  return room;
}

BufferPtr ReceiveBufferOf(const bus::Blob& blob) {
  const auto* landed = std::get_deleter<ReceivedMemory>(blob.owner());
  if (landed == nullptr || !landed->buffer) return BufferPtr();
  // A small part of a shared stream would keep all of it.
  const bool whole = blob.data() == landed->buffer->data() &&
                     blob.size() <= landed->buffer->size() &&
                     blob.size() >= landed->buffer->size() / 2;
  return whole ? landed->buffer : BufferPtr();
}

}  // namespace weft::protocol
