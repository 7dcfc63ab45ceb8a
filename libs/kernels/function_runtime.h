// FunctionRuntime prepares functions of the graph's library to run on one
// device, for kernels that call them at run time: calls that were not expanded
// when the graph was extended, maps over rows, and functions of datasets.
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
// A function runs as a separate step on that device, with the resources and the
// allocator of the given StepContext. It ends when that is cancelled; its own
// error is reported only to the caller. Callers outside of a step create a
// StepContext.
//
// A runtime belongs to a session on a task. An object that outlives the session
// (a shared iterator) must hold it with shared_from_this, which keeps alive the
// device, its allocator and the resources of the session's kernels.
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

// FunctionFrame describes one call of a function and links to the frame of its
// caller. It lives until the call ends.
struct FunctionFrame {
  const FunctionFrame* caller = nullptr;
  const std::string* function = nullptr;
  int depth = 1;
  CallTree* tree = nullptr;  // the enclosing calls; never null in a call
};

class RunnableFunction {
 public:
  // The maximum depth of nested calls.
  static constexpr int kMaxDepth = 1000;

  using Done = absl::AnyInvocable<void(absl::StatusOr<std::vector<Tensor>>)>;

  virtual ~RunnableFunction() = default;
  virtual const DataTypeVector& arg_types() const = 0;
  virtual const DataTypeVector& result_types() const = 0;
  // Calls `done` exactly once, on any thread, possibly before Run returns. The
  // objects of `step` must live until then. Reports INVALID_ARGUMENT for
  // mismatched arguments; RESOURCE_EXHAUSTED, naming the nested functions,
  // beyond kMaxDepth or with too many concurrent calls; otherwise the error of
  // a node, with the function's name.
  virtual void Run(const StepContext& step, std::vector<Tensor> args,
                   Done done) const = 0;
};

class FunctionRuntime : public std::enable_shared_from_this<FunctionRuntime> {
 public:
  virtual ~FunctionRuntime() = default;
  // Returns the function with the attrs of the call, compiled on the first
  // call. It lives as long as the runtime. NOT_FOUND, or an error of its body.
  virtual absl::StatusOr<const RunnableFunction*> Find(
      const NameAttrList& function) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_FUNCTION_RUNTIME_H_
