// LocalFunctions is the FunctionRuntime of a session on one device: function
// bodies as plans, compiled when they are first called.
//
// A body is expanded (libs/graph/functions/function_expander.h), so that only a
// function that occurs again inside itself is called at run time; nodes that
// its results do not need are removed. Its stateful kernels are its own, one
// for each function and attrs, or for each of these and each Anew.
//
// Threads: thread-safe. No lock is held while a function is compiled or runs.
#ifndef WEFT_LIBS_EXECUTOR_LOCAL_FUNCTIONS_H_
#define WEFT_LIBS_EXECUTOR_LOCAL_FUNCTIONS_H_

#include <cstdint>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "libs/executor/executor.h"
#include "libs/graph/function_library.h"
#include "libs/graph/graph.h"
#include "libs/kernels/session_functions.h"

namespace weft {

class LocalFunctions : public SessionFunctions {
 public:
  struct Options {
    const KernelRegistry* kernels = nullptr;  // never null
    Device* device = nullptr;                 // never null
    Random* random = nullptr;                 // never null
    // Rewrites a body before it is compiled. May be null.
    std::unique_ptr<Graph> (*rewrite)(std::unique_ptr<Graph>) = nullptr;
    // Keeps alive the device, and what kernels of the session find on it, for
    // callers of functions after the session has ended; may be null.
    std::shared_ptr<const void> keeps;
  };
  // The objects in the options must outlive this object, except for those that
  // `keeps` keeps alive.
  explicit LocalFunctions(const Options& options);
  ~LocalFunctions() override;

  // Adds the functions of a graph whose nodes will call them. INVALID_ARGUMENT
  // if there is a different one of the same name. Returns the bytes of the new
  // functions.
  absl::StatusOr<int64_t> Add(const Graph& graph) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns what Add would return.
  int64_t BytesToAdd(const Graph& graph) const ABSL_LOCKS_EXCLUDED(mutex_);

  // Called when the session has ended. Releases the objects that only its
  // functions hold. Functions may still be called by users of resources that
  // the session has created.
  void EndSession() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::StatusOr<const RunnableFunction*> Find(
      const NameAttrList& function) override ABSL_LOCKS_EXCLUDED(mutex_);
  bool KeepsState(const RunnableFunction& function) const override;
  std::shared_ptr<FunctionRuntime> Anew() override;
  SessionFunctions& Persistent() override { return *this; }

 private:
  class Runnable;
  class Compiled;
  class CopyOf;

  // The current functions.
  std::unique_ptr<const Graph> Library() const ABSL_LOCKS_EXCLUDED(mutex_);

  const Options options_;
  const std::unique_ptr<Compiled> compiled_;
  mutable absl::Mutex mutex_;
  std::shared_ptr<const OpRegistry> ops_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const FunctionLibrary> library_ ABSL_GUARDED_BY(mutex_);
  int producer_ ABSL_GUARDED_BY(mutex_) = 0;  // Graph::producer
};

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_LOCAL_FUNCTIONS_H_
