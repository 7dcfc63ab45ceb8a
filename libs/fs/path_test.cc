#include "libs/fs/path.h"

#include "gtest/gtest.h"

namespace weft {
namespace {

TEST(PathTest, JoinPathAddsOneSlash) {
  EXPECT_EQ(JoinPath("a", "b"), "a/b");
  EXPECT_EQ(JoinPath("a/", "b"), "a/b");
  EXPECT_EQ(JoinPath("/", "b"), "/b");
  EXPECT_EQ(JoinPath("", "b"), "b");
  EXPECT_EQ(JoinPath("a", ""), "a");
  EXPECT_EQ(JoinPath("a", "/b"), "/b");
}

TEST(PathTest, DirnameAndBasenameSplitAtLastSlash) {
  EXPECT_EQ(Dirname("a/b/c"), "a/b");
  EXPECT_EQ(Dirname("/a"), "/");
  EXPECT_EQ(Dirname("a"), "");
  EXPECT_EQ(Basename("a/b/c"), "c");
  EXPECT_EQ(Basename("a/b/"), "");
  EXPECT_EQ(Basename("a"), "a");
}

TEST(PathTest, CleanPathRemovesRedundantParts) {
  EXPECT_EQ(CleanPath("//a/./b//"), "/a/b");
  EXPECT_EQ(CleanPath("a/../b"), "a/../b");
  EXPECT_EQ(CleanPath("./"), ".");
  EXPECT_EQ(CleanPath(""), ".");
  EXPECT_EQ(CleanPath("/"), "/");
}

TEST(PathTest, UrlsKeepTheirHost) {
  EXPECT_EQ(SchemeAndHost("zmq://host:1/a/b"), "zmq://host:1");
  EXPECT_EQ(SchemeAndHost("zmq://host:1"), "zmq://host:1");
  EXPECT_EQ(SchemeAndHost("/a/zmq://host:1"), "");
  EXPECT_EQ(SchemeAndHost("a/b"), "");
  EXPECT_EQ(SchemeAndHost("://a"), "");
  EXPECT_EQ(CleanPath("zmq://host:1//a/./b/"), "zmq://host:1/a/b");
  EXPECT_EQ(CleanPath("zmq://host:1/"), "zmq://host:1");
  EXPECT_EQ(Dirname("zmq://host:1/a/b"), "zmq://host:1/a");
  EXPECT_EQ(Dirname("zmq://host:1/a"), "zmq://host:1");
  EXPECT_EQ(Dirname("zmq://host:1"), "");
  EXPECT_EQ(Basename("zmq://host:1/a"), "a");
  EXPECT_EQ(Basename("zmq://host:1"), "");
  EXPECT_EQ(JoinPath("zmq://host:1", "a"), "zmq://host:1/a");
  EXPECT_EQ(JoinPath("zmq://host:1/a", "zmq://host:2/b"), "zmq://host:2/b");
}

TEST(PathTest, NamesMatchPatterns) {
  EXPECT_TRUE(MatchesPattern("model.ckpt-10", "model.ckpt-*"));
  EXPECT_FALSE(MatchesPattern("a/b", "*"));
  EXPECT_TRUE(MatchesPattern("*", "\\*"));
  EXPECT_FALSE(MatchesPattern("a", "\\*"));
}

}  // namespace
}  // namespace weft
