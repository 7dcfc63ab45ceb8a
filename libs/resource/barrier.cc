#include "libs/resource/barrier.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"

namespace weft {
namespace {

std::string TypesOf(const BarrierOptions& options) {
  return absl::StrJoin(options.types, ", ", [](std::string* out, DataType t) {
    absl::StrAppend(out, DataTypeName(t));
  });
}

std::string ShapesOf(const BarrierOptions& options) {
  return absl::StrJoin(options.shapes, ",",
                       [](std::string* out, const PartialShape& shape) {
                         absl::StrAppend(out, shape.ToString());
                       });
}

QueueOptions ReadyOptions(const BarrierOptions& options) {
  QueueOptions ready{
      .kind = "PriorityQueue",
      .types = {DT_INT64, DT_STRING},
      .shapes = {PartialShape::Scalar(), PartialShape::Scalar()}};
  ready.types.insert(ready.types.end(), options.types.begin(),
                     options.types.end());
  ready.shapes.insert(ready.shapes.end(), options.shapes.begin(),
                      options.shapes.end());
  return ready;
}

}  // namespace

Barrier::Barrier(std::string name, BarrierOptions options)
    : name_(std::move(name)),
      options_(std::move(options)),
      ready_(std::make_shared<Queue>(absl::StrCat(name_, "_queue"),
                                     ReadyOptions(options_),
                                     NewPriorityStore())) {}

std::string Barrier::DebugString() const {
  absl::MutexLock lock(&mutex_);
  return absl::StrCat("Barrier of (", TypesOf(options_), "), ", ready_->size(),
                      " ready, ", incomplete_.size(), " incomplete",
                      closed_ ? ", closed" : "",
                      cancelled_ ? " and cancelled" : "");
}

absl::Status Barrier::CheckShared(const BarrierOptions& wanted) const {
  if (wanted.types != options_.types) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Shared barrier '", name_, "' has component types ", TypesOf(options_),
        " but requested component types were ", TypesOf(wanted)));
  }
  if (wanted.shapes == options_.shapes) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "Shared barrier '", name_, "' has component shapes ", ShapesOf(options_),
      " but requested component shapes were ", ShapesOf(wanted)));
}

int64_t Barrier::incomplete_size() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(incomplete_.size());
}

absl::Status Barrier::CheckComponent(size_t component,
                                     absl::Span<const Tensor> values) const {
  if (component >= options_.types.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("The component ID is out of range ", component,
                     " > num_components", " (= ", options_.types.size(), ")"));
  }
  for (const Tensor& value : values) {
    if (value.dtype() != options_.types[component]) {
      return absl::InvalidArgumentError(
          absl::StrCat("component ", component, " of barrier ", name_,
                       " is of type ", DataTypeName(options_.types[component]),
                       ", not ", DataTypeName(value.dtype())));
    }
    if (value.num_elements() == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Tensors with no elements are not supported ", name_,
                       ": received shape ", value.shape().ToString()));
    }
    if (!options_.shapes[component].IsCompatibleWith(value.shape())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Shape mismatch in component ", component, " of barrier ", name_,
          ". Expected ", options_.shapes[component].ToString(), ", got ",
          value.shape().ToString()));
    }
  }
  return absl::OkStatus();
}

absl::Status Barrier::CheckOpen(size_t num_keys) const {
  if (!closed_) return absl::OkStatus();
  if (!cancelled_ && (num_keys == 0 || !incomplete_.empty())) {
    return absl::OkStatus();
  }
  return absl::CancelledError(absl::StrCat(
      "Barrier ", name_, " is closed.  Pending enqueues cancelled: ",
      cancelled_, ".  Number of new insertions: ", num_keys,
      ".  Number of incomplete keys: ", incomplete_.size(), "."));
}

absl::Status Barrier::CheckKeys(absl::Span<const std::string> keys,
                                size_t component) const {
  std::set<absl::string_view> seen;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto found = incomplete_.find(keys[i]);
    const bool is_new = found == incomplete_.end();
    if (is_new && closed_) {
      return absl::CancelledError(absl::StrCat(
          "Barrier ", name_,
          " is closed, but attempted to insert a brand new key: ", keys[i],
          ".  Pending enqueues cancelled: ", cancelled_, ".  Insertion index: ",
          i, ".  Number of incomplete keys: ", incomplete_.size(), "."));
    }
    const bool has_it = !is_new && found->second.has[component];
    // If there is only one component, a key is complete at once, and one call
    // may insert the same key again.
    const bool is_repeated =
        !seen.insert(keys[i]).second && options_.types.size() > 1;
    if (has_it || is_repeated) {
      return absl::InvalidArgumentError(
          absl::StrCat("Key ", keys[i], " already has a value for component ",
                       component, " in barrier ", name_));
    }
  }
  return absl::OkStatus();
}

