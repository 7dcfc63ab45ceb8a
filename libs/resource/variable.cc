#include "libs/resource/variable.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/container/inlined_vector.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/resource/chunk_snapshot.h"
#include "libs/resource/uninitialized.h"

namespace weft {
namespace {

constexpr char kGivenUp[] = "weft/given_up";
// The maximum size of a value that is copied under the lock. Such a copy takes
// less than a tenth of a millisecond, about the time for releasing the lock and
// taking it again.
constexpr size_t kCopiedUnderLock = ChunkSnapshot::kChunkBytes;
// How often a writer of rows tries to copy the value without the lock while
// others assign and read new values.
constexpr int kTriesToCopy = 3;

using VariablesInOrder = absl::InlinedVector<Variable*, 4>;

// Sorts variables by address, the order in which they are locked.
absl::StatusOr<VariablesInOrder> InOrder(
    absl::Span<Variable* const> variables) {
  VariablesInOrder ordered(variables.begin(), variables.end());
  std::sort(ordered.begin(), ordered.end(), std::less<Variable*>());
  if (std::adjacent_find(ordered.begin(), ordered.end()) != ordered.end()) {
    return absl::InvalidArgumentError("the same variable was given twice");
  }
  return ordered;
}

}  // namespace

bool IsGivenUp(const absl::Status& status) {
  return status.GetPayload(kGivenUp).has_value();
}

Variable::Variable(std::string name, DataType dtype, PartialShape shape)
    : name_(std::move(name)),
      dtype_(dtype),
      declared_shape_(std::move(shape)) {}

Variable::~Variable() {
  waiters_.NotifyAll(absl::AbortedError(absl::StrCat(
      "variable ", name_, " was deleted while a step waited for its value")));
}

void Variable::WhenInitialized(Cancellation& step, Waiters::Done done) {
  waiters_.Add(step, std::move(done));
  if (IsInitialized()) waiters_.NotifyAll(absl::OkStatus());
}

std::string Variable::DebugString() const {
  absl::ReaderMutexLock lock(&mutex_);
  return absl::StrCat(
      DataTypeName(dtype_), " ",
      value_.IsInitialized() ? value_.shape().ToString() : "uninitialized");
}

ResourceInfo Variable::info() const {
  absl::ReaderMutexLock lock(&mutex_);
  const int64_t num_bytes =
      value_.IsInitialized() ? static_cast<int64_t>(value_.num_bytes()) : 0;
  return {dtype_, declared_shape_, num_bytes};
}

uint64_t Variable::version() const {
  absl::ReaderMutexLock lock(&mutex_);
  return version_;
}

uint64_t Variable::bytes_copied_on_write() const {
  absl::ReaderMutexLock lock(&mutex_);
  return bytes_copied_;
}

absl::Status Variable::Uninitialized() const {
  return UninitializedError(name_);
}

absl::Status Variable::GivenUp() const {
  absl::Status status = absl::UnavailableError(
      absl::StrCat("variable ", name_, " is being used by another step"));
  status.SetPayload(kGivenUp, absl::Cord());
  return status;
}

// The thread safety analysis is off because the result determines whether the
// lock is held.
bool Variable::LockToRead(WhenLocked when) const
    ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if (when == WhenLocked::kGiveUp) return mutex_.ReaderTryLock();
  mutex_.ReaderLock();
  return true;
}

bool Variable::LockToWrite(WhenLocked when) const
    ABSL_NO_THREAD_SAFETY_ANALYSIS {
  if (when == WhenLocked::kGiveUp) return mutex_.TryLock();
  if (num_first_.load(std::memory_order_relaxed) > 0) {
    absl::MutexLock lets_them_go(&first_);
  }
  mutex_.Lock();
  return true;
}

void Variable::LockToReadFirst() const ABSL_NO_THREAD_SAFETY_ANALYSIS {
  num_first_.fetch_add(1, std::memory_order_relaxed);
  absl::MutexLock goes_first(&first_);
  mutex_.ReaderLock();
  num_first_.fetch_sub(1, std::memory_order_relaxed);
}

void Variable::LockToWriteFirst() const ABSL_NO_THREAD_SAFETY_ANALYSIS {
  num_first_.fetch_add(1, std::memory_order_relaxed);
  absl::MutexLock goes_first(&first_);
  mutex_.Lock();
  num_first_.fetch_sub(1, std::memory_order_relaxed);
}

