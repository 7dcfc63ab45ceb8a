// Tests in-process sessions from a user's perspective: calls that work, and
// errors that are clear and leave the session usable.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "integration_tests/testing/graph_test.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class SessionTest : public GraphTest {
 protected:
  float RunScalar(const FeedList& feeds, const Output& fetch) {
    auto value = session().Run(feeds, fetch);
    EXPECT_TRUE(value.ok()) << value.status();
    return value.ok() ? value->scalar<float>() : -1e30f;
  }
  // Checks that the session still works after an error.
  void ExpectUsable() {
    EXPECT_EQ(RunScalar({}, ops::Const(root_, 3.0f)), 3.0f);
  }
};

TEST_F(SessionTest, RunFeedsComputesAndFetches) {
  Output x = ops::Placeholder(root_.WithName("x"), DT_FLOAT);
  Output y = ops::Mul(root_, x, 2.0f);
  EXPECT_EQ(RunScalar({{x, Tensor::Scalar(3.0f)}}, y), 6.0f);
}

TEST_F(SessionTest, FeedMayReplaceAnyTensor) {
  Output c = ops::Const(root_, 1.0f);
  Output d = ops::Add(root_, c, 1.0f);
  EXPECT_EQ(RunScalar({{c, Tensor::Scalar(5.0f)}}, d), 6.0f);
}

TEST_F(SessionTest, RunFetchesSeveralTensorsInOneStep) {
  Output a = ops::Const(root_, 1.0f);
  Output b = ops::Add(root_, a, 1.0f);
  auto values = session().Run({}, std::vector<Output>{b, a, b});
  ASSERT_OK(values);
  EXPECT_THAT(
      *values,
      ElementsAre(testing::ResultOf(
                      [](const Tensor& t) { return t.scalar<float>(); }, 2),
                  testing::_, testing::_));
}

TEST_F(SessionTest, VariableKeepsItsValueBetweenSteps) {
  ops::Variable x(root_.WithName("x"), 0.0f);
  Output increment = ops::AssignAdd(root_, x, 1.0f);
  ASSERT_OK(session().Run(x.initializer()));
  for (int i = 0; i < 3; ++i) ASSERT_OK(session().Run(increment));
  EXPECT_EQ(RunScalar({}, x), 3.0f);
}

TEST_F(SessionTest, UninitializedVariableIsReported) {
  for (bool use_resource : {true, false}) {
    ops::Variable v(root_.WithName("weights"), 0.0f,
                    {.use_resource = use_resource});
    EXPECT_THAT(session().Run(Output(v)),
                StatusIs(absl::StatusCode::kFailedPrecondition, "weights"));
  }
  ExpectUsable();
}

TEST_F(SessionTest, GraphCanBeExtendedBetweenRuns) {
  ops::Variable x(root_.WithName("x"), 1.0f);
  ASSERT_OK(session().Run(x.initializer()));
  Output more = ops::Add(root_, x, 1.0f);
  EXPECT_EQ(RunScalar({}, more), 2.0f);
  EXPECT_EQ(RunScalar({}, ops::Add(root_, more, 1.0f)), 3.0f);
}

TEST_F(SessionTest, MissingFeedNamesThePlaceholder) {
  Output x = ops::Placeholder(root_.WithName("x"), DT_FLOAT);
  EXPECT_THAT(session().Run(ops::Neg(root_, x)),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "You must feed a value for placeholder tensor 'x'"));
  ExpectUsable();
}

TEST_F(SessionTest, FeedOfWrongTypeIsRejected) {
  Output x = ops::Placeholder(root_.WithName("x"), DT_FLOAT);
  EXPECT_THAT(
      session().Run({{x, Tensor::Scalar(int32_t{1})}}, ops::Neg(root_, x)),
      StatusIs(absl::StatusCode::kInvalidArgument,
               "to be float but int32 is provided"));
  ExpectUsable();
}

TEST_F(SessionTest, ShapeMismatchNamesTheNode) {
  Output x = ops::Placeholder(root_.WithName("x"), DT_FLOAT);
  Output product =
      ops::MatMul(root_.WithName("product"), x, Tensor(DT_FLOAT, {3, 2}));
  EXPECT_THAT(session().Run({{x, Tensor(DT_FLOAT, {2, 4})}}, product),
              StatusIs(absl::StatusCode::kInvalidArgument, "product"));
  ExpectUsable();
}

