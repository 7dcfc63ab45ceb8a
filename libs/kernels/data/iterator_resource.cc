#include "libs/kernels/data/iterator_resource.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/exceptions.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/status.h"
#include "libs/resource/async_fifo_lock.h"

namespace weft {

// One walk, and the queue of its calls.
class IteratorResource::Walk : public std::enable_shared_from_this<Walk> {
 public:
  Walk(const IteratorContext& context, const ElementSpec& element,
       DatasetPtr dataset, Factory factory)
      : context_(context.With(never_cancelled_)),
        element_(element),
        walk_(context_.ForWalk()),
        dataset_(std::move(dataset)),
        factory_(std::move(factory)) {}

  Scheduler& scheduler() const { return context_.scheduler(); }
  // The number of elements taken since it was created or restored.
  int64_t num_taken() const {
    return num_taken_.load(std::memory_order_relaxed);
  }

  // Creates the dataset, if necessary, and its iterator. Must be called by the
  // call that has the turn.
  absl::Status Begin(IteratorContext& context) {
    if (iterator_ != nullptr) return absl::OkStatus();
    ASSIGN_OR_RETURN(iterator_, NewIterator(context));
    return absl::OkStatus();
  }

  // Runs `work` when its turn comes, with a context that ends with the step: at
  // once if it has the turn, `may_be_quick` is set and an element is ready;
  // otherwise on Pool::kUnbounded.
  using Work = absl::AnyInvocable<absl::Status(Walk&, IteratorContext&)>;
  void InTurn(const IteratorContext& caller, bool may_be_quick, Work work,
              Done done);

