// Small FlatBuffers as Blobs with one allocation, and Blobs as verified
// FlatBuffers. Only for .cc files of this module: it includes FlatBuffers.
//
// Threads: as the objects of the standard library.
#ifndef WEFT_LIBS_BUS_FLAT_BLOB_INL_H_
#define WEFT_LIBS_BUS_FLAT_BLOB_INL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "flatbuffers/flatbuffers.h"
#include "libs/base/status.h"
#include "libs/bus/blob.h"
#include "schemas/error_generated.h"

namespace weft::bus {

inline constexpr size_t kMaxDepth = 16;
// The maximum number of tables of a small message; a larger one may have one
// per 8 bytes, the minimum size of a table.
inline constexpr size_t kMaxTables = 4096;

// Allocates a builder's memory: on the stack while the message is small.
class StackAllocator : public flatbuffers::Allocator {
 public:
  uint8_t* allocate(size_t size) override {
    if (size > sizeof(memory_) || taken_) return new uint8_t[size];
    taken_ = true;
    return memory_;
  }
  void deallocate(uint8_t* memory, size_t) override {
    if (memory == memory_) {
      taken_ = false;
    } else {
      delete[] memory;
    }
  }

 private:
  alignas(16) uint8_t memory_[512];
  bool taken_ = false;
};

// A builder that does not allocate for a small message.
class SmallBuilder {
 public:
  flatbuffers::FlatBufferBuilder& operator*() { return builder_; }
  flatbuffers::FlatBufferBuilder* operator->() { return &builder_; }

  // Returns the built message, with the only allocation.
  Blob ToBlob() const {
    const size_t size = builder_.GetSize();
    const auto bytes = std::make_shared_for_overwrite<uint64_t[]>(
        (size + sizeof(uint64_t) - 1) / sizeof(uint64_t));
    std::memcpy(bytes.get(), builder_.GetBufferPointer(), size);
    return Blob(bytes, bytes.get(), size);
  }

 private:
  StackAllocator allocator_;
  flatbuffers::FlatBufferBuilder builder_{sizeof(StackAllocator) - 32,
                                          &allocator_};
};

// Returns the same bytes with the alignment that FlatBuffers requires.
inline Blob Aligned(const Blob& blob) {
  const auto address = reinterpret_cast<uintptr_t>(blob.data());
  if (address % alignof(uint64_t) == 0) return blob;
  const auto bytes = std::make_shared_for_overwrite<uint64_t[]>(
      (blob.size() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  std::memcpy(bytes.get(), blob.data(), blob.size());
  return Blob(bytes, bytes.get(), blob.size());
}

// Returns null if the bytes of the (aligned) blob are not a Root with
// `identifier`.
template <typename Root>
const Root* VerifiedRoot(const Blob& aligned, const char* identifier) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(aligned.data());
  if (aligned.size() < 8 || aligned.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) {
    return nullptr;
  }
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(
      std::max(kMaxTables, aligned.size() / 8));
  flatbuffers::Verifier verifier(bytes, aligned.size(), kMaxDepth, max_tables);
  if (!verifier.VerifyBuffer<Root>(identifier)) return nullptr;
  return flatbuffers::GetRoot<Root>(bytes);
}

flatbuffers::Offset<schemas::Error> PackError(
    flatbuffers::FlatBufferBuilder& builder, const absl::Status& status);
// Always returns an error: an invalid code becomes UNKNOWN.
absl::Status UnpackError(const schemas::Error& error);

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_FLAT_BLOB_INL_H_
