#include "libs/base/status.h"

#include "absl/strings/cord.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

TEST(StatusTest, AnnotateAndAppendKeepCodeAndPayloads) {
  absl::Status status = MarkDerived(absl::NotFoundError("no x"));
  status.SetPayload("other", absl::Cord("1"));
  for (const absl::Status& changed :
       {Annotate(status, "node a"), Append(status, "[[node a]]")}) {
    EXPECT_EQ(changed.code(), absl::StatusCode::kNotFound);
    EXPECT_TRUE(IsDerived(changed));
    EXPECT_TRUE(changed.GetPayload("other").has_value());
  }
  EXPECT_EQ(Annotate(status, "node a").message(), "node a: no x");
  EXPECT_EQ(Append(status, "[[node a]]").message(), "no x [[node a]]");
}

TEST(StatusTest, OkStaysOk) {
  EXPECT_OK(Annotate(absl::OkStatus(), "a"));
  EXPECT_OK(Append(absl::OkStatus(), "a"));
  EXPECT_OK(MarkDerived(absl::OkStatus()));
}

TEST(StatusTest, CodeNamesAreUpperCase) {
  EXPECT_EQ(StatusCodeName(absl::StatusCode::kInvalidArgument),
            "INVALID_ARGUMENT");
  EXPECT_EQ(StatusCodeName(absl::StatusCode::kDataLoss), "DATA_LOSS");
}

absl::StatusOr<int> Half(int number) {
  if (number % 2 != 0) return absl::InvalidArgumentError("odd");
  return number / 2;
}

absl::StatusOr<int> Quarter(int number) {
  ASSIGN_OR_RETURN(const int half, Half(number));
  ASSIGN_OR_RETURN(const int quarter, Half(half));
  return quarter;
}

absl::Status CheckQuarter(int number) {
  RETURN_IF_ERROR(Quarter(number).status());
  return absl::OkStatus();
}

TEST(StatusTest, MacrosReturnTheError) {
  ASSERT_OK_AND_ASSIGN(const int quarter, Quarter(12));
  EXPECT_EQ(quarter, 3);
  EXPECT_OK(CheckQuarter(12));
  EXPECT_THAT(Quarter(6), StatusIs(absl::StatusCode::kInvalidArgument, "odd"));
  EXPECT_THAT(CheckQuarter(6), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace weft
