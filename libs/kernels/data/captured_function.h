// CapturedFunction is a function of the graph's library together with the
// arguments that its dataset captured (`other_arguments`). It is called with
// elements.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_KERNELS_DATA_CAPTURED_FUNCTION_H_
#define WEFT_LIBS_KERNELS_DATA_CAPTURED_FUNCTION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/graph/attr_value.h"
#include "libs/kernels/data/dataset.h"
#include "libs/kernels/function_runtime.h"
#include "libs/kernels/session_functions.h"

namespace weft {

class CapturedFunction {
 public:
  using Done = RunnableFunction::Done;

  // `dataset` is the function's owner, for error texts: "MapDataset:node".
  // Returns INVALID_ARGUMENT unless the function takes `arg_types` and the
  // captured types, and UNIMPLEMENTED without a runtime (in constant
  // evaluation).
  static absl::StatusOr<std::shared_ptr<const CapturedFunction>> Create(
      std::string dataset, FunctionRuntime* runtime,
      const NameAttrList& function, const DataTypeVector& arg_types,
      std::vector<Tensor> captured);

  const DataTypeVector& result_types() const {
    return function_->result_types();
  }

  // Returns the results for `args`. Runs on this thread as long as the body
  // does not wait, and then waits for the call to end or to be cancelled by
  // context.cancellation().
  absl::StatusOr<std::vector<Tensor>> Call(const IteratorContext& context,
                                           std::vector<Tensor> args) const;
  // Like Call, but does not wait: calls `done` exactly once, possibly before
  // CallAsync returns. The context's cancellation must live until then.
  void CallAsync(const IteratorContext& context, std::vector<Tensor> args,
                 Done done) const;
  // Returns the error of a call whose `done` was destroyed without being
  // called, as after an exception in the function's run.
  static absl::Status DroppedCall();

 private:
  struct Running;

  CapturedFunction(std::string dataset,
                   std::shared_ptr<FunctionRuntime> runtime, NameAttrList name,
                   const RunnableFunction* function,
                   std::vector<Tensor> captured);

  absl::Status OfDataset(const absl::Status& status) const;
  // Returns the walk's copy of the function if the function keeps state;
  // otherwise the shared one.
  absl::StatusOr<const RunnableFunction*> FunctionFor(
      const IteratorContext& context) const;

  const std::string dataset_;
  // Keeps the function alive.
  const std::shared_ptr<FunctionRuntime> runtime_;
  const NameAttrList name_;
  const RunnableFunction* const function_;
  // Creates copies of the function with fresh state; null if all walks can
  // share it.
  SessionFunctions* const given_anew_by_;
  const std::vector<Tensor> captured_;
};

using CapturedFunctionPtr = std::shared_ptr<const CapturedFunction>;

// Calls a function and returns its only result, an int64 scalar. `name` is the
// name of the function's attr, for errors.
absl::StatusOr<int64_t> CallForNumber(const CapturedFunction& function,
                                      absl::string_view name,
                                      const IteratorContext& context,
                                      std::vector<Tensor> args);

// Calls a predicate and returns its only result, a bool scalar.
absl::StatusOr<bool> CallPredicate(const CapturedFunction& predicate,
                                   const IteratorContext& context,
                                   std::vector<Tensor> args);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_CAPTURED_FUNCTION_H_
