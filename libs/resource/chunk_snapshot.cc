#include "libs/resource/chunk_snapshot.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// Smaller amounts are not preallocated, because they are quickly allocated when
// needed.
constexpr int64_t kLeastAhead = int64_t{2} << 20;
// The number of row updates for which pages are preallocated. After this many
// updates, the reader has usually passed many of the updated rows, and they
// need no more copies.
constexpr int64_t kUpdatesAhead = 16;

const char* BytesOf(const Tensor& tensor) {
  return static_cast<const char*>(tensor.data());
}

// Makes the system map all pages of uninitialized memory.
void TouchPages(void* memory, size_t size) {
  auto* bytes = static_cast<volatile char*>(memory);
  for (size_t i = 0; i < size; i += ChunkSnapshot::kPageBytes) bytes[i] = 0;
}

// Returns the size of the blocks into which pages are copied: a huge page, or
// less for a small variable. So the unused part of the last block is at most a
// sixteenth of the variable. REQUIRES: the variable has more than one chunk.
size_t BlockSize(int64_t num_bytes) {
  return std::bit_floor(
      static_cast<uint64_t>(std::min(num_bytes / 16, int64_t{2} << 20)));
}

Tensor NextValue(const Variable& variable, const TensorShape& shape,
                 Allocator& allocator) {
  auto tensor = Tensor::Allocate(allocator, variable.dtype(), shape);
  if (!tensor.ok()) return Tensor();
  TouchPages(tensor->mutable_data(), tensor->num_bytes());
  return *std::move(tensor);
}

// Allocates blocks for `wanted` bytes, for a variable of `num_bytes`. The
// blocks have at most `left` bytes in total.
std::vector<BufferPtr> NextBlocks(int64_t wanted, int64_t left,
                                  int64_t num_bytes, Allocator& allocator) {
  std::vector<BufferPtr> blocks;
  const auto size = static_cast<int64_t>(BlockSize(num_bytes));
  const int64_t count = std::min((wanted + size - 1) / size, left / size);
  for (int64_t i = 0; i < count; ++i) {
    BufferPtr block = allocator.Allocate(size);
    if (!block) break;
    TouchPages(block->data(), size);
    blocks.push_back(std::move(block));
  }
  return blocks;
}

}  // namespace

ChunkSnapshot::ChunkSnapshot(std::shared_ptr<Variable> variable,
                             Allocator& allocator, const Tensor& value)
    : variable_(std::move(variable)),
      allocator_(allocator),
      dtype_(value.dtype()),
      shape_(value.shape()),
      num_bytes_(static_cast<int64_t>(value.num_bytes())),
      chunks_((num_bytes_ + kChunkBytes - 1) / kChunkBytes),
      unread_(static_cast<int64_t>(chunks_.size())) {}

absl::StatusOr<std::unique_ptr<ChunkSnapshot>> ChunkSnapshot::Take(
    std::shared_ptr<Variable> variable, Allocator& allocator) {
  ASSIGN_OR_RETURN(auto all, TakeAll({std::move(variable)}, allocator));
  return std::move(all[0]);
}

std::vector<ChunkSnapshot::Ahead> ChunkSnapshot::AllocateAhead(
    absl::Span<const std::shared_ptr<Variable>> variables,
    Allocator& allocator) {
  std::vector<Ahead> ahead(variables.size());
  int64_t left = kMaxAheadBytes;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i] == nullptr) continue;
    const Variable::Updates updates = variables[i]->updates();
    const auto bytes = static_cast<int64_t>(
        updates.shape.num_elements() * DataTypeSize(variables[i]->dtype()));
    if (bytes < kLeastAhead) continue;
    if (updates.of_all && bytes <= left) {
      ahead[i].value = NextValue(*variables[i], updates.shape, allocator);
      left -= bytes;
    } else if (!updates.of_all && updates.row_bytes > 0) {
      ahead[i].blocks =
          NextBlocks(std::min(bytes, kUpdatesAhead * updates.row_bytes), left,
                     bytes, allocator);
      for (const BufferPtr& block : ahead[i].blocks) {
        left -= static_cast<int64_t>(block->size());
      }
    }
  }
  return ahead;
}

