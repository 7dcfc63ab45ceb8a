#include "libs/master/step_gate.h"

#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace weft {
namespace {

constexpr protocol::StepId kSave = {7, 1};
constexpr protocol::StepId kOtherSave = {8, 1};

class StepGateTest : public testing::Test {
 protected:
  StepGate::Callback Say(const std::string& text) {
    return [this, text] { said_.push_back(text); };
  }
  void Call(StepGate::Callbacks callbacks) {
    for (auto& call : callbacks) call();
  }
  std::vector<std::string> Said() { return std::exchange(said_, {}); }

  StepGate gate_;
  std::vector<std::string> said_;
};

TEST_F(StepGateTest, HoldIsDoneWhenTheLastStepEnds) {
  EXPECT_TRUE(gate_.IsIdle());
  Call(gate_.Add(kSave, {3, 4}, {10, 11}, Say("quiet")));
  EXPECT_FALSE(gate_.IsOpenFor(3));
  EXPECT_TRUE(gate_.IsOpenFor(5));
  EXPECT_EQ(gate_.FindWaitedFor(kSave), 10u);
  Call(gate_.StepEnded(10));
  Call(gate_.StepEnded(99));
  EXPECT_TRUE(Said().empty());
  Call(gate_.StepEnded(11));
  EXPECT_EQ(Said(), std::vector<std::string>{"quiet"});
  EXPECT_EQ(gate_.FindWaitedFor(kSave), 0u);
  Call(gate_.Remove(kSave));
  EXPECT_TRUE(Said().empty());
  EXPECT_TRUE(gate_.IsOpenFor(3));
  EXPECT_TRUE(gate_.IsIdle());
}

TEST_F(StepGateTest, HoldWithoutStepsIsDoneAtOnce) {
  Call(gate_.Add(kSave, {3}, {}, Say("quiet")));
  EXPECT_EQ(Said(), std::vector<std::string>{"quiet"});
}

// In order of arrival, once no hold remains.
TEST_F(StepGateTest, WaitingStepsBeginWhenTheLastHoldEnds) {
  bool is_held[3] = {true, true, true};
  Call(gate_.Add(kSave, {3}, {}, Say("quiet")));
  Call(gate_.Add(kOtherSave, {3, 4}, {}, Say("quiet")));
  gate_.Wait(3, 21, &is_held[0], Say("first"));
  gate_.Wait(4, 22, &is_held[1], Say("second"));
  gate_.Wait(3, 23, &is_held[2], Say("third"));
  Said();
  Call(gate_.Remove(kSave));
  EXPECT_TRUE(Said().empty());
  EXPECT_TRUE(is_held[0]);
  Call(gate_.Remove(kOtherSave));
  EXPECT_EQ(Said(), (std::vector<std::string>{"first", "second", "third"}));
  EXPECT_FALSE(is_held[0] || is_held[1] || is_held[2]);
  EXPECT_TRUE(gate_.IsIdle());
}

// A caller that waits for the steps to end is also notified of the end of the
// hold.
TEST_F(StepGateTest, ReleaseBeforeTheHoldIsDoneIsReported) {
  Call(gate_.Add(kSave, {3}, {10}, Say("quiet")));
  Call(gate_.Remove(kOtherSave));
  EXPECT_TRUE(Said().empty());
  Call(gate_.Remove(kSave));
  EXPECT_EQ(Said(), std::vector<std::string>{"quiet"});
  Call(gate_.StepEnded(10));
  EXPECT_TRUE(Said().empty());
}

TEST_F(StepGateTest, AllWaitingStepsCanBeTaken) {
  bool is_held = true;
  Call(gate_.Add(kSave, {3}, {10}, Say("quiet")));
  gate_.Wait(3, 21, &is_held, Say("begun"));
  Call(gate_.TakeWaiting());
  EXPECT_EQ(Said(), std::vector<std::string>{"begun"});
  EXPECT_FALSE(gate_.IsOpenFor(3));
}

TEST_F(StepGateTest, OneWaitingStepCanBeTaken) {
  bool is_held[2] = {true, true};
  Call(gate_.Add(kSave, {3}, {10}, Say("quiet")));
  gate_.Wait(3, 21, &is_held[0], Say("first"));
  gate_.Wait(3, 22, &is_held[1], Say("second"));
  Call(gate_.TakeWaiting(22));
  EXPECT_EQ(Said(), std::vector<std::string>{"second"});
  EXPECT_TRUE(is_held[0] && !is_held[1]);
  Call(gate_.TakeWaiting(22));
  EXPECT_TRUE(Said().empty());
}

}  // namespace
}  // namespace weft