absl::StatusOr<Tensor> Variable::Read(WhenLocked when) const {
  if (!LockToRead(when)) return GivenUp();
  Tensor value = value_;
  mutex_.ReaderUnlock();
  if (!value.IsInitialized()) return Uninitialized();
  return value;
}

absl::Status Variable::ReadPart(
    absl::FunctionRef<absl::Status(const Tensor& value)> read,
    WhenLocked when) const {
  if (!LockToRead(when)) return GivenUp();
  absl::Status status = value_.IsInitialized() ? read(value_) : Uninitialized();
  mutex_.ReaderUnlock();
  return status;
}

absl::Status Variable::Assign(const Cancellation& step, Tensor* value,
                              WhenLocked when) {
  if (value->dtype() != dtype_) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Variable ", name_, " and value dtypes don't match; respectively, ",
        DataTypeName(dtype_), " and ", DataTypeName(value->dtype())));
  }
  if (!LockToWrite(when)) return GivenUp();
  const absl::Status status = step.status();
  const bool is_first = status.ok() && !IsInitialized();
  if (status.ok()) {
    Replace(*value);
    updated_whole_ = false;
    updated_row_bytes_ = 0;
    is_initialized_.store(true, std::memory_order_release);
    ++version_;
  }
  mutex_.Unlock();
  if (is_first) waiters_.NotifyAll(status);
  return status;
}

bool Variable::IsHeld() const {
  if (!value_.RefCountIsOne()) return true;
  return std::any_of(
      snapshots_.begin(), snapshots_.end(),
      [](const ChunkSnapshot* snapshot) { return !snapshot->IsRead(); });
}

Variable::Updates Variable::updates() const {
  absl::ReaderMutexLock lock(&mutex_);
  return {value_.shape(), updated_whole_, updated_row_bytes_};
}

absl::StatusOr<Tensor> Variable::AllocateIfHeld(Allocator& allocator) {
  if (!value_.IsInitialized()) return Uninitialized();
  updated_whole_ = true;
  if (!IsHeld()) return Tensor();
  Tensor ahead = TakeAhead();
  if (ahead.IsInitialized()) return ahead;
  return Tensor::Allocate(allocator, value_.dtype(), value_.shape());
}

Tensor Variable::TakeAhead() {
  for (ChunkSnapshot* snapshot : snapshots_) {
    Tensor ahead = snapshot->TakeAhead();
    if (ahead.IsInitialized() && ahead.shape() == value_.shape()) return ahead;
  }
  return Tensor();
}

void Variable::Replace(Tensor& next) {
  GiveToSnapshots();
  std::swap(value_, next);
}

absl::Status Variable::MakeWritable(Allocator& allocator, Tensor& other) {
  if (!value_.IsInitialized()) return Uninitialized();
  if (value_.RefCountIsOne()) return absl::OkStatus();
  ASSIGN_OR_RETURN(other, value_.DeepCopy(allocator));
  bytes_copied_ += other.num_bytes();
  Replace(other);
  return absl::OkStatus();
}

void Variable::GiveToSnapshots() {
  for (ChunkSnapshot* snapshot : snapshots_) snapshot->TakeOver(value_);
  snapshots_.clear();
}

// Notes how many bytes the rows of an update have. It runs once for each
// snapshot, because the first update predicts the following ones well.
void Variable::NoteRows(absl::FunctionRef<void(RowVisitor)> for_each_row) {
  if (updated_row_bytes_ > 0 || value_.rank() == 0) return;
  constexpr int64_t kPage = ChunkSnapshot::kPageBytes;
  const auto all = static_cast<int64_t>(value_.num_bytes());
  const int64_t row = all / std::max<int64_t>(value_.dim(0), 1);
  const int64_t pages_of_row = (row + kPage - 1) / kPage * kPage;
  int64_t bytes = 0;
  for_each_row([&](int64_t) { bytes = std::min(all, bytes + pages_of_row); });
  updated_row_bytes_ = bytes;
}

