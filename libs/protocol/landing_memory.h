// AllocatorLandingMemory: where attachments land that stream in: memory of an
// Allocator, so that what has landed is a tensor's buffer already and is never
// copied again.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_PROTOCOL_LANDING_MEMORY_H_
#define WEFT_LIBS_PROTOCOL_LANDING_MEMORY_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "libs/bus/blob.h"
#include "libs/bus/message.h"
#include "libs/tensor/buffer.h"

namespace weft::protocol {

class AllocatorLandingMemory : public bus::LandingMemory {
 public:
  // `allocator` must outlive what lands, unless its buffers keep it alive, as
  // those of a BufferPool do.
  explicit AllocatorLandingMemory(Allocator& allocator)
      : allocator_(allocator) {}

  // RESOURCE_EXHAUSTED when the allocator has none.
  absl::StatusOr<Room> Reserve(uint64_t bytes) override;

 private:
  Allocator& allocator_;
};

// The buffer that `blob` begins at and that holds all of it, where it landed in
// an AllocatorLandingMemory; null for every other blob, and for one that is
// less than half of the buffer, all of which it would keep. Whoever takes it is
// its only owner once all copies of the blob are gone.
BufferPtr LandedBuffer(const bus::Blob& blob);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_LANDING_MEMORY_H_
