#include "libs/base/exceptions.h"

#include <cstdint>
#include <new>
#include <stdexcept>
#include <string>

#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/base/testing/failing_memory.h"

namespace weft {
namespace {

template <typename Exception>
absl::Status StatusOf(const Exception& exception) {
  return CatchExceptions([&]() -> absl::Status { throw exception; });
}

TEST(CatchExceptionsTest, ResultOfTheCallIsReturned) {
  EXPECT_OK(CatchExceptions([] { return absl::OkStatus(); }));
  const absl::StatusOr<int> seven =
      CatchExceptions([]() -> absl::StatusOr<int> { return 7; });
  ASSERT_OK(seven);
  EXPECT_EQ(*seven, 7);
}

TEST(CatchExceptionsTest, MissingMemoryIsResourceExhausted) {
  EXPECT_THAT(StatusOf(std::bad_alloc()),
              StatusIs(absl::StatusCode::kResourceExhausted, "std::bad_alloc"));
  EXPECT_THAT(
      StatusOf(std::length_error("basic_string::append")),
      StatusIs(absl::StatusCode::kResourceExhausted, "basic_string::append"));
  const auto text = CatchExceptions([]() -> absl::StatusOr<std::string> {
    return std::string(std::string().max_size() + 1, 'x');
  });
  EXPECT_THAT(text, StatusIs(absl::StatusCode::kResourceExhausted));
}

// The text of the error also needs memory. Each allocation for it fails once.
TEST(CatchExceptionsTest, MissingMemoryForTheTextIsResourceExhausted) {
  int64_t nth = 0;
  bool has_failed = true;
  while (has_failed) {
    absl::Status status;
    {
      const FailingMemory memory(++nth);
      status = StatusOf(std::bad_alloc());
      has_failed = memory.has_failed();
    }
    EXPECT_THAT(status, StatusIs(absl::StatusCode::kResourceExhausted));
  }
  EXPECT_GT(nth, 1);
}

TEST(StatusWithoutThrowingTest, ReturnsStatusWithoutTextIfMakeThrows) {
  const auto make = [] { return absl::InternalError("the text of an error"); };
  EXPECT_THAT(StatusWithoutThrowing(make),
              StatusIs(absl::StatusCode::kInternal, "the text of an error"));
  absl::Status without_memory;
  {
    const FailingMemory memory(1);
    without_memory = StatusWithoutThrowing(make);
  }
  EXPECT_THAT(without_memory, StatusIs(absl::StatusCode::kResourceExhausted));
}

TEST(CatchExceptionsTest, OtherExceptionsAreInternalErrors) {
  EXPECT_THAT(StatusOf(std::out_of_range("element 3")),
              StatusIs(absl::StatusCode::kInternal, "element 3"));
}

}  // namespace
}  // namespace weft
