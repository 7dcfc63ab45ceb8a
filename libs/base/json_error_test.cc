#include "libs/base/json_error.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using ::testing::StartsWith;

TEST(JsonErrorTest, NamesLineAndColumn) {
  EXPECT_THAT(JsonError("{\"ps\": "),
              StartsWith("line 1, column 8: syntax error"));
  EXPECT_THAT(JsonError("{\"a\": 1,\n 'b': 2}"),
              StartsWith("line 2, column 2"));
}

TEST(JsonErrorTest, NumbersOutOfRangeAreErrors) {
  EXPECT_THAT(JsonError("[1e999]"), StartsWith("number overflow"));
}

TEST(JsonErrorTest, ReturnsEmptyTextForValidJson) {
  EXPECT_EQ(JsonError("{\"a\": [1, null]}"), "");
}

}  // namespace
}  // namespace weft
