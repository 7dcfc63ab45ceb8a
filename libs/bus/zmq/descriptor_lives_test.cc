#include "libs/bus/zmq/descriptor_lives.h"

#include "gtest/gtest.h"

namespace weft::bus {
namespace {

using Life = DescriptorLives::Life;

TEST(DescriptorLivesTest, MessageBelongsToItsDescriptorsConnection) {
  DescriptorLives lives;
  lives.Accept(7);
  lives.Accept(8);
  Life doubtful;
  const Life seven = lives.Claim(7, doubtful);
  ASSERT_NE(seven, nullptr);
  EXPECT_EQ(doubtful, nullptr);
  EXPECT_EQ(lives.Disconnect(7), seven);
  EXPECT_TRUE(seven->over);
  lives.Erase(seven);
  EXPECT_FALSE(lives.empty());
  lives.Erase(lives.Disconnect(8));
  EXPECT_TRUE(lives.empty());
}

TEST(DescriptorLivesTest, EndOfOneConnectionDoesNotEndTheNext) {
  DescriptorLives lives;
  Life doubtful;
  lives.Accept(7);
  const Life first = lives.Claim(7, doubtful);
  EXPECT_EQ(lives.Disconnect(7), first);
  lives.Accept(7);
  const Life second = lives.Claim(7, doubtful);
  EXPECT_NE(second, first);
  EXPECT_FALSE(second->over);
  EXPECT_EQ(doubtful, nullptr);
  lives.Erase(first);
  EXPECT_EQ(lives.Disconnect(7), second);
}

TEST(DescriptorLivesTest, MessageReadAfterItsConnectionEnded) {
  DescriptorLives lives;
  Life doubtful;
  lives.Accept(7);
  const Life over = lives.Disconnect(7);
  EXPECT_EQ(lives.Claim(7, doubtful), over);
  EXPECT_EQ(doubtful, nullptr);
}

// The sender of the message is ambiguous: the connection that continues must be
// cut.
TEST(DescriptorLivesTest, AmbiguousMessageCutsTheLiveConnection) {
  DescriptorLives lives;
  Life doubtful;
  lives.Accept(7);
  lives.ShakeHands();
  const Life over = lives.Disconnect(7);
  lives.Accept(7);
  lives.ShakeHands();
  EXPECT_EQ(lives.Claim(7, doubtful), over);
  ASSERT_NE(doubtful, nullptr);
  EXPECT_FALSE(doubtful->over);
  EXPECT_EQ(lives.Disconnect(7), doubtful);
}

TEST(DescriptorLivesTest, ConnectionWithoutHandshakeSentNoMessage) {
  DescriptorLives lives;
  Life doubtful;
  lives.Accept(7);
  lives.ShakeHands();
  const Life over = lives.Disconnect(7);
  lives.Accept(7);
  EXPECT_EQ(lives.Claim(7, doubtful), over);
  EXPECT_EQ(doubtful, nullptr);
}

TEST(DescriptorLivesTest, RefusedConnectionSentNoMessage) {
  DescriptorLives lives;
  Life doubtful;
  lives.Accept(7);
  lives.Refuse();
  EXPECT_EQ(lives.Disconnect(7), nullptr);
  EXPECT_TRUE(lives.empty());
  lives.Accept(7);
  lives.ShakeHands();
  const Life life = lives.Claim(7, doubtful);
  EXPECT_FALSE(life->over);
  EXPECT_EQ(doubtful, nullptr);
  EXPECT_EQ(lives.Disconnect(7), life);
}

TEST(DescriptorLivesTest, UnknownDescriptorsAreIgnored) {
  DescriptorLives lives;
  Life doubtful;
  EXPECT_EQ(lives.Disconnect(7), nullptr);
  EXPECT_EQ(lives.Claim(7, doubtful), nullptr);
  EXPECT_EQ(lives.Claim(-1, doubtful), nullptr);
  lives.Accept(7);
  const Life only = lives.Claim(7, doubtful);
  EXPECT_EQ(lives.Claim(7, doubtful), nullptr);  // one connection, one life
  lives.Disconnect(7);
  EXPECT_EQ(lives.Disconnect(7), nullptr);
  lives.Erase(only);
  lives.Erase(only);
}

}  // namespace
}  // namespace weft::bus