// The thread safety analysis is off because the set of locks is known only at
// run time.
absl::StatusOr<std::vector<std::unique_ptr<ChunkSnapshot>>>
ChunkSnapshot::TakeAll(absl::Span<const std::shared_ptr<Variable>> variables,
                       Allocator& allocator, std::vector<Ahead> ahead)
    ABSL_NO_THREAD_SAFETY_ANALYSIS {
  std::vector<Variable*> locked;
  for (const auto& variable : variables) locked.push_back(variable.get());
  std::vector<std::unique_ptr<ChunkSnapshot>> snapshots;
  RETURN_IF_ERROR(Variable::LockAllToWriteFirst(locked));
  absl::Status status;
  for (Variable* variable : locked) {
    if (!variable->value_.IsInitialized()) {
      status.Update(variable->Uninitialized());
    }
  }
  for (size_t i = 0; i < variables.size() && status.ok(); ++i) {
    snapshots.push_back(TakeLocked(variables[i], allocator));
    if (i < ahead.size()) snapshots[i]->Keep(std::move(ahead[i]));
    variables[i]->updated_whole_ = false;
    variables[i]->updated_row_bytes_ = 0;
  }
  Variable::UnlockAll(locked);
  if (!status.ok()) return status;
  return snapshots;
}

std::unique_ptr<ChunkSnapshot> ChunkSnapshot::TakeLocked(
    std::shared_ptr<Variable> variable,
    Allocator& allocator) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  Variable& v = *variable;
  std::unique_ptr<ChunkSnapshot> snapshot(
      new ChunkSnapshot(std::move(variable), allocator, v.value_));
  if (snapshot->num_chunks() <= 1 || DataTypeSize(v.dtype_) == 0) {
    absl::MutexLock lock(&snapshot->mutex_);
    snapshot->held_ = v.value_;
  } else {
    v.snapshots_.push_back(snapshot.get());
  }
  return snapshot;
}

void ChunkSnapshot::Keep(Ahead ahead) {
  next_value_ = std::move(ahead.value);
  absl::MutexLock lock(&mutex_);
  if (!IsRead()) next_blocks_ = std::move(ahead.blocks);
}

ChunkSnapshot::~ChunkSnapshot() {
  variable_->LockToWriteFirst();
  auto& snapshots = variable_->snapshots_;
  snapshots.erase(std::remove(snapshots.begin(), snapshots.end(), this),
                  snapshots.end());
  variable_->mutex_.Unlock();
}

int64_t ChunkSnapshot::ChunkSize(int64_t chunk) const {
  return std::min(kChunkBytes, num_bytes_ - chunk * kChunkBytes);
}

int64_t ChunkSnapshot::NumPages(int64_t chunk) const {
  return (ChunkSize(chunk) + kPageBytes - 1) / kPageBytes;
}

Tensor ChunkSnapshot::whole() const {
  absl::MutexLock lock(&mutex_);
  return held_;
}

int64_t ChunkSnapshot::bytes_copied_aside() const {
  absl::MutexLock lock(&mutex_);
  return bytes_copied_aside_;
}

absl::StatusOr<ChunkSnapshot::Parts> ChunkSnapshot::Claim(int64_t chunk,
                                                          const Tensor& live) {
  absl::MutexLock lock(&mutex_);
  if (chunk < 0 || chunk >= num_chunks()) {
    return absl::OutOfRangeError(
        absl::StrCat("chunk ", chunk, " is out of range: the snapshot has ",
                     num_chunks(), " chunks"));
  }
  Chunk& claimed = chunks_[chunk];
  if (claimed.is_read) {
    return absl::FailedPreconditionError(
        absl::StrCat("chunk ", chunk, " of a snapshot was already read"));
  }
  Parts parts{.chunk = std::exchange(claimed, {.is_read = true})};
  const Tensor& rest = held_.IsInitialized() ? held_ : live;
  if (rest.IsInitialized()) parts.rest = BytesOf(rest) + chunk * kChunkBytes;
  if (held_.IsInitialized()) parts.keep = held_.buffer();
  if (unread_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    held_ = Tensor();
    parts.blocks = std::exchange(blocks_, {});
    next_blocks_.clear();
  }
  return parts;
}

