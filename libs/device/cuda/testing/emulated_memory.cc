#include "libs/device/cuda/testing/emulated_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "absl/base/config.h"

#ifdef ABSL_HAVE_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, bytes)
#define ASAN_UNPOISON_MEMORY_REGION(address, bytes)
#endif

namespace weft {
namespace {

constexpr size_t kGuard = 256;  // and CUDA's alignment
constexpr char kGuardByte = '\xa5';
constexpr size_t kMostFilled = size_t{4} << 20;

char* Map(size_t bytes) {
  void* const memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  ASAN_POISON_MEMORY_REGION(memory, bytes);
  return static_cast<char*>(memory);
}

}  // namespace

EmulatedMemory::EmulatedMemory(size_t bytes, bool is_closed)
    : size_(2 * bytes),  // with room for guards
      is_closed_(is_closed),
      arena_(Map(size_)),
      free_{{0, size_}} {
  Close();
}

EmulatedMemory::~EmulatedMemory() {
  ASAN_UNPOISON_MEMORY_REGION(arena_, size_);
  munmap(arena_, size_);
}

void EmulatedMemory::Open() {
  if (is_closed_) mprotect(arena_, size_, PROT_READ | PROT_WRITE);
}

void EmulatedMemory::Close() {
  if (is_closed_) mprotect(arena_, size_, PROT_NONE);
}

void* EmulatedMemory::Take(size_t bytes) {
  Block block;
  block.bytes = bytes;
  block.size = (bytes + kGuard - 1) / kGuard * kGuard + 2 * kGuard;
  const auto found = std::find_if(
      free_.begin(), free_.end(),
      [&](const auto& piece) { return piece.second >= block.size; });
  if (bytes > size_ || found == free_.end()) return nullptr;
  const auto [offset, size] = *found;
  free_.erase(found);
  if (size > block.size) free_[offset + block.size] = size - block.size;
  blocks_[offset] = block;
  in_use_ += bytes;
  Open();
  SetGuards(offset, block);
  Close();
  return arena_ + offset + kGuard;
}

void EmulatedMemory::SetGuards(size_t offset, const Block& block) {
  char* const begin = arena_ + offset;
  ASAN_UNPOISON_MEMORY_REGION(begin, block.size);
  std::memset(begin, kGuardByte, kGuard);
  std::memset(begin + kGuard, 0xff, std::min(block.bytes, kMostFilled));
  char* const end = begin + kGuard + block.bytes;
  std::memset(end, kGuardByte, static_cast<size_t>(begin + block.size - end));
  ASAN_POISON_MEMORY_REGION(begin, kGuard);
  ASAN_POISON_MEMORY_REGION(end, static_cast<size_t>(begin + block.size - end));
}

bool EmulatedMemory::Give(void* memory) {
  const auto at = static_cast<size_t>(static_cast<char*>(memory) - arena_);
  const auto found = blocks_.find(at - kGuard);
  if (found == blocks_.end()) return false;
  const auto [offset, block] = *found;
  Open();
  CheckGuards(offset, block);
  Close();
  blocks_.erase(found);
  in_use_ -= block.bytes;
  auto piece = free_.emplace(offset, block.size).first;
  const auto next = std::next(piece);
  if (next != free_.end() && offset + piece->second == next->first) {
    piece->second += next->second;
    free_.erase(next);
  }
  if (piece != free_.begin()) {
    const auto before = std::prev(piece);
    if (before->first + before->second == offset) {
      before->second += piece->second;
      free_.erase(piece);
    }
  }
  return true;
}

void EmulatedMemory::CheckGuards(size_t offset, const Block& block) const {
  const char* const begin = arena_ + offset;
  const char* const end = begin + block.size;
  ASAN_UNPOISON_MEMORY_REGION(begin, block.size);
  const auto is_guard = [](char byte) { return byte == kGuardByte; };
  const bool is_whole =
      std::all_of(begin, begin + kGuard, is_guard) &&
      std::all_of(begin + kGuard + block.bytes, end, is_guard);
  ASAN_POISON_MEMORY_REGION(begin, block.size);
  if (is_whole) return;
  std::fprintf(stderr, "EmulatedMemory: written beside a block of %zu bytes\n",
               block.bytes);
  std::abort();
}

bool EmulatedMemory::Holds(const void* from, size_t bytes) const {
  const auto* const begin = static_cast<const char*>(from);
  if (begin < arena_ || begin >= arena_ + size_) return false;
  const auto at = static_cast<size_t>(begin - arena_);
  auto found = blocks_.upper_bound(at);
  if (found == blocks_.begin()) return false;
  --found;
  const size_t first = found->first + kGuard;
  return at >= first && bytes <= found->second.bytes &&
         at - first <= found->second.bytes - bytes;
}

}  // namespace weft
