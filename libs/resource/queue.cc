#include "libs/resource/queue.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"

namespace weft {
namespace {

std::string Join(const DataTypeVector& types) {
  return absl::StrJoin(types, ", ", [](std::string* out, DataType type) {
    absl::StrAppend(out, DataTypeName(type));
  });
}

std::string Join(const std::vector<PartialShape>& shapes) {
  return absl::StrJoin(shapes, ", ",
                       [](std::string* out, const PartialShape& shape) {
                         absl::StrAppend(out, shape.ToString());
                       });
}

PartialShape WithBatch(const PartialShape& shape, int64_t size) {
  if (!shape.has_rank()) return shape;
  Dims dims = {size};
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return PartialShape(std::move(dims));
}

absl::Status ShapeMismatch(size_t component, const PartialShape& expected,
                           const TensorShape& got) {
  return absl::InvalidArgumentError(absl::StrCat(
      "Shape mismatch in tuple component ", component, ". Expected ",
      expected.ToString(), ", got ", got.ToString()));
}

// Checks that all components of a batch have the same number of rows.
absl::Status CheckBatch(absl::Span<const Tensor> components) {
  for (size_t i = 0; i < components.size(); ++i) {
    if (components[i].rank() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "All input tensors must have a 0th dimension. Component ", i,
          " is a scalar"));
    }
    if (components[i].dim(0) == components[0].dim(0)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "All input tensors must have the same size in the 0th dimension. "
        "Component ",
        i, " has ", components[i].dim(0), ", and should have ",
        components[0].dim(0)));
  }
  return absl::OkStatus();
}

}  // namespace

// Attempt is one call in progress. Until the call is over, the queue's lock
// guards all members except the functions and the step.
struct Queue::Attempt {
  enum class Kind { kEnqueue, kClose, kDequeue };

  Attempt(Kind what, Cancellation& of) : kind(what), step(of) {}

  const Kind kind;
  Cancellation& step;
  Cancellation::Token token = 0;
  bool over = false;
  absl::Status status;
  // For an enqueue: elements before `next` are in the queue.
  std::vector<QueueElement> elements;
  size_t next = 0;
  // For a dequeue: the elements gathered so far.
  int64_t wanted = 0;
  bool or_fewer = false;
  std::vector<QueueElement> taken;

  Done done;
  Dequeued dequeued;
};

Queue::Queue(std::string name, QueueOptions options,
             std::unique_ptr<QueueStore> store)
    : name_(std::move(name)),
      options_(std::move(options)),
      store_(std::move(store)) {}

std::string Queue::Title() const {
  return absl::StrCat(options_.kind, " '", name_, "'");
}

std::string Queue::DebugString() const {
  absl::MutexLock lock(&mutex_);
  return absl::StrCat(
      options_.kind, " of (", Join(options_.types), "), ", store_->size(),
      " elements",
      options_.capacity < 0 ? "" : absl::StrCat(" of ", options_.capacity),
      closed_ ? ", closed" : "");
}

int64_t Queue::size() const {
  absl::MutexLock lock(&mutex_);
  return store_->size();
}

bool Queue::is_closed() const {
  absl::MutexLock lock(&mutex_);
  return closed_;
}

absl::Status Queue::Check(absl::Span<const Tensor> components,
                          bool is_batch) const {
  if (components.size() != options_.types.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Wrong number of components in tuple. Expected ",
                     options_.types.size(), ", got ", components.size()));
  }
  for (size_t i = 0; i < components.size(); ++i) {
    if (components[i].dtype() == options_.types[i]) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Type mismatch in tuple component ", i, ". Expected ",
                     DataTypeName(options_.types[i]), ", got ",
                     DataTypeName(components[i].dtype())));
  }
  if (is_batch) RETURN_IF_ERROR(CheckBatch(components));
  for (size_t i = 0; i < options_.shapes.size(); ++i) {
    const TensorShape& got = components[i].shape();
    const PartialShape expected =
        is_batch ? WithBatch(options_.shapes[i], got.dim(0))
                 : options_.shapes[i];
    if (!expected.IsCompatibleWith(got)) {
      return ShapeMismatch(i, expected, got);
    }
  }
  return absl::OkStatus();
}

