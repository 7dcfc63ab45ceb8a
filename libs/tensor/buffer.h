// Buffer is reference-counted memory for tensors. Allocator allocates Buffers.
// BufferPool is the Allocator of a process, which caches freed blocks and
// reuses them.
#ifndef WEFT_LIBS_TENSOR_BUFFER_H_
#define WEFT_LIBS_TENSOR_BUFFER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

namespace weft {

// Which processor can access the memory: pinned and other host memory only the
// CPU; device memory only the device. The device's copies access pinned memory
// asynchronously.
enum class MemoryKind : uint8_t { kHost, kPinnedHost, kDevice };

// Memory is 64-byte aligned. Reference counts are thread-safe; the bytes are
// not synchronized: only a sole owner may write them.
class Buffer {
 public:
  static constexpr size_t kAlignment = 64;

  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  void* data() const { return data_; }
  // The requested bytes, not the capacity of the block.
  size_t size() const { return size_; }
  MemoryKind memory_kind() const { return memory_kind_; }

  void Ref() { references_.fetch_add(1, std::memory_order_relaxed); }
  void Unref() {
    if (references_.load(std::memory_order_acquire) == 1 ||
        references_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      Destroy();
    }
  }
  // True if the caller's reference is the only one, so that it may write.
  bool RefCountIsOne() const {
    return references_.load(std::memory_order_acquire) == 1;
  }

  // The same without an atomic read-modify-write, which takes as long as a
  // small kernel. REQUIRES: the caller's reference is the only one.
  void RefWhenSole() { references_.store(2, std::memory_order_relaxed); }
  // REQUIRES: the caller also has the only other reference.
  void UnrefOneOfTwo() {
    if (references_.load(std::memory_order_acquire) == 2) {
      references_.store(1, std::memory_order_relaxed);
    } else {
      references_.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

 protected:
  Buffer(void* data, size_t size, MemoryKind kind = MemoryKind::kHost)
      : data_(data), size_(size), memory_kind_(kind) {}
  virtual ~Buffer() = default;
  // Frees the memory; called once, by the last Unref.
  virtual void Destroy() = 0;

 private:
  void* const data_;
  const size_t size_;
  std::atomic<int64_t> references_{1};
  const MemoryKind memory_kind_;
};

// Owns one reference; may be null.
class BufferPtr {
 public:
  BufferPtr() = default;
  // Takes over the reference that the caller holds.
  static BufferPtr Adopt(Buffer* buffer) {
    BufferPtr result;
    result.buffer_ = buffer;
    return result;
  }
  BufferPtr(const BufferPtr& other) : buffer_(other.buffer_) {
    if (buffer_) buffer_->Ref();
  }
  BufferPtr(BufferPtr&& other) noexcept
      : buffer_(std::exchange(other.buffer_, nullptr)) {}
  BufferPtr& operator=(BufferPtr other) noexcept {
    std::swap(buffer_, other.buffer_);
    return *this;
  }
  ~BufferPtr() {
    if (buffer_) buffer_->Unref();
  }

  // Another reference to it, created as in Buffer::RefWhenSole. REQUIRES: this
  // is the only one.
  BufferPtr ShareWhenSole() const {
    buffer_->RefWhenSole();
    return Adopt(buffer_);
  }
  // Becomes null, as in Buffer::UnrefOneOfTwo. REQUIRES: the caller has the
  // other reference to it.
  void ReleaseOneOfTwo() { std::exchange(buffer_, nullptr)->UnrefOneOfTwo(); }

  Buffer* get() const { return buffer_; }
  Buffer* operator->() const { return buffer_; }
  explicit operator bool() const { return buffer_ != nullptr; }

 private:
  Buffer* buffer_ = nullptr;
};

// Thread-safe. Must outlive its buffers, unless documented otherwise.
class Allocator {
 public:
  virtual ~Allocator() = default;
  // Uninitialized memory; null if there is not enough. 0 bytes is allowed.
  virtual BufferPtr Allocate(size_t bytes) = 0;
};

// The C library's heap. Stateless, so it may be used from anywhere.
Allocator& HeapAllocator();

struct BufferPoolStats {
  int64_t bytes_in_use = 0;  // allocated now
  int64_t bytes_kept = 0;    // freed, cached for reuse
  // Exact for blocks above 64 KiB; small ones may add 64 KiB for each shard.
  int64_t peak_bytes_in_use = 0;
  int64_t allocations = 0;         // calls of Allocate
  int64_t system_allocations = 0;  // of those, the ones that went to the system
};

// Four size classes per octave; blocks of 2 MiB and more are mapped and advised
// to use huge pages. Buffers keep the pool's memory alive: a pool may be
// destroyed before its last buffer.
class BufferPool : public Allocator {
 public:
  struct Options {
    // Freed memory beyond this is returned to the system.
    size_t max_bytes_kept = size_t{1} << 30;
    // The total bytes that the pool may hold, called before a block of 64 MiB
    // and more is taken from the system (not for a cached block), because the
    // system overcommits memory and kills the process when it is written. May
    // be called by any thread. Null: no limit.
    std::function<int64_t()> memory_bound;
  };
  BufferPool();
  explicit BufferPool(const Options& options);
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;
  ~BufferPool() override;

  BufferPtr Allocate(size_t bytes) override;
  BufferPoolStats stats() const;

  class Impl;

 private:
  Impl* const impl_;  // outlives the pool until the last buffer is gone
};

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_BUFFER_H_
