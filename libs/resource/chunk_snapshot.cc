#include "libs/resource/chunk_snapshot.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

const char* BytesOf(const Tensor& tensor) {
  return static_cast<const char*>(tensor.data());
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

// Which locks are held is only known at run time.
absl::StatusOr<std::vector<std::unique_ptr<ChunkSnapshot>>>
ChunkSnapshot::TakeAll(absl::Span<const std::shared_ptr<Variable>> variables,
                       Allocator& allocator) ABSL_NO_THREAD_SAFETY_ANALYSIS {
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

Tensor ChunkSnapshot::whole() const {
  absl::MutexLock lock(&mutex_);
  return held_;
}

int64_t ChunkSnapshot::bytes_copied_aside() const {
  absl::MutexLock lock(&mutex_);
  return bytes_copied_aside_;
}

absl::Status ChunkSnapshot::Claim(int64_t chunk, const Tensor& live,
                                  BufferPtr& keep,
                                  absl::Span<const char>& bytes) {
  absl::MutexLock lock(&mutex_);
  if (chunk < 0 || chunk >= num_chunks()) {
    return absl::OutOfRangeError(
        absl::StrCat("chunk ", chunk, " of ", num_chunks(), " was asked for"));
  }
  Chunk& claimed = chunks_[chunk];
  if (claimed.state == State::kRead) {
    return absl::FailedPreconditionError(
        absl::StrCat("chunk ", chunk, " of a snapshot was read twice"));
  }
  const char* begin = nullptr;
  if (claimed.state == State::kAside) {
    keep = std::move(claimed.aside);
    begin = static_cast<const char*>(keep->data());
  } else {
    const bool is_held = held_.IsInitialized();
    if (is_held) keep = held_.buffer();
    begin = BytesOf(is_held ? held_ : live) + chunk * kChunkBytes;
  }
  claimed.state = State::kRead;
  if (unread_.fetch_sub(1, std::memory_order_acq_rel) == 1) held_ = Tensor();
  bytes = {begin, static_cast<size_t>(ChunkSize(chunk))};
  return absl::OkStatus();
}

bool ChunkSnapshot::IsInPlace(int64_t chunk) const {
  absl::MutexLock lock(&mutex_);
  return !held_.IsInitialized() && chunk >= 0 && chunk < num_chunks() &&
         chunks_[chunk].state == State::kInPlace;
}

absl::Status ChunkSnapshot::ReadChunk(
    int64_t chunk, absl::FunctionRef<void(absl::Span<const char>)> read) {
  BufferPtr keep;
  absl::Span<const char> bytes;
  // What is not in place will not be again: nobody has to be locked out.
  if (!IsInPlace(chunk)) {
    RETURN_IF_ERROR(Claim(chunk, Tensor(), keep, bytes));
    read(bytes);
    return absl::OkStatus();
  }
  {
    variable_->LockToReadFirst();
    const absl::Cleanup unlock = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      variable_->mutex_.ReaderUnlock();
    };
    RETURN_IF_ERROR(Claim(chunk, variable_->value_, keep, bytes));
    if (!keep) {
      read(bytes);
      return absl::OkStatus();
    }
  }
  read(bytes);
  return absl::OkStatus();
}

absl::Status ChunkSnapshot::Preserve(const Tensor& value, int64_t begin,
                                     int64_t end) {
  absl::MutexLock lock(&mutex_);
  begin = std::clamp<int64_t>(begin, 0, num_bytes_);
  end = std::clamp<int64_t>(end, 0, num_bytes_);
  for (int64_t i = begin / kChunkBytes; i * kChunkBytes < end; ++i) {
    Chunk& chunk = chunks_[i];
    if (chunk.state != State::kInPlace) continue;
    BufferPtr aside = allocator_.Allocate(ChunkSize(i));
    if (!aside) {
      return absl::ResourceExhaustedError(absl::StrCat(
          "no memory to keep a chunk of variable ", variable_->name(),
          " for a snapshot that is being read"));
    }
    std::memcpy(aside->data(), BytesOf(value) + i * kChunkBytes, ChunkSize(i));
    chunk.aside = std::move(aside);
    chunk.state = State::kAside;
    bytes_copied_aside_ += ChunkSize(i);
  }
  return absl::OkStatus();
}

void ChunkSnapshot::TakeOver(const Tensor& value) {
  absl::MutexLock lock(&mutex_);
  if (!IsRead()) held_ = value;
}

}  // namespace weft
