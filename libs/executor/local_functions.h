// LocalFunctions: the FunctionRuntime of a session on one device: bodies of
// functions as plans, compiled when they are first called.
//
// A body is expanded (libs/graph/function_expander.h), so that only a function
// that comes again inside itself is called from there at run time; what its
// results do not need is left out. Its stateful kernels are its own, one for
// each function and attrs, or for each of these and each Anew.
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
    // What a body becomes before it is compiled; null: nothing else.
    std::unique_ptr<Graph> (*rewrite)(std::unique_ptr<Graph>) = nullptr;
    // Keeps the device, and what kernels of the session find on it, for those
    // who call functions when the session is gone; may be null.
    std::shared_ptr<const void> keeps;
  };
  // What the options point to and `keeps` does not keep outlives it.
  explicit LocalFunctions(const Options& options);
  ~LocalFunctions() override;

  // Functions of a graph whose nodes will call them. INVALID_ARGUMENT where
  // there is another of the same name. Returns the bytes that are kept of those
  // that are new.
  absl::StatusOr<int64_t> Add(const Graph& graph) ABSL_LOCKS_EXCLUDED(mutex_);
  // What Add would return.
  int64_t BytesToAdd(const Graph& graph) const ABSL_LOCKS_EXCLUDED(mutex_);

  // The session is over: what its functions hold and nobody else does ends.
  // Functions may still be called, by who shares what the session has made.
  void EndSession() ABSL_LOCKS_EXCLUDED(mutex_);

  absl::StatusOr<const RunnableFunction*> Find(
      const NameAttrList& function) override ABSL_LOCKS_EXCLUDED(mutex_);
  bool KeepsState(const RunnableFunction& function) const override;
  std::shared_ptr<FunctionRuntime> Anew() override;
  SessionFunctions& Lasting() override { return *this; }

 private:
  class Runnable;
  class Compiled;
  class CopyOf;

  // The functions as they are now.
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
