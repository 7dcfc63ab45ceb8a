#include "libs/base/fnv1a.h"

#include "gtest/gtest.h"

namespace weft {
namespace {

// The expected values are from the reference implementation,
// draft-eastlake-fnv.
TEST(Fnv1aTest, HashesMatchTheReference) {
  EXPECT_EQ(ExtendFnv1a(kFnv1aOffset, ""), 0xcbf29ce484222325u);
  EXPECT_EQ(ExtendFnv1a(kFnv1aOffset, "a"), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(ExtendFnv1a(kFnv1aOffset, "foobar"), 0x85944171f73967e8u);
}

TEST(Fnv1aTest, HashOfPartsEqualsHashOfTheWhole) {
  EXPECT_EQ(ExtendFnv1a(ExtendFnv1a(kFnv1aOffset, "foo"), "bar"),
            ExtendFnv1a(kFnv1aOffset, "foobar"));
}

TEST(Fnv1aTest, BytesAreUnsigned) {
  EXPECT_EQ(ExtendFnv1a(0, "\xff"), 0xff * kFnv1aPrime);
}

TEST(Fnv1aTest, NumbersAreHashedAsLittleEndianBytes) {
  EXPECT_EQ(ExtendFnv1aWithNumber(kFnv1aOffset, 0x6867666564636261),
            ExtendFnv1a(kFnv1aOffset, "abcdefgh"));
}

}  // namespace
}  // namespace weft