absl::Status Queue::CheckShared(const QueueOptions& wanted) const {
  const auto differs = [&](absl::string_view what, const auto& has,
                           const auto& asked) {
    return absl::InvalidArgumentError(
        absl::StrCat("Shared queue '", name_, "' has ", what, " ", has,
                     " but requested ", what, " was ", asked, "."));
  };
  if (wanted.kind != options_.kind) {
    return differs("type", options_.kind, wanted.kind);
  }
  if (wanted.capacity != options_.capacity) {
    return differs("capacity", options_.capacity, wanted.capacity);
  }
  if (wanted.types != options_.types) {
    return differs("component types", Join(options_.types), Join(wanted.types));
  }
  if (wanted.shapes != options_.shapes) {
    return differs("component shapes", Join(options_.shapes),
                   Join(wanted.shapes));
  }
  if (wanted.min_after_dequeue != options_.min_after_dequeue) {
    return differs("min_after_dequeue", options_.min_after_dequeue,
                   wanted.min_after_dequeue);
  }
  return absl::OkStatus();
}

void Queue::Enqueue(Cancellation& step, std::vector<QueueElement> elements,
                    Done done) {
  auto attempt = std::make_shared<Attempt>(Attempt::Kind::kEnqueue, step);
  attempt->elements = std::move(elements);
  attempt->done = std::move(done);
  Submit(std::move(attempt));
}

void Queue::Dequeue(Cancellation& step, int64_t count, bool or_fewer,
                    Dequeued done) {
  auto attempt = std::make_shared<Attempt>(Attempt::Kind::kDequeue, step);
  attempt->wanted = count;
  attempt->or_fewer = or_fewer;
  attempt->dequeued = std::move(done);
  Submit(std::move(attempt));
}

void Queue::Close(Cancellation& step, bool cancel_pending_enqueues, Done done) {
  if (!cancel_pending_enqueues) {
    auto attempt = std::make_shared<Attempt>(Attempt::Kind::kClose, step);
    attempt->done = std::move(done);
    return Submit(std::move(attempt));
  }
  Finished finished;
  const absl::Status status = CloseAtOnce(step, finished);
  Finish(finished);
  done(status);
}

absl::Status Queue::CloseAtOnce(const Cancellation& step, Finished& finished) {
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(step.status());
  closed_ = true;
  for (auto& attempt : enqueues_) {
    attempt->over = true;
    attempt->status = absl::CancelledError("Enqueue operation was cancelled");
    finished.push_back(std::move(attempt));
  }
  enqueues_.clear();
  Advance(finished);
  return absl::OkStatus();
}

void Queue::Submit(std::shared_ptr<Attempt> attempt) {
  attempt->token = attempt->step.Register(
      [self = shared_from_this(), attempt](const absl::Status& cause) {
        self->Cancel(attempt, cause);
      });
  Finished finished;
  if (attempt->token == 0) {
    attempt->status = attempt->step.status();
    finished.push_back(std::move(attempt));
  } else {
    absl::MutexLock lock(&mutex_);
    // If the call was already cancelled, the cancellation has called its
    // callback.
    if (!attempt->over) {
      WaitingWith(*attempt).push_back(std::move(attempt));
      Advance(finished);
    }
  }
  Finish(finished);
}

// Ends a cancelled call. It must not deregister the callback of the
// cancellation, as Finish does: this function runs in that callback, and would
// wait for itself.
void Queue::Cancel(const std::shared_ptr<Attempt>& attempt,
                   const absl::Status& cause) {
  Finished finished;
  {
    absl::MutexLock lock(&mutex_);
    if (attempt->over) return;
    attempt->over = true;
    attempt->status = cause;
    Attempts& waiting = WaitingWith(*attempt);
    waiting.erase(std::remove(waiting.begin(), waiting.end(), attempt),
                  waiting.end());
    GiveBack(*attempt);
    Advance(finished);
  }
  Finish(finished);
  if (attempt->kind == Attempt::Kind::kDequeue) {
    attempt->dequeued(cause);
  } else {
    attempt->done(cause);
  }
}

