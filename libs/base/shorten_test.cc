#include "libs/base/shorten.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/utf8.h"

namespace weft {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr size_t kMost = 200;

TEST(ShortenTextTest, TextThatFitsIsUnchanged) {
  for (const size_t size : {size_t{0}, kMost - 1, kMost}) {
    const std::string text(size, 'x');
    EXPECT_EQ(ShortenText(text, kMost), text);
  }
}

TEST(ShortenTextTest, BeginningAndEndAreKept) {
  const std::string text =
      absl::StrCat("node 'a': ", std::string(1000, 'x'), " raise the limit");
  const std::string shortened = ShortenText(text, kMost);
  EXPECT_LE(shortened.size(), kMost);
  EXPECT_THAT(shortened,
              AllOf(StartsWith("node 'a': x"), EndsWith("x raise the limit"),
                    HasSubstr(" [866 bytes left out] ")));
}

TEST(ShortenTextTest, NoUtf8SequenceIsCut) {
  for (size_t before = 0; before < 4; ++before) {
    std::string text(before, 'x');
    while (text.size() < 1000) text += "\xf0\x9f\x98\x80";
    const std::string shortened = ShortenText(text, kMost);
    EXPECT_LE(shortened.size(), kMost);
    EXPECT_TRUE(IsUtf8(shortened)) << before;
  }
}

TEST(ShortenTextTest, BytesThatAreNotUtf8AreShortened) {
  const std::string text(1000, '\x80');
  EXPECT_LE(ShortenText(text, kMost).size(), kMost);
}

}  // namespace
}  // namespace weft
