// Helpers for absl::Status, Weft's only way to report an error.
//
// Codes have the same meaning as in TensorFlow. An error text names the node,
// tensor or task and says what to do. No exception crosses a module boundary;
// CHECK-like aborts are only for bugs in Weft itself.
#ifndef WEFT_LIBS_BASE_STATUS_H_
#define WEFT_LIBS_BASE_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

// Returns `status` with "prefix: " before its message; payloads are kept. OK
// stays OK.
absl::Status Annotate(const absl::Status& status, absl::string_view prefix);

// Returns `status` with " suffix" after its message, for suffixes that
// TensorFlow appends, such as "[[node x]]". Payloads are kept. OK stays OK.
absl::Status Append(const absl::Status& status, absl::string_view suffix);

// Marks an error as derived: it was caused by the abort that followed another
// error. A master reports the first error that is not derived.
absl::Status MarkDerived(absl::Status status);
bool IsDerived(const absl::Status& status);

// Returns the name of a code in upper case, such as "INVALID_ARGUMENT".
absl::string_view StatusCodeName(absl::StatusCode code);

namespace internal {
inline const absl::Status& ToStatus(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& ToStatus(const absl::StatusOr<T>& result) {
  return result.status();
}
}  // namespace internal

}  // namespace weft

#define WEFT_CONCAT_INNER(a, b) a##b
#define WEFT_CONCAT(a, b) WEFT_CONCAT_INNER(a, b)

// Evaluates `expr`, a Status or a StatusOr whose value is ignored. Returns from
// the enclosing function if it is an error.
#define RETURN_IF_ERROR(expr)                                        \
  do {                                                               \
    if (absl::Status weft_status = ::weft::internal::ToStatus(expr); \
        !weft_status.ok()) {                                         \
      return weft_status;                                            \
    }                                                                \
  } while (false)

// Evaluates `expr`, a StatusOr. Moves its value into `lhs`, or returns from the
// enclosing function if it is an error.
#define ASSIGN_OR_RETURN(lhs, expr) \
  ASSIGN_OR_RETURN_IMPL(WEFT_CONCAT(weft_result_, __LINE__), lhs, expr)
#define ASSIGN_OR_RETURN_IMPL(result, lhs, expr)       \
  auto result = (expr);                                \
  if (!result.ok()) return std::move(result).status(); \
  lhs = std::move(result).value()

#endif  // WEFT_LIBS_BASE_STATUS_H_