TEST_F(SessionTest, DuplicateOrFetchedFeedIsRejected) {
  Output x = ops::Placeholder(root_.WithName("x"), DT_FLOAT);
  Output y = ops::Neg(root_, x);
  const Tensor one = Tensor::Scalar(1.0f);
  EXPECT_THAT(session().Run({{x, one}, {x, one}}, y),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       "Endpoint \"x:0\" fed more than once."));
  EXPECT_THAT(
      session().Run({{x, one}}, x),
      StatusIs(absl::StatusCode::kInvalidArgument, "both fed and fetched"));
  ExpectUsable();
}

TEST_F(SessionTest, UnknownNamesAreRejected) {
  const Tensor one = Tensor::Scalar(1.0f);
  ops::Const(root_.WithName("c"), 1.0f);
  EXPECT_THAT(session().RunNamed({}, {"ghost:0"}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, "ghost"));
  EXPECT_THAT(session().RunNamed({{"ghost:0", one}}, {"c:0"}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, "ghost"));
  EXPECT_THAT(session().RunNamed({}, {"c:1"}, {}),
              StatusIs(absl::StatusCode::kInvalidArgument, "c:1"));
  EXPECT_THAT(session().RunNamed({}, {}, {"ghost"}),
              StatusIs(absl::StatusCode::kNotFound, "ghost"));
  ExpectUsable();
}

TEST_F(SessionTest, GraphBuildErrorsAreReportedByConnectAndRun) {
  Output fine = ops::Const(root_, 1.0f);
  session();  // connects while the graph is valid
  ops::Add(root_.WithName("bad"), Tensor(DT_FLOAT, {2}), Tensor(DT_FLOAT, {3}));
  EXPECT_THAT(session().Run(fine),
              StatusIs(absl::StatusCode::kInvalidArgument, "bad"));
  EXPECT_THAT(Session::Connect("", root_, options_),
              StatusIs(absl::StatusCode::kInvalidArgument, "bad"));
}

TEST_F(SessionTest, UnknownDeviceFailsTheGraphExtension) {
  Output fine = ops::Const(root_.WithName("fine"), 1.0f);
  EXPECT_EQ(RunScalar({}, fine), 1.0f);
  ops::Const(root_.WithName("lost").WithDevice("/job:nowhere"), 1.0f);
  EXPECT_THAT(session().Run(fine),
              StatusIs(absl::StatusCode::kInvalidArgument, "lost"));
}

TEST_F(SessionTest, TensorsAreCopiedBetweenHostDevices) {
  options_.device_count = {{"GPU", 2}};
  options_.log_device_placement = true;
  Output a = ops::Const(root_.WithDevice("/cpu:0"), 2.0f);
  Output b = ops::Mul(root_.WithDevice("/gpu:0").WithName("b"), a, 3.0f);
  Output c = ops::Add(root_.WithDevice("/gpu:1").WithName("c"), b, a);
  Output d = ops::Neg(root_.WithDevice("/cpu:0"), c);
  EXPECT_EQ(RunScalar({}, d), -8.0f);
  bool found = false;
  for (const protocol::NodePlacement& node : session().Placement()) {
    if (node.name != "c") continue;
    found = true;
    EXPECT_EQ(node.device, "/job:localhost/replica:0/task:0/device:GPU:1");
  }
  EXPECT_TRUE(found);
}

TEST_F(SessionTest, ControlEdgesOrderAcrossDevices) {
  options_.device_count = {{"GPU", 1}};
  ops::Variable x(root_.WithDevice("/cpu:0").WithName("x"), 1.0f);
  ASSERT_OK(session().Run(x.initializer()));
  Output assign = ops::Assign(root_.WithDevice("/cpu:0"), x, 5.0f);
  Scope after = root_.WithControlDependencies({Operation(assign)});
  Output on_gpu = ops::Mul(after.WithDevice("/gpu:0"), 2.0f, 3.0f);
  Scope last = root_.WithControlDependencies({Operation(on_gpu)});
  EXPECT_EQ(RunScalar({}, x.Read(last.WithDevice("/cpu:0"))), 5.0f);
}

