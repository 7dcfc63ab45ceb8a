#include "libs/resource/staging_area.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// Calls of the same sequence are served in FIFO order: puts in one sequence,
// takes in the other.
constexpr Attempts::Sequence kPuts = 0;
constexpr Attempts::Sequence kTakes = 1;

uint64_t StagedBytes(const StagedTuple& tuple) {
  uint64_t bytes = 0;
  for (const Tensor& tensor : tuple) bytes += tensor.TotalBytes();
  return bytes;
}

// Subtracts a size, but not below zero: a string that is shared with others may
// have changed since it was counted.
void TakeOff(uint64_t bytes, uint64_t& from) { from -= std::min(bytes, from); }

absl::Status CheckFits(uint64_t bytes, const StagingLimits& limits) {
  if (limits.memory_limit <= 0 ||
      bytes <= static_cast<uint64_t>(limits.memory_limit)) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("Attempted to insert tensors with combined size of '", bytes,
                   "' bytes into Staging Area with a memory limit of '",
                   limits.memory_limit, "'."));
}

// Returns whether `more` bytes can be added now. REQUIRES: CheckFits(more).
bool HasBytesLeft(uint64_t bytes, uint64_t more, const StagingLimits& limits) {
  return limits.memory_limit <= 0 ||
         bytes <= static_cast<uint64_t>(limits.memory_limit) - more;
}

bool IsFull(size_t count, const StagingLimits& limits) {
  return limits.capacity > 0 && count >= static_cast<uint64_t>(limits.capacity);
}

absl::Status CheckStagedCount(size_t has, size_t wanted) {
  if (has == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Mismatch stage/unstage: ", has, " vs. ", wanted));
}

absl::Status CheckStagedType(size_t i, DataType has, DataType wanted) {
  if (has == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Mismatch stage/unstage: tensor ", i, " is of type ",
                   DataTypeName(has), ", not ", DataTypeName(wanted)));
}

absl::Status CheckStagedTuple(const StagedTuple& tuple,
                              const DataTypeVector& types) {
  RETURN_IF_ERROR(CheckStagedCount(tuple.size(), types.size()));
  for (size_t i = 0; i < types.size(); ++i) {
    RETURN_IF_ERROR(CheckStagedType(i, tuple[i].dtype(), types[i]));
  }
  return absl::OkStatus();
}

// Returns the callback of an attempt. It passes `got`, which the attempt has
// set to the result, or the error to `done`.
template <typename T>
Attempts::Done GiveStaged(std::shared_ptr<T> got,
                          absl::AnyInvocable<void(absl::StatusOr<T>)> done) {
  return [got = std::move(got),
          done = std::move(done)](const absl::Status& status) mutable {
    if (!status.ok()) return done(status);
    done(std::move(*got));
  };
}

}  // namespace

std::string StagingArea::DebugString() const {
  return absl::StrCat("Staging size: ", size());
}

int64_t StagingArea::size() const {
  size_t size = 0;
  attempts_.Look([&] { size = tuples_.size(); });
  return static_cast<int64_t>(size);
}

void StagingArea::Put(Cancellation& step, StagedTuple tuple,
                      Attempts::Done done) {
  const uint64_t bytes = StagedBytes(tuple);
  const absl::Status fits = CheckFits(bytes, limits_);
  if (!fits.ok()) return done(fits);
  attempts_.Submit(
      step, kPuts,
      [this, self = shared_from_this(), tuple = std::move(tuple),
       bytes]() mutable -> std::optional<absl::Status> {
        if (IsFull(tuples_.size(), limits_)) return std::nullopt;
        if (!HasBytesLeft(num_bytes_, bytes, limits_)) return std::nullopt;
        num_bytes_ += bytes;
        tuples_.push_back(std::move(tuple));
        return absl::OkStatus();
      },
      std::move(done));
}

void StagingArea::Take(Cancellation& step, const DataTypeVector& types,
                       Taken done) {
  auto taken = std::make_shared<StagedTuple>();
  attempts_.Submit(
      step, kTakes,
      [this, self = shared_from_this(), types,
       taken]() -> std::optional<absl::Status> {
        if (tuples_.empty()) return std::nullopt;
        RETURN_IF_ERROR(CheckStagedTuple(tuples_.front(), types));
        *taken = std::move(tuples_.front());
        tuples_.pop_front();
        TakeOff(StagedBytes(*taken), num_bytes_);
        return absl::OkStatus();
      },
      GiveStaged(taken, std::move(done)));
}

