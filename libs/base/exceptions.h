// CatchExceptions converts exceptions of the C++ library to a status.
//
// Weft reports errors as absl::Status. Strings and containers of the C++
// library throw std::bad_alloc if there is no memory, and std::length_error for
// an impossible size. An uncaught exception ends the process. So code whose
// sizes depend on a program's values runs inside CatchExceptions: kernels,
// functions of data sets, and closures that kernels run on other threads.
// CatchExceptions is the last resort, for an allocation that the system
// refuses. HeapCharge (libs/tensor/heap_charge.h) refuses large amounts before
// they are allocated.
//
// A try block costs nothing unless something is thrown.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_BASE_EXCEPTIONS_H_
#define WEFT_LIBS_BASE_EXCEPTIONS_H_

#include <exception>
#include <utility>

#include "absl/status/status.h"

namespace weft {

// Returns the status that `make` returns. If `make` throws, returns
// RESOURCE_EXHAUSTED without a text, because there is no memory for the text.
// For destructors and handlers, which must not throw.
template <typename Make>
absl::Status StatusWithoutThrowing(Make&& make) noexcept {
  try {
    return std::forward<Make>(make)();
  } catch (const std::exception&) {
    return absl::Status(absl::StatusCode::kResourceExhausted, "");
  }
}

// Returns the status of the exception being handled: RESOURCE_EXHAUSTED for
// std::bad_alloc and std::length_error, INTERNAL with the exception's text for
// others. Never throws: like StatusWithoutThrowing, it returns a status without
// a text if there is no memory for the text.
// REQUIRES: called within a handler.
absl::Status CurrentExceptionStatus() noexcept;

// Calls `call`, which returns a Status or a StatusOr. Returns the result, or
// the status of the exception that `call` throws.
template <typename Call>
auto CatchExceptions(Call&& call) -> decltype(std::forward<Call>(call)()) {
  try {
    return std::forward<Call>(call)();
  } catch (const std::exception&) {
    return CurrentExceptionStatus();
  }
}

}  // namespace weft

#endif  // WEFT_LIBS_BASE_EXCEPTIONS_H_
