#include "libs/kernels/data/captured_function.h"

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/exceptions.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/status.h"
#include "libs/kernels/data/walk_functions.h"
#include "libs/rendezvous/rendezvous.h"
#include "libs/resource/resource_manager.h"

namespace weft {
namespace {

absl::Status CheckArgs(const std::string& dataset, const std::string& function,
                       const DataTypeVector& takes,
                       const DataTypeVector& arg_types,
                       const std::vector<Tensor>& captured) {
  DataTypeVector given = arg_types;
  for (const Tensor& tensor : captured) given.push_back(tensor.dtype());
  if (given.size() != takes.size()) {
    return absl::InvalidArgumentError(absl::StrCat(
        dataset, ": function '", function, "' takes ", takes.size(),
        " arguments, but an element has ", arg_types.size(), " components and ",
        captured.size(), " are captured"));
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i] == takes[i]) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        dataset, ": function '", function, "': argument ", i, " is ",
        DataTypeName(takes[i]), ", but ", DataTypeName(given[i]), " is given"));
  }
  return absl::OkStatus();
}

// A call that a thread waits for. Shared, because the thread that ends it may
// still access it when the waiting thread continues.
class WaitedCall {
 public:
  void End(absl::StatusOr<std::vector<Tensor>> results) {
    absl::MutexLock lock(&mutex_);
    results_ = std::move(results);
    if (event_ != nullptr) event_->Set();
  }

  absl::StatusOr<std::vector<Tensor>> Wait(Scheduler& scheduler) {
    Event* event = nullptr;
    {
      absl::MutexLock lock(&mutex_);
      if (results_.has_value()) return *std::move(results_);
      event_ = scheduler.NewEvent();
      event = event_.get();
    }
    event->Wait();
    absl::MutexLock lock(&mutex_);
    return *std::move(results_);
  }

 private:
  absl::Mutex mutex_;
  std::optional<absl::StatusOr<std::vector<Tensor>>> results_
      ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Event> event_ ABSL_GUARDED_BY(mutex_);
};

// Ends a call once: with its results, or with an error if it is destroyed
// first. A function without memory may drop its callback.
class WaitedCallEnd {
 public:
  explicit WaitedCallEnd(std::shared_ptr<WaitedCall> call)
      : call_(std::move(call)) {}
  WaitedCallEnd(WaitedCallEnd&&) = default;
  ~WaitedCallEnd() {
    if (call_ == nullptr) return;
    (*this)(StatusWithoutThrowing(CapturedFunction::DroppedCall));
  }

  void operator()(absl::StatusOr<std::vector<Tensor>> results) {
    std::exchange(call_, nullptr)->End(std::move(results));
  }

 private:
  std::shared_ptr<WaitedCall> call_;
};

// Null if the function keeps no state, or if its runtime cannot create copies.
SessionFunctions* GiverAnew(FunctionRuntime& runtime,
                            const RunnableFunction& function) {
  auto* functions = dynamic_cast<SessionFunctions*>(&runtime);
  if (functions == nullptr || !functions->KeepsState(function)) return nullptr;
  return functions;
}

}  // namespace

// Running holds the objects that live as long as one function call.
struct CapturedFunction::Running {
  Running(const IteratorContext& context, const std::string& dataset)
      : step(context.step()),
        frame{.function = &dataset, .depth = context.depth()} {
    step.step_resources = &step_resources;
    step.rendezvous = &rendezvous;
    step.frame = &frame;
  }
  StepContext step;
  // The enclosing iterators and calls, so that a function whose datasets call
  // it recursively reaches the limit of nested calls. It has no CallTree: an
  // iterator does not run on the stack of the step that created it.
  FunctionFrame frame;
  ResourceManager step_resources{"step"};
  LocalRendezvous rendezvous;
  Done done;
};

CapturedFunction::CapturedFunction(std::string dataset,
                                   std::shared_ptr<FunctionRuntime> runtime,
                                   NameAttrList name,
                                   const RunnableFunction* function,
                                   std::vector<Tensor> captured)
    : dataset_(std::move(dataset)),
      runtime_(std::move(runtime)),
      name_(std::move(name)),
      function_(function),
      given_anew_by_(GiverAnew(*runtime_, *function)),
      captured_(std::move(captured)) {}