void StagingArea::Peek(Cancellation& step, int64_t index,
                       const DataTypeVector& types, Taken done) {
  auto seen = std::make_shared<StagedTuple>();
  attempts_.Submit(
      step, Attempts::kUnordered,
      [this, self = shared_from_this(), index = static_cast<size_t>(index),
       types, seen]() -> std::optional<absl::Status> {
        if (index >= tuples_.size()) return std::nullopt;
        RETURN_IF_ERROR(CheckStagedTuple(tuples_[index], types));
        *seen = tuples_[index];
        return absl::OkStatus();
      },
      GiveStaged(seen, std::move(done)));
}

void StagingArea::Clear(Cancellation& step, Attempts::Done done) {
  auto dropped = std::make_shared<std::deque<StagedTuple>>();
  attempts_.Submit(
      step, Attempts::kUnordered,
      [this, self = shared_from_this(),
       dropped]() -> std::optional<absl::Status> {
        dropped->swap(tuples_);  // freed without the lock
        num_bytes_ = 0;
        return absl::OkStatus();
      },
      std::move(done));
}

std::string StagingMap::DebugString() const {
  return absl::StrCat("StagingMap of ", size(), ", ", incomplete_size(),
                      " incomplete");
}

int64_t StagingMap::size() const {
  size_t size = 0;
  attempts_.Look([&] { size = complete_.size(); });
  return static_cast<int64_t>(size);
}

int64_t StagingMap::incomplete_size() const {
  size_t size = 0;
  attempts_.Look([&] { size = incomplete_.size(); });
  return static_cast<int64_t>(size);
}

absl::Status StagingMap::CheckIndices(std::optional<int64_t> key,
                                      const Indices& indices) const {
  if (indices.empty()) return absl::InvalidArgumentError("Indices are empty");
  for (size_t i = 1; i < indices.size(); ++i) {
    if (indices[i - 1] < indices[i]) continue;
    return absl::InvalidArgumentError("Indices are not strictly ordered");
  }
  for (const int32_t index : indices) {
    if (index >= 0 && static_cast<size_t>(index) < types_.size()) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "Index '", index, "'", key ? absl::StrCat(" for key '", *key, "'") : "",
        " was out of bounds '", types_.size(), "'."));
  }
  return absl::OkStatus();
}

absl::Status StagingMap::CheckPut(int64_t key, const Indices& indices,
                                  const StagedTuple& values) const {
  RETURN_IF_ERROR(CheckIndices(key, indices));
  if (indices.size() != values.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "insertion into a staging map got ", indices.size(), " indices, but ",
        values.size(), " values for key '", key, "'"));
  }
  for (size_t i = 0; i < indices.size(); ++i) {
    RETURN_IF_ERROR(CheckStagedType(i, values[i].dtype(),
                                    types_[static_cast<size_t>(indices[i])]));
  }
  return absl::OkStatus();
}

void StagingMap::Put(Cancellation& step, int64_t key, Indices indices,
                     StagedTuple values, Attempts::Done done) {
  const uint64_t bytes = StagedBytes(values);
  absl::Status status = CheckPut(key, indices, values);
  if (status.ok()) status = CheckFits(bytes, limits_);
  if (!status.ok()) return done(status);
  // Puts are unordered, because a later Put may add the missing value of a key,
  // and an earlier Put that waits for capacity must not block it.
  attempts_.Submit(
      step, Attempts::kUnordered,
      [this, self = shared_from_this(), key, indices = std::move(indices),
       values = std::move(values),
       bytes]() mutable -> std::optional<absl::Status> {
        const bool is_whole = indices.size() == types_.size();
        if (!is_whole) RETURN_IF_ERROR(CheckKeyFits(key, bytes));
        if (!HasRoom(is_whole, bytes)) return std::nullopt;
        return PutNow(key, indices, values, bytes);
      },
      std::move(done));
}

absl::Status StagingMap::CheckKeyFits(int64_t key, uint64_t bytes) const {
  const auto begun = incomplete_.find(key);
  if (begun == incomplete_.end()) return absl::OkStatus();
  for (const auto& value : begun->second) {
    if (value.has_value()) bytes += value->TotalBytes();
  }
  return CheckFits(bytes, limits_);
}

bool StagingMap::HasRoom(bool is_whole, uint64_t bytes) const {
  if (!HasBytesLeft(num_bytes_, bytes, limits_)) return false;
  return !is_whole || !IsFull(complete_.size(), limits_);
}

