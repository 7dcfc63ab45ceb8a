// Tests partial runs from a user's perspective, within this process and on
// clusters. The cases are those of TensorFlow's session_test.py and
// session_partial_run_test.py.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

constexpr char kPs[] = "/job:ps/task:0/cpu:0";
constexpr char kOther[] = "/job:worker/task:1/cpu:0";

Tensor Float(float value) { return Tensor::Scalar(value); }

class PartialRunsTest : public ::testing::TestWithParam<ClusterKind> {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(session_,
                         Session::Connect(cluster_.target("worker", 0), root_,
                                          cluster_.session_options()));
  }
  // Begins a partial run that computes r1 = a + b on a ps and r2 = r1 * c on
  // another worker.
  absl::StatusOr<std::string> BeginRun() {
    return session_->PartialRunSetup({a_, b_, c_}, {r1_, r2_});
  }
  absl::StatusOr<float> One(const std::string& run, const FeedList& feeds,
                            const Output& fetch) {
    ASSIGN_OR_RETURN(const std::vector<Tensor> values,
                     session_->PartialRun(run, feeds, {fetch}));
    return values.at(0).scalar<float>();
  }
  void ExpectNothingRuns() {
    for (const auto& [job, tasks] : cluster_.spec().jobs()) {
      for (const auto& [index, address] : tasks) {
        EXPECT_EQ(cluster_.server(job, index).runtime().steps().running, 0);
      }
    }
  }

  TestCluster cluster_{
      {.kind = GetParam(), .jobs = {{"ps", 1}, {"worker", 2}}}};
  Scope root_ = Scope::Root();
  Output a_ = ops::Placeholder(root_.WithName("a"), DT_FLOAT);
  Output b_ = ops::Placeholder(root_.WithName("b"), DT_FLOAT);
  Output c_ = ops::Placeholder(root_.WithName("c"), DT_FLOAT);
  Output r1_ = ops::Add(root_.WithDevice(kPs).WithName("r1"), a_, b_);
  Output r2_ = ops::Mul(root_.WithDevice(kOther).WithName("r2"), r1_, c_);
  std::unique_ptr<Session> session_;
};

TEST_P(PartialRunsTest, FeedsAndFetchesMayBeSplit) {
  ASSERT_OK_AND_ASSIGN(const std::string run, BeginRun());
  ASSERT_OK_AND_ASSIGN(const float first,
                       One(run, {{a_, Float(1)}, {b_, Float(2)}}, r1_));
  EXPECT_EQ(first, 3);
  ASSERT_OK_AND_ASSIGN(const float second,
                       One(run, {{c_, Float(first * 17)}}, r2_));
  EXPECT_EQ(second, 153);
  // The run has ended, because all its fetches were returned.
  EXPECT_THAT(session_->PartialRun(run, {}, {}),
              StatusIs(kInvalid, "Must run 'setup' before"));
  ExpectNothingRuns();
}

TEST_P(PartialRunsTest, FeedsMayComeBeforeAnyFetch) {
  ASSERT_OK_AND_ASSIGN(const std::string run, BeginRun());
  ASSERT_OK(session_->PartialRun(run, {{c_, Float(5)}}));
  ASSERT_OK(session_->PartialRun(run, {{a_, Float(1)}}));
  ASSERT_OK_AND_ASSIGN(const float product, One(run, {{b_, Float(2)}}, r2_));
  EXPECT_EQ(product, 15);
  ASSERT_OK_AND_ASSIGN(const float sum, One(run, {}, r1_));
  EXPECT_EQ(sum, 3);
}

