// CatchExceptions turns what the C++ library throws into a status.
//
// Weft reports errors as absl::Status. Strings and containers of the C++
// library report that there is no memory by std::bad_alloc, and a size that
// they can't have by std::length_error. An exception that no frame catches ends
// the process. So code whose sizes follow from a program's values runs inside
// CatchExceptions: kernels, the functions of data sets, and closures that
// kernels run on other threads. It is the last resort, for memory that the
// system refuses: HeapCharge (libs/tensor/heap_charge.h) refuses a large
// amount before it is taken.
//
// A try block costs nothing until something is thrown.
//
// Threads: no state.
#ifndef WEFT_LIBS_BASE_EXCEPTIONS_H_
#define WEFT_LIBS_BASE_EXCEPTIONS_H_

#include <exception>
#include <utility>

#include "absl/status/status.h"

namespace weft {

// The status that `make` returns, or RESOURCE_EXHAUSTED without a text where it
// throws: there is no memory for the text. For destructors and handlers, out of
// which no exception may come.
template <typename Make>
absl::Status StatusWithoutThrowing(Make&& make) noexcept {
  try {
    return std::forward<Make>(make)();
  } catch (const std::exception&) {
    return absl::Status(absl::StatusCode::kResourceExhausted, "");
  }
}

// The exception that is handled now: RESOURCE_EXHAUSTED for std::bad_alloc and
// std::length_error, INTERNAL with its text for others. Throws nothing, as
// StatusWithoutThrowing.
// REQUIRES: called within a handler.
absl::Status CurrentExceptionStatus() noexcept;

// What `call` returns, a Status or a StatusOr, or the status of the exception
// that it throws.
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