absl::Status Variable::PreserveRows(
    absl::FunctionRef<void(RowVisitor)> for_each_row) {
  if (snapshots_.empty()) return absl::OkStatus();
  const int64_t rows = value_.rank() > 0 ? value_.dim(0) : 1;
  const int64_t row_bytes =
      static_cast<int64_t>(value_.num_bytes()) / std::max<int64_t>(rows, 1);
  absl::Status status;
  for_each_row([&](int64_t row) {
    mutex_.AssertHeld();  // called before for_each_row returns
    if (row < 0 || row >= rows) return;
    for (ChunkSnapshot* snapshot : snapshots_) {
      status.Update(
          snapshot->Preserve(value_, row * row_bytes, (row + 1) * row_bytes));
    }
  });
  return status;
}

absl::Status Variable::PrepareRows(
    Allocator& allocator, absl::FunctionRef<void(RowVisitor)> for_each_row,
    Tensor& other) {
  RETURN_IF_ERROR(MakeWritable(allocator, other));
  NoteRows(for_each_row);
  return PreserveRows(for_each_row);
}

absl::Status Variable::Update(
    const Cancellation& step, Allocator& allocator,
    absl::FunctionRef<absl::Status(const Tensor& from, Tensor& to)> update,
    WhenLocked when) {
  if (!LockToWrite(when)) return GivenUp();
  Tensor other;
  absl::Status status = UpdateLocked(step, allocator, update, other);
  mutex_.Unlock();
  return status;
}

absl::Status Variable::UpdateLocked(
    const Cancellation& step, Allocator& allocator,
    absl::FunctionRef<absl::Status(const Tensor& from, Tensor& to)> update,
    Tensor& other) {
  RETURN_IF_ERROR(step.status());
  ASSIGN_OR_RETURN(other, AllocateIfHeld(allocator));
  ++version_;
  if (!other.IsInitialized()) return update(value_, value_);
  RETURN_IF_ERROR(update(value_, other));
  Replace(other);
  return absl::OkStatus();
}

absl::Status Variable::UpdateRows(
    const Cancellation& step, Allocator& allocator,
    absl::FunctionRef<void(RowVisitor)> for_each_row,
    absl::FunctionRef<absl::Status(Tensor& value)> update) {
  Variable* const alone[] = {this};
  return UpdateAllRows(
      step, allocator, alone, for_each_row,
      [&](absl::Span<Tensor* const> values) { return update(*values[0]); });
}

bool Variable::IsLargeAndHeld() const {
  return value_.IsInitialized() && value_.num_bytes() > kCopiedUnderLock &&
         !value_.RefCountIsOne();
}

bool Variable::IsAnyLargeAndHeld(absl::Span<Variable* const> locked)
    ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (const Variable* variable : locked) {
    if (variable->IsLargeAndHeld()) return true;
  }
  return false;
}

Variable::RowsCopy Variable::BeginCopy() const {
  absl::ReaderMutexLock lock(&mutex_);
  if (!IsLargeAndHeld()) return {};
  return {.from = value_, .version = version_};
}

// Makes the copy the value. The memory of `from` is unchanged, because others
// also hold a reference to it.
void Variable::TakeCopy(RowsCopy& copied) {
  if (!copied.copy.IsInitialized() || copied.version != version_) return;
  bytes_copied_ += copied.copy.num_bytes();
  Replace(copied.copy);
}

// The thread safety analysis is off because the set of locks is known only at
// run time.
absl::Status Variable::LockAllToWrite(absl::Span<Variable* const> variables,
                                      WhenLocked when)
    ABSL_NO_THREAD_SAFETY_ANALYSIS {
  ASSIGN_OR_RETURN(const VariablesInOrder ordered, InOrder(variables));
  for (size_t i = 0; i < ordered.size(); ++i) {
    if (ordered[i]->LockToWrite(when)) continue;
    UnlockAll(absl::MakeSpan(ordered).first(i));
    return ordered[i]->GivenUp();
  }
  return absl::OkStatus();
}

absl::Status Variable::LockAllToWriteFirst(
    absl::Span<Variable* const> variables) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  ASSIGN_OR_RETURN(const VariablesInOrder ordered, InOrder(variables));
  for (const Variable* variable : ordered) variable->LockToWriteFirst();
  return absl::OkStatus();
}

