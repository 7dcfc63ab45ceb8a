// SessionFunctions: a FunctionRuntime that gives its functions anew, with state
// of their own. TensorFlow's iterators begin so: each initialization draws the
// same random numbers from a seed, whoever has drawn from it before.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_KERNELS_SESSION_FUNCTIONS_H_
#define WEFT_LIBS_KERNELS_SESSION_FUNCTIONS_H_

#include <memory>

#include "libs/kernels/function_runtime.h"

namespace weft {

class SessionFunctions : public FunctionRuntime {
 public:
  // Whether a call of the function, which Find gave, may leave something in
  // kernels for the calls after it: where a stream of random numbers has come
  // to, a queue that has no name.
  virtual bool KeepsState(const RunnableFunction& function) const = 0;

  // The same functions, now and as they are added; those that keep state have
  // kernels of their own. They end with the last holder of what is returned,
  // which keeps this.
  virtual std::shared_ptr<FunctionRuntime> Anew() = 0;

  // What to keep for later: the one whose Anew has given this, or this itself.
  // Whoever kept this would keep kernels that may keep it.
  virtual SessionFunctions& Lasting() = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_SESSION_FUNCTIONS_H_