  absl::StatusOr<bool> GetNext(IteratorContext& context,
                               DatasetElement* element) {
    RETURN_IF_ERROR(context.cancellation().status());
    if (left_.has_value()) {
      *element = *std::exchange(left_, std::nullopt);
    } else {
      RETURN_IF_ERROR(Begin(context));
      const auto has = iterator_->GetNext(context, element);
      RETURN_IF_ERROR(NotTheEnd(*dataset_, has.status()));
      if (!*has) return false;
    }
    if (context.cancellation().IsCancelled()) {
      // The cancelled step drops the element; the next step gets it.
      left_ = std::move(*element);
      return context.cancellation().status();
    }
    num_taken_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  absl::Status Save(IteratorContext& context, IteratorStateWriter writer) {
    RETURN_IF_ERROR(Begin(context));
    if (left_.has_value()) writer.Write("left", *left_);
    return iterator_->Save(context, writer.Within("iterator"));
  }

  absl::Status Restore(IteratorContext& context,
                       const IteratorStateReader& reader) {
    // Restores a new iterator, as iterators require. After an error the walk
    // continues at its old position.
    std::optional<DatasetElement> left;
    if (reader.Has("left/size")) {
      ASSIGN_OR_RETURN(left, reader.ReadElement("left"));
      RETURN_IF_ERROR(CheckElement(*left));
    }
    IteratorContext anew = context.ForWalk();
    ASSIGN_OR_RETURN(auto restored, NewIterator(anew));
    RETURN_IF_ERROR(restored->Restore(anew, reader.Within("iterator")));
    iterator_ = std::move(restored);
    walk_ = anew.With(never_cancelled_);
    left_ = std::move(left);
    num_taken_.store(0, std::memory_order_relaxed);
    return absl::OkStatus();
  }

 private:
  struct Call {
    Call(const IteratorContext& caller, Work work_of_call, Done done_of_call)
        : step(caller.cancellation()),
          depth(caller.depth()),
          work(std::move(work_of_call)),
          done(std::move(done_of_call)) {}
    Cancellation& step;
    const int depth;  // a function may use another iterator
    Work work;
    Done done;
  };

  // Also creates the dataset, if necessary.
  absl::StatusOr<std::unique_ptr<DatasetIterator>> NewIterator(
      IteratorContext& context) {
    if (dataset_ == nullptr) {
      ASSIGN_OR_RETURN(DatasetPtr made, factory_(context));
      RETURN_IF_ERROR(CheckElementTypes(element_, made->output_types()));
      RETURN_IF_ERROR(CheckElementShapes(element_, made->output_shapes()));
      dataset_ = std::move(made);
    }
    return dataset_->MakeIterator(context);
  }

  absl::Status CheckElement(const DatasetElement& element) const {
    RETURN_IF_ERROR(CheckElementTypes(element_, TypesOfElement(element)));
    std::vector<PartialShape> shapes;
    for (const Tensor& tensor : element) shapes.push_back(tensor.shape());
    return CheckElementShapes(element_, shapes);
  }

  // The call for which this thread requests the turn.
  static thread_local const Call* asking;

  void Run(Call& call) {
    IteratorContext context =
        walk_.With(call.step).AtDepth(std::max(walk_.depth(), call.depth));
    absl::Status status = call.step.status();
    if (status.ok()) {
      status = CatchExceptions([&] { return call.work(*this, context); });
    }
    lock_.End();
    // Its captured objects are released before the caller is notified.
    call.work = nullptr;
    Done done = std::move(call.done);
    done(std::move(status));
  }

  bool IsReady() const {
    return left_.has_value() || (iterator_ != nullptr && iterator_->IsReady());
  }

  Cancellation never_cancelled_;
  const IteratorContext context_;
  const ElementSpec element_;
  AsyncFifoLock lock_;
  // Used only by the call that has the turn:
  IteratorContext walk_;  // context of iterator_
  DatasetPtr dataset_;
  Factory factory_;
  std::unique_ptr<DatasetIterator> iterator_;
  std::atomic<int64_t> num_taken_{0};   // may be read by any thread
  std::optional<DatasetElement> left_;  // left by a cancelled step
};

thread_local const IteratorResource::Walk::Call*
    IteratorResource::Walk::asking = nullptr;

void IteratorResource::Walk::InTurn(const IteratorContext& caller,
                                    bool may_be_quick, Work work, Done done) {
  auto call = std::make_shared<Call>(caller, std::move(work), std::move(done));
  const Call* const outer = std::exchange(asking, call.get());
  lock_.Take(caller.cancellation(), [self = shared_from_this(), call,
                                     may_be_quick](const absl::Status& cause) {
    if (!cause.ok()) return call->done(cause);
    // Not on the stack of the previous turn, because the following calls may be
    // many.
    const bool is_here = asking == call.get();
    if (is_here && may_be_quick && self->IsReady()) return self->Run(*call);
    self->scheduler().Schedule(Pool::kUnbounded,
                               [self, call] { self->Run(*call); });
  });
  asking = outer;
}

IteratorResource::IteratorResource(std::string name, ElementSpec element,
                                   Factory factory)
    : name_(std::move(name)),
      element_(std::move(element)),
      factory_(std::move(factory)) {}

IteratorResource::~IteratorResource() = default;

std::string IteratorResource::DebugString() const {
  absl::MutexLock lock(&mutex_);
  if (walk_ == nullptr) {
    return absl::StrCat("iterator '", name_, "', not initialized");
  }
  return absl::StrCat("iterator '", name_, "': ", walk_->num_taken(),
                      " elements taken");
}

std::shared_ptr<IteratorResource::Walk> IteratorResource::NewWalk(
    const IteratorContext& context, DatasetPtr dataset) const {
  return std::shared_ptr<Walk>(
      new Walk(context, element_, std::move(dataset), factory_),
      [](Walk* walk) {
        walk->scheduler().Schedule(Pool::kUnbounded, [walk] { delete walk; });
      });
}

void IteratorResource::Set(std::shared_ptr<Walk> walk) {
  absl::MutexLock lock(&mutex_);
  walk_.swap(walk);
}

absl::StatusOr<std::shared_ptr<IteratorResource::Walk>>
IteratorResource::CurrentWalk(const IteratorContext& context) {
  absl::MutexLock lock(&mutex_);
  if (walk_ == nullptr && factory_ != nullptr) {
    walk_ = NewWalk(context, nullptr);
  }
  if (walk_ != nullptr) return walk_;
  return absl::FailedPreconditionError(
      "GetNext() failed because the iterator has not been initialized. Ensure "
      "that you have run the initializer operation for this iterator before "
      "getting the next element.");
}

void IteratorResource::Initialize(const IteratorContext& context,
                                  DatasetPtr dataset, Done done) {
  absl::Status fits = CheckElementTypes(element_, dataset->output_types());
  if (fits.ok()) fits = CheckElementShapes(element_, dataset->output_shapes());
  if (!fits.ok()) return done(std::move(fits));
  const auto walk = NewWalk(context, std::move(dataset));
  walk->InTurn(
      context, /*may_be_quick=*/false,
      [self = shared_from_this()](Walk& begun, IteratorContext& begin_context) {
        RETURN_IF_ERROR(begun.Begin(begin_context));
        RETURN_IF_ERROR(begin_context.cancellation().status());
        self->Set(begun.shared_from_this());
        return absl::OkStatus();
      },
      std::move(done));
}

void IteratorResource::GetNext(const IteratorContext& context,
                               ElementDone done) {
  auto walk = CurrentWalk(context);
  if (!walk.ok()) return done(walk.status());
  struct Next {
    DatasetElement element;
    bool has = false;
  };
  auto next = std::make_shared<Next>();
  (*walk)->InTurn(
      context, /*may_be_quick=*/true,
      [next](Walk& in_turn, IteratorContext& turn_context) {
        ASSIGN_OR_RETURN(next->has,
                         in_turn.GetNext(turn_context, &next->element));
        return absl::OkStatus();
      },
      [next, done = std::move(done)](const absl::Status& status) mutable {
        if (!status.ok()) return done(status);
        if (!next->has) return done(std::nullopt);
        done(std::move(next->element));
      });
}

void IteratorResource::Save(const IteratorContext& context,
                            std::shared_ptr<IteratorStateWriter::Values> values,
                            Done done) {
  auto walk = CurrentWalk(context);
  if (!walk.ok()) return done(walk.status());
  (*walk)->InTurn(
      context, /*may_be_quick=*/false,
      [values](Walk& in_turn, IteratorContext& turn_context) {
        const IteratorStateWriter writer(*values);
        RETURN_IF_ERROR(in_turn.Save(turn_context, writer));
        return writer.CheckSize("an iterator");
      },
      std::move(done));
}

void IteratorResource::Restore(
    const IteratorContext& context,
    std::shared_ptr<const IteratorStateReader::Values> values, Done done) {
  auto walk = CurrentWalk(context);
  if (!walk.ok()) return done(walk.status());
  (*walk)->InTurn(
      context, /*may_be_quick=*/false,
      [values](Walk& in_turn, IteratorContext& turn_context) {
        return in_turn.Restore(turn_context, IteratorStateReader(*values));
      },
      std::move(done));
}

}  // namespace weft
