// FunctionRuntime: functions of the graph's library made ready to run on one
// device, for kernels that call them at run time: calls that were not expanded
// where the graph was extended, maps over rows, and what a dataset does to its
// elements.
//
//   absl::Status MyKernel(construction) {
//     functions_ = construction.functions();     // may be null
//     ASSIGN_OR_RETURN(f_, construction.GetAttr<NameAttrList>("f"));
//   }
//   void ComputeAsync(context, done) {
//     ASSIGN_OR_RETURN(const RunnableFunction* f, functions_->Find(f_));
//     f->Run(context.step(), {args}, [](auto results) { ... });
//   }
//
// A function runs as a step of its own on that device, with the resources and
// the allocator of the StepContext it is given. It ends when that is cancelled;
// its own error is for the caller alone. Who calls outside of any step makes a
// StepContext of its own.
//
// A runtime belongs to a session on a task. Whoever outlives the session (a
// shared iterator) holds on to it with shared_from_this, and so keeps the
// device, its allocator and the resources that the session's kernels have in
// their StepContext.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_KERNELS_FUNCTION_RUNTIME_H_
#define WEFT_LIBS_KERNELS_FUNCTION_RUNTIME_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "libs/graph/attr_value.h"
#include "libs/tensor/data_type.h"
#include "libs/tensor/tensor.h"

namespace weft {

class CallTree;      // libs/executor/call_tree.h
struct StepContext;  // libs/kernels/op_kernel.h

// A function that runs, and who called it. Lives as long as the call.
struct FunctionFrame {
  const FunctionFrame* caller = nullptr;
  const std::string* function = nullptr;
  int depth = 1;
  CallTree* tree = nullptr;  // of the calls around it; never null in a call
};

class RunnableFunction {
 public:
  // How many calls may run inside one another.
  static constexpr int kMaxDepth = 1000;

  using Done = absl::AnyInvocable<void(absl::StatusOr<std::vector<Tensor>>)>;

  virtual ~RunnableFunction() = default;
  virtual const DataTypeVector& arg_types() const = 0;
  virtual const DataTypeVector& result_types() const = 0;
  // Calls `done` exactly once, on any thread, perhaps before it returns. What
  // `step` points to lives until then. INVALID_ARGUMENT for arguments that do
  // not fit; RESOURCE_EXHAUSTED, with the functions on the way, beyond
  // kMaxDepth, or with too many calls at once; else the error of a node, with
  // the function's name.
  virtual void Run(const StepContext& step, std::vector<Tensor> args,
                   Done done) const = 0;
};

class FunctionRuntime : public std::enable_shared_from_this<FunctionRuntime> {
 public:
  virtual ~FunctionRuntime() = default;
  // The function with the attrs of the call, compiled at the first call of it.
  // It lives as long as the runtime. NOT_FOUND, or what is wrong with its body.
  virtual absl::StatusOr<const RunnableFunction*> Find(
      const NameAttrList& function) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_FUNCTION_RUNTIME_H_
