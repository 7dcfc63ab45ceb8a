#include "libs/tensor/heap_charge.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

absl::Status OutOfMemory(size_t used, size_t bytes) {
  return absl::ResourceExhaustedError(absl::StrCat(
      "OOM when allocating strings or containers: ", bytes, " bytes, with ",
      used, " bytes taken before, are more than there is memory for"));
}

// A BufferPool checks its memory bound for blocks of this size and more.
constexpr size_t kBoundedBytes = size_t{64} << 20;

// Returns the memory of the block's pages to the system. A pool may return a
// block that was written before; its memory is for the strings. The pages of
// small blocks stay: no bound counts them, and the next tensor in the block
// would have to wait for new ones.
void ReleasePages(const Buffer& block) {
  if (block.size() < kBoundedBytes) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto data = reinterpret_cast<uintptr_t>(block.data());
  const uintptr_t begin = (data + page - 1) & ~(page - 1);
  const uintptr_t end = (data + block.size()) & ~(page - 1);
  if (block.memory_kind() != MemoryKind::kHost || end <= begin) return;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace

absl::Status HeapCharge::AddObjects(size_t count, size_t size) {
  size_t bytes = 0;
  if (!__builtin_mul_overflow(count, size, &bytes)) return Add(bytes);
  return absl::ResourceExhaustedError(
      absl::StrCat("OOM when allocating strings or containers: ", count,
                   " objects of ", size, " bytes are more than 2**64 bytes"));
}

// Small additions reserve more than they need, to reserve less often.
absl::Status HeapCharge::Grow(size_t bytes) {
  const size_t needed = bytes - (granted_ - used_);
  const size_t wanted = std::max(needed, granted_ / 2);
  size_t granted = wanted;
  BufferPtr block = allocator_->Allocate(granted);
  // If the bound refused it, the smaller block must not evade the bound.
  const size_t least =
      wanted < kBoundedBytes ? needed : std::max(needed, kBoundedBytes);
  if (!block && least < wanted) {
    granted = least;
    block = allocator_->Allocate(granted);
  }
  if (!block) return OutOfMemory(used_, bytes);
  ReleasePages(*block.get());
  blocks_.push_back(std::move(block));
  granted_ += granted;
  used_ += bytes;
  return absl::OkStatus();
}

}  // namespace weft