// Returns the bytes of a chunk. If some of its pages were copied aside, copies
// all of its pages into one buffer.
absl::Span<const char> ChunkSnapshot::PutTogether(int64_t chunk,
                                                  const Parts& parts) {
  const int64_t size = ChunkSize(chunk);
  if (parts.chunk.num_aside == 0) {
    return {parts.rest, static_cast<size_t>(size)};
  }
  put_together_.resize(kChunkBytes);
  for (int64_t page = 0; page < NumPages(chunk); ++page) {
    const int64_t begin = page * kPageBytes;
    const char* const aside = parts.chunk.aside[page];
    std::memcpy(put_together_.data() + begin,
                aside != nullptr ? aside : parts.rest + begin,
                std::min(kPageBytes, size - begin));
  }
  return {put_together_.data(), static_cast<size_t>(size)};
}

bool ChunkSnapshot::IsInPlace(int64_t chunk) const {
  absl::MutexLock lock(&mutex_);
  if (held_.IsInitialized() || chunk < 0 || chunk >= num_chunks()) return false;
  const Chunk& asked = chunks_[chunk];
  return !asked.is_read && asked.num_aside < NumPages(chunk);
}

absl::Status ChunkSnapshot::ReadChunk(
    int64_t chunk, absl::FunctionRef<void(absl::Span<const char>)> read)
    ABSL_NO_THREAD_SAFETY_ANALYSIS {
  // Only a chunk in place needs the variable's lock. A chunk that is not in
  // place never becomes so again.
  if (!IsInPlace(chunk)) {
    ASSIGN_OR_RETURN(Parts parts, Claim(chunk, Tensor()));
    read(PutTogether(chunk, parts));
    return absl::OkStatus();
  }
  Parts parts;
  {
    variable_->LockToReadFirst();
    const absl::Cleanup unlock = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      variable_->mutex_.ReaderUnlock();
    };
    ASSIGN_OR_RETURN(parts, Claim(chunk, variable_->value_));
    if (!parts.keep) {
      read(PutTogether(chunk, parts));
      return absl::OkStatus();
    }
  }
  read(PutTogether(chunk, parts));
  return absl::OkStatus();
}

absl::Status ChunkSnapshot::Preserve(const Tensor& value, int64_t begin,
                                     int64_t end) {
  absl::MutexLock lock(&mutex_);
  begin = std::clamp<int64_t>(begin, 0, num_bytes_);
  end = std::clamp<int64_t>(end, 0, num_bytes_);
  for (int64_t i = begin / kPageBytes; i * kPageBytes < end; ++i) {
    RETURN_IF_ERROR(PreservePage(value, i));
  }
  return absl::OkStatus();
}

absl::Status ChunkSnapshot::PreservePage(const Tensor& value, int64_t page) {
  constexpr int64_t kPages = kChunkBytes / kPageBytes;
  const int64_t number = page / kPages, in_chunk = page % kPages;
  Chunk& chunk = chunks_[number];
  if (chunk.is_read) return absl::OkStatus();
  if (chunk.aside.empty()) chunk.aside.resize(NumPages(number));
  if (chunk.aside[in_chunk] != nullptr) return absl::OkStatus();
  char* const aside = NextPage();
  if (aside == nullptr) {
    return absl::ResourceExhaustedError(
        absl::StrCat("not enough memory to keep a page of variable ",
                     variable_->name(), " for a snapshot that is being read"));
  }
  const int64_t begin = page * kPageBytes;
  const int64_t size = std::min(kPageBytes, num_bytes_ - begin);
  std::memcpy(aside, BytesOf(value) + begin, size);
  chunk.aside[in_chunk] = aside;
  ++chunk.num_aside;
  bytes_copied_aside_ += size;
  return absl::OkStatus();
}

char* ChunkSnapshot::NextPage() {
  if (blocks_.empty() || used_of_last_ == blocks_.back()->size()) {
    BufferPtr block = NextBlock();
    if (!block) return nullptr;
    blocks_.push_back(std::move(block));
    used_of_last_ = 0;
  }
  char* const page = static_cast<char*>(blocks_.back()->data()) + used_of_last_;
  used_of_last_ += kPageBytes;
  return page;
}

BufferPtr ChunkSnapshot::NextBlock() {
  if (next_blocks_.empty()) return allocator_.Allocate(BlockSize(num_bytes_));
  BufferPtr block = std::move(next_blocks_.back());
  next_blocks_.pop_back();
  return block;
}

void ChunkSnapshot::TakeOver(const Tensor& value) {
  absl::MutexLock lock(&mutex_);
  if (!IsRead()) held_ = value;
}

}  // namespace weft
