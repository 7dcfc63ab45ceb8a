#include "libs/base/utf8.h"

#include <string>

#include "gtest/gtest.h"

namespace weft {
namespace {

TEST(Utf8Test, CompleteSequencesAreUtf8) {
  for (const char* text : {"", "Ulm", "Zürich", "\u20ac", "\U0010ffff"}) {
    EXPECT_TRUE(IsUtf8(text)) << text;
  }
  EXPECT_TRUE(IsUtf8(std::string("a\0b", 3)));
}

TEST(Utf8Test, IncompleteOrInvalidBytesAreNotUtf8) {
  for (const char* bytes :
       {"\xff", "\x80", "a\xc3", "\xe2\x82", "\xf0\x9f\x98", "\xc0\x80",
        "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xc3("}) {
    EXPECT_FALSE(IsUtf8(bytes)) << bytes;
  }
}

}  // namespace
}  // namespace weft