absl::Status Variable::CopyAndLockAll(
    const Cancellation& step, Allocator& allocator,
    absl::Span<Variable* const> variables,
    absl::Span<RowsCopy> copies) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  RETURN_IF_ERROR(step.status());
  for (size_t i = 0; i < variables.size(); ++i) {
    copies[i] = variables[i]->BeginCopy();
    if (!copies[i].from.IsInitialized()) continue;
    ASSIGN_OR_RETURN(copies[i].copy, copies[i].from.DeepCopy(allocator));
  }
  RETURN_IF_ERROR(LockAllToWrite(variables, WhenLocked::kWait));
  for (size_t i = 0; i < variables.size(); ++i) {
    variables[i]->TakeCopy(copies[i]);
  }
  return absl::OkStatus();
}

absl::Status Variable::LockAllToWriteRows(
    const Cancellation& step, Allocator& allocator,
    absl::Span<Variable* const> variables, WhenLocked when,
    absl::Span<RowsCopy> copies) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  RETURN_IF_ERROR(LockAllToWrite(variables, when));
  if (!IsAnyLargeAndHeld(variables)) return absl::OkStatus();
  UnlockAll(variables);
  if (when == WhenLocked::kGiveUp) return variables[0]->GivenUp();
  ASSIGN_OR_RETURN(const VariablesInOrder ordered, InOrder(variables));
  for (const Variable* variable : ordered) variable->copying_.Lock();
  const absl::Cleanup copied = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (const Variable* variable : ordered) variable->copying_.Unlock();
  };
  for (int tries = 1;; ++tries) {
    RETURN_IF_ERROR(CopyAndLockAll(step, allocator, variables, copies));
    if (tries == kTriesToCopy || !IsAnyLargeAndHeld(variables)) {
      return absl::OkStatus();
    }
    UnlockAll(variables);
  }
}

void Variable::UnlockAll(absl::Span<Variable* const> variables)
    ABSL_NO_THREAD_SAFETY_ANALYSIS {
  for (Variable* variable : variables) variable->mutex_.Unlock();
}

absl::Status Variable::UpdateAll(
    const Cancellation& step, Allocator& allocator,
    absl::Span<Variable* const> variables,
    absl::FunctionRef<absl::Status(absl::Span<const FromTo> values)> update,
    WhenLocked when) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const size_t size = variables.size();
  absl::InlinedVector<Tensor, 4> others(size);  // freed without the locks
  absl::InlinedVector<FromTo, 4> values(size);
  RETURN_IF_ERROR(LockAllToWrite(variables, when));
  absl::Status status = step.status();
  for (size_t i = 0; i < size && status.ok(); ++i) {
    absl::StatusOr<Tensor> other = variables[i]->AllocateIfHeld(allocator);
    status = other.status();
    if (!status.ok()) break;
    others[i] = *std::move(other);
    Tensor& value = variables[i]->value_;
    values[i] = {&value, others[i].IsInitialized() ? &others[i] : &value};
  }
  if (status.ok()) {
    for (Variable* variable : variables) ++variable->version_;
    status = update(values);
  }
  for (size_t i = 0; i < size && status.ok(); ++i) {
    if (others[i].IsInitialized()) variables[i]->Replace(others[i]);
  }
  UnlockAll(variables);
  return status;
}

absl::Status Variable::UpdateAllRows(
    const Cancellation& step, Allocator& allocator,
    absl::Span<Variable* const> variables,
    absl::FunctionRef<void(RowVisitor)> for_each_row,
    absl::FunctionRef<absl::Status(absl::Span<Tensor* const> values)> update,
    WhenLocked when) ABSL_NO_THREAD_SAFETY_ANALYSIS {
  const size_t size = variables.size();
  absl::InlinedVector<RowsCopy, 4> copies(size);  // freed without the locks
  absl::InlinedVector<Tensor, 4> others(size);    // freed without the locks
  absl::InlinedVector<Tensor*, 4> values;
  RETURN_IF_ERROR(LockAllToWriteRows(step, allocator, variables, when,
                                     absl::MakeSpan(copies)));
  absl::Status status = step.status();
  for (size_t i = 0; i < size; ++i) {
    Variable* const variable = variables[i];
    if (status.ok()) {
      status = variable->PrepareRows(allocator, for_each_row, others[i]);
    }
    values.push_back(&variable->value_);
  }
  if (status.ok()) {
    for (Variable* variable : variables) ++variable->version_;
    status = update(absl::MakeConstSpan(values));
  }
  UnlockAll(variables);
  return status;
}

}  // namespace weft