absl::Status StagingMap::PutNow(int64_t key, const Indices& indices,
                                StagedTuple& values, uint64_t bytes) {
  Values present(types_.size());
  const auto begun = incomplete_.find(key);
  const bool is_whole = indices.size() == types_.size();
  const bool goes_on = !is_whole && begun != incomplete_.end();
  if (goes_on) present = begun->second;
  for (size_t i = 0; i < indices.size(); ++i) {
    std::optional<Tensor>& value = present[static_cast<size_t>(indices[i])];
    if (value.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("The tensor for index '", indices[i], "' for key '", key,
                       "' was already initialized '", types_.size(), "'."));
    }
    value = std::move(values[i]);
  }
  const bool is_complete =
      std::all_of(present.begin(), present.end(),
                  [](const auto& value) { return value.has_value(); });
  num_bytes_ += bytes;
  if (!is_complete) {
    incomplete_.insert_or_assign(key, std::move(present));
    return absl::OkStatus();
  }
  if (goes_on) incomplete_.erase(begun);
  const auto [entry, is_new] = complete_.try_emplace(key, std::move(present));
  if (is_new) return absl::OkStatus();
  // If the key is already complete, it keeps its present values, and the new
  // ones are dropped.
  for (const auto& value : present) TakeOff(value->TotalBytes(), num_bytes_);
  return absl::OkStatus();
}

void StagingMap::Take(Cancellation& step, int64_t key, Indices indices,
                      DataTypeVector types, Taken done) {
  Get(step, key, /*take=*/true, std::move(indices), std::move(types),
      std::move(done));
}

void StagingMap::TakeAny(Cancellation& step, Indices indices,
                         DataTypeVector types, Taken done) {
  Get(step, std::nullopt, /*take=*/true, std::move(indices), std::move(types),
      std::move(done));
}

void StagingMap::Peek(Cancellation& step, int64_t key, Indices indices,
                      DataTypeVector types, Taken done) {
  Get(step, key, /*take=*/false, std::move(indices), std::move(types),
      std::move(done));
}

void StagingMap::Get(Cancellation& step, std::optional<int64_t> key, bool take,
                     Indices indices, DataTypeVector types, Taken done) {
  absl::Status status = CheckIndices(key, indices);
  if (status.ok()) status = CheckStagedCount(indices.size(), types.size());
  if (!status.ok()) return done(status);
  auto got = std::make_shared<Item>();
  attempts_.Submit(
      step, Attempts::kUnordered,
      [this, self = shared_from_this(), key, take, indices = std::move(indices),
       types = std::move(types), got]() -> std::optional<absl::Status> {
        const auto entry = key ? complete_.find(*key) : complete_.begin();
        if (entry == complete_.end()) return std::nullopt;
        RETURN_IF_ERROR(CheckGet(*entry, indices, types));
        *got = GetNow(entry, indices, take);
        return absl::OkStatus();
      },
      GiveStaged(got, std::move(done)));
}

absl::Status StagingMap::CheckGet(const Entries::value_type& entry,
                                  const Indices& indices,
                                  const DataTypeVector& types) const {
  for (size_t i = 0; i < indices.size(); ++i) {
    const auto& value = entry.second[static_cast<size_t>(indices[i])];
    if (!value.has_value()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Tensor at index '", indices[i], "' for key '",
                       entry.first, "' has already been removed."));
    }
    RETURN_IF_ERROR(CheckStagedType(i, value->dtype(), types[i]));
  }
  return absl::OkStatus();
}

StagingMap::Item StagingMap::GetNow(Entries::iterator entry,
                                    const Indices& indices, bool take) {
  Item item{.key = entry->first, .values = {}};
  for (const int32_t index : indices) {
    std::optional<Tensor>& value = entry->second[static_cast<size_t>(index)];
    item.values.push_back(*value);
    if (take) value.reset();
  }
  if (!take) return item;
  TakeOff(StagedBytes(item.values), num_bytes_);
  const bool is_empty =
      std::none_of(entry->second.begin(), entry->second.end(),
                   [](const auto& value) { return value.has_value(); });
  if (is_empty) complete_.erase(entry);
  return item;
}

void StagingMap::Clear(Cancellation& step, Attempts::Done done) {
  auto dropped = std::make_shared<std::pair<Entries, Entries>>();
  attempts_.Submit(
      step, Attempts::kUnordered,
      [this, self = shared_from_this(),
       dropped]() -> std::optional<absl::Status> {
        dropped->first.swap(complete_);  // freed without the lock
        dropped->second.swap(incomplete_);
        num_bytes_ = 0;
        return absl::OkStatus();
      },
      std::move(done));
}

}  // namespace weft