TEST_P(PartialRunsTest, RunsDoNotDisturbEachOther) {
  ASSERT_OK_AND_ASSIGN(const std::string one, BeginRun());
  ASSERT_OK_AND_ASSIGN(const std::string two, BeginRun());
  const auto begin = [&](const std::string& run, float a) {
    return One(run, {{a_, Float(a)}, {b_, Float(1)}}, r1_);
  };
  EXPECT_EQ(begin(one, 1).value_or(-1), 2);
  EXPECT_EQ(begin(two, 10).value_or(-1), 11);
  ASSERT_OK_AND_ASSIGN(const Tensor whole,
                       session_->Run({{a_, Float(3)}, {b_, Float(4)}}, r1_));
  EXPECT_EQ(whole.scalar<float>(), 7);
  EXPECT_EQ(One(one, {{c_, Float(2)}}, r2_).value_or(-1), 4);
  EXPECT_EQ(One(two, {{c_, Float(2)}}, r2_).value_or(-1), 22);
}

TEST_P(PartialRunsTest, InvalidCallsLeaveTheRunUnchanged) {
  ASSERT_OK_AND_ASSIGN(const std::string run, BeginRun());
  const Output other = ops::Identity(root_.WithName("other"), r1_);
  EXPECT_THAT(session_->PartialRun(run, {{other, Float(1)}}),
              StatusIs(kInvalid,
                       "The feed other:0 was not specified in "
                       "partial_run_setup."));
  EXPECT_THAT(session_->PartialRun(run, {}, {other}),
              StatusIs(kInvalid,
                       "The fetch other:0 was not specified in "
                       "partial_run_setup."));
  EXPECT_THAT(session_->PartialRun(run, {{a_, Tensor::Scalar(1)}}),
              StatusIs(kInvalid, "a:0 takes float, but int32"));
  EXPECT_THAT(One(run, {{a_, Float(1)}}, r1_),
              StatusIs(kInvalid,
                       "Fetch r1:0 can't be computed from the feeds that "
                       "have been fed so far."));
  ASSERT_OK(One(run, {{a_, Float(1)}, {b_, Float(2)}}, r1_));
  EXPECT_THAT(session_->PartialRun(run, {{a_, Float(1)}}),
              StatusIs(kInvalid, "The feed a:0 has already been fed."));
  EXPECT_THAT(session_->PartialRun(run, {}, {r1_}),
              StatusIs(kInvalid, "The fetch r1:0 has already been fetched."));
  EXPECT_EQ(One(run, {{c_, Float(2)}}, r2_).value_or(-1), 6);
  EXPECT_THAT(session_->PartialRun("7777", {}, {}),
              StatusIs(kInvalid, "Must run 'setup' before"));
}

TEST_P(PartialRunsTest, SetupIsChecked) {
  EXPECT_THAT(session_->PartialRunSetup({a_}, {}),
              StatusIs(kInvalid, "at least one target to fetch or execute"));
  EXPECT_THAT(session_->PartialRunSetup({a_, a_}, {r1_}),
              StatusIs(kInvalid, "fed more than once"));
  EXPECT_THAT(session_->PartialRunSetup({a_, b_}, {r1_, r1_}),
              StatusIs(kInvalid, "fetched more than once"));
  EXPECT_THAT(session_->PartialRunSetup({a_, Output()}, {r1_}),
              StatusIs(kInvalid, "null"));
}

TEST_P(PartialRunsTest, StepErrorEndsTheRun) {
  ASSERT_OK_AND_ASSIGN(const std::string run,
                       session_->PartialRunSetup({a_}, {r1_}));
  EXPECT_THAT(
      One(run, {{a_, Float(1)}}, r1_),
      StatusIs(kInvalid, "You must feed a value for placeholder tensor 'b'"));
  EXPECT_THAT(session_->PartialRun(run, {}, {}),
              StatusIs(kInvalid, "Must run 'setup' before"));
  ExpectNothingRuns();
}

