// AllocatorReceiveMemory allocates receive buffers for streamed attachments
// from an Allocator, so that a received attachment already is a tensor's buffer
// and is never copied again.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_PROTOCOL_CODEC_RECEIVE_MEMORY_H_
#define WEFT_LIBS_PROTOCOL_CODEC_RECEIVE_MEMORY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "libs/bus/blob.h"
#include "libs/bus/message.h"
#include "libs/tensor/buffer.h"

namespace weft::protocol {

class AllocatorReceiveMemory : public bus::ReceiveMemory {
 public:
  // `allocator` must outlive the buffers, unless they keep it alive, as those
  // of a BufferPool do.
  explicit AllocatorReceiveMemory(Allocator& allocator)
      : allocator_(allocator) {}

  // Returns RESOURCE_EXHAUSTED if the allocator has no memory.
  absl::StatusOr<Buffer> Reserve(uint64_t bytes) override;

 private:
  Allocator& allocator_;
};

// If `blob` begins at a buffer of an AllocatorReceiveMemory and lies within it,
// returns the buffer. Returns null for every other blob. Also returns null if
// the blob is less than half of the buffer, because it would keep the whole
// buffer alive. The caller is the only owner of the buffer once all copies of
// the blob are gone.
BufferPtr ReceiveBufferOf(const bus::Blob& blob);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_CODEC_RECEIVE_MEMORY_H_
