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

// Less than this is quickly there.
constexpr size_t kLeastAhead = size_t{2} << 20;
// Of pages copied aside: a huge page.
constexpr size_t kLargestBlock = size_t{2} << 20;

const char* BytesOf(const Tensor& tensor) {
  return static_cast<const char*>(tensor.data());
}

// Has the system give all pages of the tensor, whose values nobody has set.
void TouchPages(Tensor& tensor) {
  auto* bytes = static_cast<volatile char*>(tensor.mutable_data());
  for (size_t i = 0; i < tensor.num_bytes(); i += ChunkSnapshot::kPageBytes) {
    bytes[i] = 0;
  }
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

std::vector<Tensor> ChunkSnapshot::AllocateAhead(
    absl::Span<const std::shared_ptr<Variable>> variables,
    Allocator& allocator) {
  std::vector<Tensor> ahead(variables.size());
  size_t left = kMaxAheadBytes;
  for (size_t i = 0; i < variables.size(); ++i) {
    if (variables[i] == nullptr) continue;
    const std::optional<TensorShape> shape = variables[i]->ShapeUpdatedWhole();
    if (!shape.has_value()) continue;
    const size_t bytes =
        shape->num_elements() * DataTypeSize(variables[i]->dtype());
    if (bytes < kLeastAhead || bytes > left) continue;
    auto tensor = Tensor::Allocate(allocator, variables[i]->dtype(), *shape);
    if (!tensor.ok()) continue;
    TouchPages(*tensor);
    ahead[i] = *std::move(tensor);
    left -= bytes;
  }
  return ahead;
}

// Which locks are held is only known at run time.
absl::StatusOr<std::vector<std::unique_ptr<ChunkSnapshot>>>
ChunkSnapshot::TakeAll(absl::Span<const std::shared_ptr<Variable>> variables,
                       Allocator& allocator, std::vector<Tensor> ahead)
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
    if (i < ahead.size()) snapshots[i]->ahead_ = std::move(ahead[i]);
    variables[i]->updated_whole_ = false;
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
        absl::StrCat("chunk ", chunk, " of ", num_chunks(), " was asked for"));
  }
  Chunk& claimed = chunks_[chunk];
  if (claimed.is_read) {
    return absl::FailedPreconditionError(
        absl::StrCat("chunk ", chunk, " of a snapshot was read twice"));
  }
  Parts parts{.chunk = std::exchange(claimed, {.is_read = true})};
  const Tensor& rest = held_.IsInitialized() ? held_ : live;
  if (rest.IsInitialized()) parts.rest = BytesOf(rest) + chunk * kChunkBytes;
  if (held_.IsInitialized()) parts.keep = held_.buffer();
  if (unread_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    held_ = Tensor();
    parts.blocks = std::exchange(blocks_, {});
  }
  return parts;
}

// Where pages lie aside, they and the others are copied into one piece.
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
    int64_t chunk, absl::FunctionRef<void(absl::Span<const char>)> read) {
  // What is not in place will not be again: nobody has to be locked out.
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
        absl::StrCat("no memory to keep a page of variable ", variable_->name(),
                     " for a snapshot that is being read"));
  }
  const int64_t begin = page * kPageBytes;
  const int64_t size = std::min(kPageBytes, num_bytes_ - begin);
  std::memcpy(aside, BytesOf(value) + begin, size);
  chunk.aside[in_chunk] = aside;
  ++chunk.num_aside;
  bytes_copied_aside_ += size;
  return absl::OkStatus();
}

// What stays empty of the last block is at most a sixteenth of the variable,
// which has more than one chunk.
char* ChunkSnapshot::NextPage() {
  if (blocks_.empty() || used_of_last_ == blocks_.back()->size()) {
    const size_t size = std::bit_floor(
        std::min(static_cast<size_t>(num_bytes_) / 16, kLargestBlock));
    BufferPtr block = allocator_.Allocate(size);
    if (!block) return nullptr;
    blocks_.push_back(std::move(block));
    used_of_last_ = 0;
  }
  char* const page = static_cast<char*>(blocks_.back()->data()) + used_of_last_;
  used_of_last_ += kPageBytes;
  return page;
}

void ChunkSnapshot::TakeOver(const Tensor& value) {
  absl::MutexLock lock(&mutex_);
  if (!IsRead()) held_ = value;
}

}  // namespace weft