void Queue::Finish(const Finished& finished) {
  for (const auto& attempt : finished) {
    if (attempt->token != 0) attempt->step.Deregister(attempt->token);
    if (attempt->kind != Attempt::Kind::kDequeue) {
      attempt->done(attempt->status);
    } else if (attempt->status.ok()) {
      attempt->dequeued(std::move(attempt->taken));
    } else {
      attempt->dequeued(attempt->status);
    }
  }
}

Queue::Attempts& Queue::WaitingWith(const Attempt& attempt) {
  return attempt.kind == Attempt::Kind::kDequeue ? dequeues_ : enqueues_;
}

void Queue::Advance(Finished& finished) {
  bool moved = true;
  while (moved) {
    moved = AdvanceFirst(enqueues_, finished);
    moved = AdvanceFirst(dequeues_, finished) || moved;
  }
}

bool Queue::AdvanceFirst(Attempts& attempts, Finished& finished) {
  bool moved = false;
  while (!attempts.empty()) {
    const Progress progress = Try(*attempts.front());
    if (progress == Progress::kNone) break;
    moved = true;
    if (progress == Progress::kSome) break;
    attempts.front()->over = true;
    finished.push_back(std::move(attempts.front()));
    attempts.pop_front();
  }
  return moved;
}

// Lets an attempt continue. A cancelled step neither adds nor takes elements,
// even if the callback of its cancellation has not run yet.
Queue::Progress Queue::Try(Attempt& attempt) {
  if (attempt.step.IsCancelled()) {
    attempt.status = attempt.step.status();
    GiveBack(attempt);
    return Progress::kOver;
  }
  switch (attempt.kind) {
    case Attempt::Kind::kEnqueue:
      return TryEnqueue(attempt);
    case Attempt::Kind::kClose:
      return TryClose(attempt);
    case Attempt::Kind::kDequeue:
      break;
  }
  return TryDequeue(attempt);
}

Queue::Progress Queue::TryEnqueue(Attempt& attempt) {
  if (closed_) {
    attempt.status = absl::CancelledError(absl::StrCat(Title(), " is closed."));
    return Progress::kOver;
  }
  const size_t before = attempt.next;
  while (attempt.next < attempt.elements.size() &&
         (options_.capacity < 0 || store_->size() < options_.capacity)) {
    store_->Add(std::move(attempt.elements[attempt.next++]));
  }
  if (attempt.next == attempt.elements.size()) return Progress::kOver;
  return attempt.next > before ? Progress::kSome : Progress::kNone;
}

Queue::Progress Queue::TryClose(Attempt& attempt) {
  if (closed_) {
    attempt.status = absl::CancelledError(
        absl::StrCat("Queue '", name_, "' is already closed."));
  }
  closed_ = true;
  return Progress::kOver;
}

Queue::Progress Queue::TryDequeue(Attempt& attempt) {
  const int64_t size =
      store_->size() + static_cast<int64_t>(attempt.taken.size());
  if (closed_ && size < attempt.wanted) {
    if (!attempt.or_fewer || size == 0) {
      GiveBack(attempt);
      attempt.status = absl::OutOfRangeError(absl::StrCat(
          Title(), " is closed and has insufficient elements (requested ",
          attempt.wanted, ", current size ", size, ")"));
      return Progress::kOver;
    }
    attempt.wanted = size;
  }
  const int64_t kept = closed_ ? 0 : options_.min_after_dequeue;
  const size_t before = attempt.taken.size();
  while (static_cast<int64_t>(attempt.taken.size()) < attempt.wanted &&
         store_->size() > kept) {
    attempt.taken.push_back(store_->Take());
  }
  if (static_cast<int64_t>(attempt.taken.size()) == attempt.wanted) {
    return Progress::kOver;
  }
  return attempt.taken.size() > before ? Progress::kSome : Progress::kNone;
}

void Queue::GiveBack(Attempt& attempt) {
  store_->GiveBack(std::exchange(attempt.taken, {}));
}

}  // namespace weft
