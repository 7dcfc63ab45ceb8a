// SessionFunctions is a FunctionRuntime that can create a copy of itself with
// fresh state. TensorFlow's iterators start this way: each initialization draws
// the same random numbers from a seed, independent of earlier use.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_KERNELS_SESSION_FUNCTIONS_H_
#define WEFT_LIBS_KERNELS_SESSION_FUNCTIONS_H_

#include <memory>

#include "libs/kernels/function_runtime.h"

namespace weft {

class SessionFunctions : public FunctionRuntime {
 public:
  // Returns whether a call of `function`, a result of Find, may leave state in
  // kernels for later calls: the position in a stream of random numbers, or an
  // unnamed queue.
  virtual bool KeepsState(const RunnableFunction& function) const = 0;

  // Returns a runtime with the same functions, now and as they are added;
  // functions that keep state have their own kernels. They live until the last
  // holder of the result, which keeps this object alive.
  virtual std::shared_ptr<FunctionRuntime> Anew() = 0;

  // The runtime to keep for later: the one whose Anew created this, or this
  // itself. Holding this directly would keep alive kernels that may hold it in
  // turn.
  virtual SessionFunctions& Persistent() = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SESSION_FUNCTIONS_H_