TEST_P(PartialRunsTest, EachNodeRunsOnce) {
  ops::Variable x(root_.WithDevice(kPs).WithName("x"), 0.0f);
  const Output counted = ops::AssignAdd(root_, x, a_);
  const Output next = ops::Add(root_, ops::Identity(root_, counted), b_);
  ASSERT_OK(session_->Run(x.initializer()));
  ASSERT_OK_AND_ASSIGN(const std::string run,
                       session_->PartialRunSetup({a_, b_}, {counted, next}));
  EXPECT_EQ(One(run, {{a_, Float(1)}}, counted).value_or(-1), 1);
  EXPECT_EQ(One(run, {{b_, Float(5)}}, next).value_or(-1), 6);
  ASSERT_OK_AND_ASSIGN(const Tensor value, session_->Run(x));
  EXPECT_EQ(value.scalar<float>(), 1);
}

TEST_P(PartialRunsTest, UnfinishedRunEndsWithItsSession) {
  ASSERT_OK_AND_ASSIGN(const std::string run, BeginRun());
  ASSERT_OK(One(run, {{a_, Float(1)}, {b_, Float(2)}}, r1_));
  ASSERT_OK(session_->Close());
  ExpectNothingRuns();
  EXPECT_THAT(session_->PartialRun(run, {{c_, Float(2)}}, {r2_}),
              StatusIs(absl::StatusCode::kFailedPrecondition, "closed"));
}

TEST_P(PartialRunsTest, ThreadsMayShareARun) {
  Scheduler& scheduler = session_->scheduler();
  for (int i = 0; i < 20; ++i) {
    ASSERT_OK_AND_ASSIGN(const std::string run, BeginRun());
    ASSERT_OK(session_->PartialRun(run, {{a_, Float(1)}, {b_, Float(2)}}));
    absl::StatusOr<float> sum;
    const std::unique_ptr<Event> over = scheduler.NewEvent();
    scheduler.Schedule(Pool::kBlocking, [&] {
      sum = One(run, {}, r1_);
      over->Set();
    });
    EXPECT_EQ(One(run, {{c_, Float(5)}}, r2_).value_or(-1), 15);
    over->Wait();
    ASSERT_OK(sum);
    EXPECT_EQ(*sum, 3);
  }
  ExpectNothingRuns();
}

// A fetched variable does not wait for the op that changes the variable, which
// needs a later feed.
TEST_P(PartialRunsTest, FetchedRefDoesNotWaitForLaterFeed) {
  ops::Variable v(root_.WithDevice(kPs).WithName("v"), 1.0f,
                  {.use_resource = false});
  const Output assign = ops::Assign(root_, v, a_);
  ASSERT_OK(session_->Run(v.initializer()));
  ASSERT_OK_AND_ASSIGN(const std::string run,
                       session_->PartialRunSetup({a_}, {v.handle(), assign}));
  EXPECT_EQ(One(run, {}, v.handle()).value_or(-1), 1);
  EXPECT_EQ(One(run, {{a_, Float(5)}}, assign).value_or(-1), 5);
}

// A value in an untaken branch never arrives, so fetching it is an error.
TEST_P(PartialRunsTest, FetchOfDeadValueIsAnError) {
  const Output yes = ops::Placeholder(root_.WithName("yes"), DT_BOOL);
  const auto choice = ops::Switch(root_.WithDevice(kPs), a_, yes);
  ASSERT_OK_AND_ASSIGN(
      const std::string run,
      session_->PartialRunSetup({a_, yes},
                                {choice.output_true, choice.output_false}));
  EXPECT_THAT(
      session_->PartialRun(run, {{a_, Float(1)}, {yes, Tensor::Scalar(true)}},
                           {choice.output_true, choice.output_false}),
      StatusIs(kInvalid, "does not have value"));
  ExpectNothingRuns();
}

INSTANTIATE_TEST_SUITE_P(AllKinds, PartialRunsTest,
                         ::testing::ValuesIn(kAllClusterKinds),
                         [](const auto& kind) {
                           return ClusterKindName(kind.param);
                         });

}  // namespace
}  // namespace weft
