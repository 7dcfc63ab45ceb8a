#include "libs/bus/zmq/descriptor_lives.h"

#include "gtest/gtest.h"

namespace weft::bus {
namespace {

using Life = DescriptorLives::Life;

TEST(DescriptorLivesTest, MessageBelongsToItsDescriptorsConnection) {
  DescriptorLives lives;
  lives.Accept(7);
  lives.Accept(8);
  Life unconfirmed;
  const Life seven = lives.Claim(7, unconfirmed);
  ASSERT_NE(seven, nullptr);
  EXPECT_EQ(unconfirmed, nullptr);
  EXPECT_EQ(lives.Disconnect(7), seven);
  EXPECT_TRUE(seven->over);
  lives.Erase(seven);
  EXPECT_FALSE(lives.empty());
  lives.Erase(lives.Disconnect(8));
  EXPECT_TRUE(lives.empty());
}

TEST(DescriptorLivesTest, EndOfOneConnectionDoesNotEndTheNext) {
  DescriptorLives lives;
  Life unconfirmed;
  lives.Accept(7);
  const Life first = lives.Claim(7, unconfirmed);
  EXPECT_EQ(lives.Disconnect(7), first);
  lives.Accept(7);
  const Life second = lives.Claim(7, unconfirmed);
  EXPECT_NE(second, first);
  EXPECT_FALSE(second->over);
  EXPECT_EQ(unconfirmed, nullptr);
  lives.Erase(first);
  EXPECT_EQ(lives.Disconnect(7), second);
}

TEST(DescriptorLivesTest, MessageReadAfterItsConnectionEnded) {
  DescriptorLives lives;
  Life unconfirmed;
  lives.Accept(7);
  const Life over = lives.Disconnect(7);
  EXPECT_EQ(lives.Claim(7, unconfirmed), over);
  EXPECT_EQ(unconfirmed, nullptr);
}

// The sender of the message is ambiguous: the connection that continues must be
// cut.
TEST(DescriptorLivesTest, AmbiguousMessageCutsTheLiveConnection) {
  DescriptorLives lives;
  Life unconfirmed;
  lives.Accept(7);
  lives.ShakeHands();
  const Life over = lives.Disconnect(7);
  lives.Accept(7);
  lives.ShakeHands();
  EXPECT_EQ(lives.Claim(7, unconfirmed), over);
  ASSERT_NE(unconfirmed, nullptr);
  EXPECT_FALSE(unconfirmed->over);
  EXPECT_EQ(lives.Disconnect(7), unconfirmed);
}

TEST(DescriptorLivesTest, ConnectionWithoutHandshakeSentNoMessage) {
  DescriptorLives lives;
  Life unconfirmed;
  lives.Accept(7);
  lives.ShakeHands();
  const Life over = lives.Disconnect(7);
  lives.Accept(7);
  EXPECT_EQ(lives.Claim(7, unconfirmed), over);
  EXPECT_EQ(unconfirmed, nullptr);
}

TEST(DescriptorLivesTest, RefusedConnectionSentNoMessage) {
  DescriptorLives lives;
  Life unconfirmed;
  lives.Accept(7);
  lives.Refuse();
  EXPECT_EQ(lives.Disconnect(7), nullptr);
  EXPECT_TRUE(lives.empty());
  lives.Accept(7);
  lives.ShakeHands();
  const Life life = lives.Claim(7, unconfirmed);
  EXPECT_FALSE(life->over);
  EXPECT_EQ(unconfirmed, nullptr);
  EXPECT_EQ(lives.Disconnect(7), life);
}

TEST(DescriptorLivesTest, UnknownDescriptorsAreIgnored) {
  DescriptorLives lives;
  Life unconfirmed;
  EXPECT_EQ(lives.Disconnect(7), nullptr);
  EXPECT_EQ(lives.Claim(7, unconfirmed), nullptr);
  EXPECT_EQ(lives.Claim(-1, unconfirmed), nullptr);
  lives.Accept(7);
  const Life only = lives.Claim(7, unconfirmed);
  EXPECT_EQ(lives.Claim(7, unconfirmed), nullptr);  // one connection, one life
  lives.Disconnect(7);
  EXPECT_EQ(lives.Disconnect(7), nullptr);
  lives.Erase(only);
  lives.Erase(only);
}

}  // namespace
}  // namespace weft::bus