TEST_F(SessionTest, ErrorOnOneDeviceEndsStepOnAllDevices) {
  options_.device_count = {{"GPU", 1}};
  Output x = ops::Placeholder(root_.WithName("x"), DT_FLOAT);
  Output y = ops::Neg(root_.WithDevice("/gpu:0"), x);
  Output z = ops::Neg(root_.WithDevice("/cpu:0"), y);
  EXPECT_THAT(session().Run(z),
              StatusIs(absl::StatusCode::kInvalidArgument, "'x'"));
  EXPECT_EQ(RunScalar({{x, Tensor::Scalar(2.0f)}}, z), 2.0f);
}

TEST_F(SessionTest, InProcessSessionsHaveOwnVariables) {
  ops::Variable x(root_.WithName("x"), 1.0f);
  ASSERT_OK(session().Run(x.initializer()));
  auto other = Session::Connect("", root_, options_);
  ASSERT_OK(other);
  EXPECT_THAT((*other)->Run(Output(x)),
              StatusIs(absl::StatusCode::kFailedPrecondition, "x"));
}

TEST_F(SessionTest, ClosedSessionRejectsRuns) {
  Output c = ops::Const(root_, 1.0f);
  EXPECT_EQ(RunScalar({}, c), 1.0f);
  ASSERT_OK(session().Close());
  ASSERT_OK(session().Close()) << "twice is not an error";
  EXPECT_THAT(session().Run(c),
              StatusIs(absl::StatusCode::kFailedPrecondition, "closed"));
}

TEST_F(SessionTest, UnknownTargetErrorListsValidForms) {
  EXPECT_THAT(Session::Connect("grpc://localhost:1", root_, options_),
              StatusIs(absl::StatusCode::kInvalidArgument, "zmq://host:port"));
  EXPECT_THAT(Session::Connect("zmq://localhost", root_, options_),
              StatusIs(absl::StatusCode::kInvalidArgument, "localhost"));
}

TEST_F(SessionTest, ConnectToMissingServerTimesOut) {
  options_.connect_timeout = absl::Milliseconds(200);
  EXPECT_THAT(Session::Connect("zmq://localhost:1", root_, options_),
              StatusIs(absl::StatusCode::kUnavailable, "localhost:1"));
}

TEST_F(SessionTest, CallablesRunFromManyThreadsAtOnce) {
  ops::Variable total(root_.WithName("total"), 0.0f);
  Output x = ops::Placeholder(root_.WithName("x"), DT_FLOAT);
  Output add = ops::AssignAdd(root_, total, x);
  ASSERT_OK(session().Run(total.initializer()));
  auto callable = session().MakeCallable({x}, {}, {Operation(add)});
  ASSERT_OK(callable);
  constexpr int kThreads = 4, kRuns = 200;
  std::vector<std::unique_ptr<Event>> done;
  for (int i = 0; i < kThreads; ++i) {
    done.push_back(process_.scheduler().NewEvent());
    process_.scheduler().Schedule(Pool::kBlocking,
                                  [&callable, event = done.back().get()] {
                                    const Tensor one = Tensor::Scalar(1.0f);
                                    for (int run = 0; run < kRuns; ++run) {
                                      EXPECT_OK((*callable)->Run({one}));
                                    }
                                    event->Set();
                                  });
  }
  for (auto& event : done) event->Wait();
  EXPECT_EQ(RunScalar({}, total), float{kThreads * kRuns});
}

TEST_F(SessionTest, StepWithUnknownOpsListsTheOps) {
  ASSERT_OK(ImportGraphDefText(R"(node { name: "a" op: "Wobble" }
                                  node { name: "b" op: "Wibble" }
                                  node { name: "c" op: "Wabble" })",
                               root_.graph()));
  EXPECT_THAT(session().RunNamed({}, {}, {"a", "b"}),
              StatusIs(absl::StatusCode::kNotFound,
                       "Op type not registered 'Wibble' (node 'b'), 'Wobble' "
                       "(node 'a')"));
  ExpectUsable();
}

TEST_F(SessionTest, GraphDefWithCycleIsRejected) {
  EXPECT_THAT(ImportGraphDefText(R"(node { name: "a" op: "Identity" input: "b"
                                     attr { key: "T" value { type: DT_FLOAT } } }
                              node { name: "b" op: "Identity" input: "a"
                                     attr { key: "T" value { type: DT_FLOAT } } })",
                                 root_.graph()),
              StatusIs(absl::StatusCode::kInvalidArgument, "a"));
  ExpectUsable();
}

}  // namespace
}  // namespace weft