absl::Status Barrier::Insert(const Cancellation& step,
                             absl::Span<const std::string> keys,
                             size_t component, std::vector<Tensor> values) {
  RETURN_IF_ERROR(CheckComponent(component, values));
  if (values.size() != keys.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("insertion into a barrier got ", keys.size(),
                     " keys, but ", values.size(), " values"));
  }
  std::vector<QueueElement> ready;
  int64_t num_ready = 0;
  {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(step.status());
    RETURN_IF_ERROR(CheckOpen(keys.size()));
    RETURN_IF_ERROR(CheckKeys(keys, component));
    ready = InsertAll(keys, component, std::move(values));
    num_ready = static_cast<int64_t>(ready.size());
    enqueuing_ += num_ready;
  }
  absl::Status status;
  if (!ready.empty()) {
    // The queue is unbounded, so Enqueue completes before it returns.
    ready_->Enqueue(never_, std::move(ready),
                    [&status](const absl::Status& s) { status = s; });
  }
  {
    absl::MutexLock lock(&mutex_);
    enqueuing_ -= num_ready;
  }
  CloseReadyAtTheEnd();
  return status;
}

std::vector<QueueElement> Barrier::InsertAll(absl::Span<const std::string> keys,
                                             size_t component,
                                             std::vector<Tensor> values) {
  std::vector<QueueElement> ready;
  bool has_new = false;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto [entry, is_new] = incomplete_.try_emplace(keys[i]);
    Incomplete& element = entry->second;
    if (is_new) {
      has_new = true;
      element.index = next_index_;
      element.components.resize(options_.types.size());
      element.has.resize(options_.types.size());
    }
    element.components[component] = std::move(values[i]);
    element.has[component] = true;
    if (!std::all_of(element.has.begin(), element.has.end(),
                     [](bool has) { return has; })) {
      continue;
    }
    QueueElement whole = {Tensor::Scalar(element.index),
                          Tensor::Scalar(keys[i])};
    std::move(element.components.begin(), element.components.end(),
              std::back_inserter(whole));
    ready.push_back(std::move(whole));
    incomplete_.erase(entry);
  }
  if (has_new) ++next_index_;
  return ready;
}

absl::Status Barrier::CheckTake(int64_t& count, bool or_fewer) const {
  absl::MutexLock lock(&mutex_);
  if (!closed_) return absl::OkStatus();
  int64_t available = ready_->size();
  if (or_fewer) {
    count = std::min(count, available);
  } else {
    available += static_cast<int64_t>(incomplete_.size()) + enqueuing_;
  }
  if (available >= std::max<int64_t>(count, 1)) return absl::OkStatus();
  return absl::OutOfRangeError(
      absl::StrCat("Barrier '", name_,
                   "' is closed and has insufficient elements (requested ",
                   count, ", total size ", available, ")"));
}

void Barrier::Take(Cancellation& step, int64_t count, bool or_fewer,
                   Queue::Dequeued done) {
  const absl::Status status = CheckTake(count, or_fewer);
  if (!status.ok()) return done(status);
  if (count == 0) {
    const absl::Status cause = step.status();
    if (!cause.ok()) return done(cause);
    return done(std::vector<QueueElement>());
  }
  ready_->Dequeue(step, count, or_fewer, std::move(done));
}

absl::Status Barrier::Close(const Cancellation& step,
                            bool cancel_pending_enqueues) {
  {
    absl::MutexLock lock(&mutex_);
    RETURN_IF_ERROR(step.status());
    if (closed_ && (cancelled_ || !cancel_pending_enqueues)) {
      return absl::CancelledError(
          absl::StrCat("Barrier '", name_, "' is already closed."));
    }
    closed_ = true;
    cancelled_ = cancel_pending_enqueues;
    if (cancelled_) incomplete_.clear();
  }
  CloseReadyAtTheEnd();
  return absl::OkStatus();
}

void Barrier::CloseReadyAtTheEnd() {
  {
    absl::MutexLock lock(&mutex_);
    if (!closed_ || enqueuing_ > 0 || !incomplete_.empty()) return;
  }
  // If several calls reach this line, the queue rejects all but the first.
  ready_->Close(never_, /*cancel_pending_enqueues=*/false,
                [](const absl::Status&) {});
}

}  // namespace weft