absl::StatusOr<std::shared_ptr<const CapturedFunction>>
CapturedFunction::Create(std::string dataset, FunctionRuntime* runtime,
                         const NameAttrList& function,
                         const DataTypeVector& arg_types,
                         std::vector<Tensor> captured) {
  if (runtime == nullptr) {
    return absl::UnimplementedError(
        absl::StrCat(dataset, ": function '", function.name,
                     "' cannot be called outside a session"));
  }
  ASSIGN_OR_RETURN(const RunnableFunction* found, runtime->Find(function));
  RETURN_IF_ERROR(CheckArgs(dataset, function.name, found->arg_types(),
                            arg_types, captured));
  return std::shared_ptr<const CapturedFunction>(
      new CapturedFunction(std::move(dataset), runtime->shared_from_this(),
                           function, found, std::move(captured)));
}

absl::StatusOr<std::vector<Tensor>> CapturedFunction::Call(
    const IteratorContext& context, std::vector<Tensor> args) const {
  const auto call = std::make_shared<WaitedCall>();
  CallAsync(context, std::move(args), WaitedCallEnd(call));
  return call->Wait(context.scheduler());
}

absl::Status CapturedFunction::DroppedCall() {
  return absl::ResourceExhaustedError(
      "a function of a dataset was aborted before it had its results, because "
      "there was no memory for it");
}

absl::StatusOr<const RunnableFunction*> CapturedFunction::FunctionFor(
    const IteratorContext& context) const {
  WalkFunctions* walk = context.walk_functions();
  if (given_anew_by_ == nullptr || walk == nullptr) return function_;
  return walk->Find(function_, name_, *given_anew_by_);
}

// The error names a function only once, even if it calls itself through its
// datasets.
absl::Status CapturedFunction::OfDataset(const absl::Status& status) const {
  const std::string text = absl::StrCat(
      "Error in user-defined function passed to ", dataset_, " transformation");
  if (absl::StrContains(status.message(), text)) return status;
  return Annotate(status, text);
}

void CapturedFunction::CallAsync(const IteratorContext& context,
                                 std::vector<Tensor> args, Done done) const {
  const absl::StatusOr<const RunnableFunction*> function = FunctionFor(context);
  if (!function.ok()) return done(function.status());
  args.insert(args.end(), captured_.begin(), captured_.end());
  auto running = std::make_unique<Running>(context, dataset_);
  running->done = std::move(done);
  const StepContext& step = running->step;
  (*function)->Run(step, std::move(args),
                   [this, running = std::move(running)](auto results) mutable {
                     Done end = std::move(running->done);
                     running.reset();
                     if (results.ok()) return end(std::move(results));
                     end(OfDataset(results.status()));
                   });
}

absl::StatusOr<int64_t> CallForNumber(const CapturedFunction& function,
                                      absl::string_view name,
                                      const IteratorContext& context,
                                      std::vector<Tensor> args) {
  ASSIGN_OR_RETURN(const std::vector<Tensor> results,
                   function.Call(context, std::move(args)));
  if (results.size() == 1 && results[0].dtype() == DT_INT64 &&
      results[0].num_elements() == 1) {
    return results[0].flat<int64_t>()[0];
  }
  return absl::InvalidArgumentError(
      absl::StrCat("`", name, "` must return a scalar int64."));
}

absl::StatusOr<bool> CallPredicate(const CapturedFunction& predicate,
                                   const IteratorContext& context,
                                   std::vector<Tensor> args) {
  ASSIGN_OR_RETURN(const std::vector<Tensor> results,
                   predicate.Call(context, std::move(args)));
  if (results.size() == 1 && results[0].dtype() == DT_BOOL &&
      results[0].num_elements() == 1) {
    return results[0].flat<bool>()[0];
  }
  return absl::InvalidArgumentError(
      "`predicate` must returns a scalar bool tensor.");
}

}  // namespace weft
