// Matchers and assertions for absl::Status and absl::StatusOr. For tests only.
//
//   EXPECT_OK(session->Run(train));
//   ASSERT_OK_AND_ASSIGN(Tensor value, session->Run(x));
//   EXPECT_THAT(status, StatusIs(absl::StatusCode::kNotFound, "x/read"));
#ifndef WEFT_LIBS_BASE_TEST_MATCHERS_H_
#define WEFT_LIBS_BASE_TEST_MATCHERS_H_

#include <ostream>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/status.h"

namespace weft {
namespace internal {

inline const absl::Status& GetStatus(const absl::Status& status) {
  return status;
}
template <typename T>
const absl::Status& GetStatus(const absl::StatusOr<T>& result) {
  return result.status();
}

}  // namespace internal

// The code that most tests of invalid input expect.
constexpr absl::StatusCode kInvalid = absl::StatusCode::kInvalidArgument;

// Matches a Status or StatusOr that is OK.
MATCHER(IsOk, negation ? "is an error" : "is OK") {
  const absl::Status& status = internal::GetStatus(arg);
  *result_listener << "which is " << status.ToString();
  return status.ok();
}

// Matches a Status or StatusOr with this code whose message contains
// `substring`.
MATCHER_P2(StatusIs, code, substring,
           std::string(negation ? "isn't " : "is ") +
               std::string(StatusCodeName(code)) + " with \"" +
               std::string(substring) + "\" in its message") {
  const absl::Status& status = internal::GetStatus(arg);
  *result_listener << "which is " << status.ToString();
  return status.code() == code &&
         std::string(status.message()).find(std::string(substring)) !=
             std::string::npos;
}

inline auto StatusIs(absl::StatusCode code) { return StatusIs(code, ""); }

// Returns the value of a StatusOr. For an error, the test fails and continues
// with a default value.
template <typename T>
T ValueOf(absl::StatusOr<T> result) {
  EXPECT_THAT(result, IsOk());
  return result.ok() ? *std::move(result) : T();
}

}  // namespace weft

#define EXPECT_OK(expr) EXPECT_THAT((expr), ::weft::IsOk())
#define ASSERT_OK(expr) ASSERT_THAT((expr), ::weft::IsOk())

// Asserts that a StatusOr is OK and moves its value into `lhs`.
#define ASSERT_OK_AND_ASSIGN(lhs, expr) \
  ASSERT_OK_AND_ASSIGN_IMPL(WEFT_CONCAT(weft_result_, __LINE__), lhs, expr)
#define ASSERT_OK_AND_ASSIGN_IMPL(result, lhs, expr) \
  auto result = (expr);                              \
  ASSERT_OK(result);                                 \
  lhs = std::move(result).value()

#endif  // WEFT_LIBS_BASE_TEST_MATCHERS_H_
