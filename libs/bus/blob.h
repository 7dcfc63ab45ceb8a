// Blob is a range of bytes to be sent or received, with the owner that keeps
// them alive.
//
// Threads: a value, like a shared_ptr. The bytes must not change while any Blob
// views them, except by the creator of the memory before it is sent.
#ifndef WEFT_LIBS_BUS_BLOB_H_
#define WEFT_LIBS_BUS_BLOB_H_

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"

namespace weft::bus {

class Blob {
 public:
  Blob() = default;
  // `owner` keeps the bytes [data, data + size) alive. The Blob may release
  // `owner` on any thread.
  Blob(std::shared_ptr<const void> owner, const void* data, size_t size)
      : owner_(std::move(owner)),
        data_(static_cast<const char*>(data)),
        size_(size) {}

  // Returns a Blob for a whole receive buffer that nothing else refers to: the
  // holder of the only Blob of it may write to it, and keep it for long.
  static Blob Received(std::shared_ptr<const void> owner, const void* data,
                       size_t size) {
    Blob blob(std::move(owner), data, size);
    blob.is_wholly_received_ = true;
    return blob;
  }

  static Blob FromString(std::string bytes) {
    auto owner = std::make_shared<const std::string>(std::move(bytes));
    const char* data = owner->data();
    const size_t size = owner->size();
    return Blob(std::move(owner), data, size);
  }

  const char* data() const { return data_; }
  size_t size() const { return size_; }
  absl::string_view view() const { return {data_, size_}; }
  const std::shared_ptr<const void>& owner() const { return owner_; }
  // Whether this Blob was made by Received, not by Part.
  bool is_wholly_received() const { return is_wholly_received_; }

  // Returns a Blob of the bytes [begin, begin + size), with the same owner.
  // REQUIRES: the bytes are inside this Blob.
  Blob Part(size_t begin, size_t size) const {
    return Blob(owner_, data_ + begin, size);
  }

 private:
  std::shared_ptr<const void> owner_;
  const char* data_ = nullptr;
  size_t size_ = 0;
  bool is_wholly_received_ = false;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_BLOB_H_
