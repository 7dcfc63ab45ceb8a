// Tests loops whose nodes are on several devices, from a user's perspective.
// The devices belong to one in-process session, to tasks of one process, to
// tasks connected by sockets, or to tasks connected by a simulated network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "integration_tests/testing/test_cluster.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"

namespace weft {
namespace {

using ::testing::HasSubstr;
using Values = std::vector<Output>;

enum class Home { kOneSession, kOneProcess, kSockets, kSimulated };

std::string NameOf(const ::testing::TestParamInfo<Home>& info) {
  switch (info.param) {
    case Home::kOneSession:
      return "OneSession";
    case Home::kOneProcess:
      return "OneProcess";
    case Home::kSockets:
      return "Sockets";
    case Home::kSimulated:
      break;
  }
  return "Simulated";
}

// Place provides three devices for a graph, and sessions that use them.
class Place {
 public:
  explicit Place(Home home, uint64_t seed = 1) {
    if (home == Home::kOneSession) {
      process_ =
          std::make_unique<Process>(ProcessOptions{.compute_threads = 2});
      return;
    }
    const ClusterKind kind = home == Home::kSimulated ? ClusterKind::kSimulated
                             : home == Home::kSockets
                                 ? ClusterKind::kSockets
                                 : ClusterKind::kOneProcess;
    cluster_ = std::make_unique<TestCluster>(TestCluster::Options{
        .kind = kind, .jobs = {{"ps", 1}, {"worker", 2}}, .seed = seed});
  }

  // Returns the name of device i. Device 0 is on the session's task.
  std::string device(int i) const {
    if (cluster_ == nullptr) return absl::StrCat("/cpu:", i);
    return i == 2 ? "/job:ps/task:0/cpu:0"
                  : absl::StrCat("/job:worker/task:", i, "/cpu:0");
  }

  std::unique_ptr<Session> Connect(const Scope& scope) {
    auto session =
        cluster_ == nullptr
            ? Session::Connect("", scope,
                               {.operation_timeout = absl::Minutes(1),
                                .device_count = {{"CPU", 3}},
                                .process = process_.get()})
            : Session::Connect(cluster_->target("worker", 0), scope,
                               cluster_->session_options());
    EXPECT_TRUE(session.ok()) << session.status();
    return session.ok() ? *std::move(session) : nullptr;
  }

  // Checks that each sent value was received, or was dropped with its step.
  void ExpectNothingLeft() {
    if (cluster_ == nullptr) return;
    for (const auto& [job, tasks] : cluster_->spec().jobs()) {
      for (const auto& [index, address] : tasks) {
        const StepTable::Size steps =
            cluster_->server(job, index).runtime().steps();
        EXPECT_EQ(steps.running, 0) << job << index;
        EXPECT_EQ(steps.waiting, 0) << job << index;
        EXPECT_EQ(steps.waiting_bytes, 0) << job << index;
      }
    }
  }

  TestCluster& cluster() { return *cluster_; }

 private:
  std::unique_ptr<Process> process_;
  std::unique_ptr<TestCluster> cluster_;
};

struct WhileOptions {
  std::string name = "loop";
  int parallel_iterations = 10;
};

// Builds the loop for (v = begin; condition(v); v = body(v)) and returns the
// final v. The nodes for value i of v are on the device of scopes[i].
Values While(const std::vector<Scope>& scopes, const Values& begin,
             const std::function<Output(const Values&)>& condition,
             const std::function<Values(const Values&)>& body,
             const WhileOptions& options = {}) {
  Values merges, inside, exits;
  for (size_t i = 0; i < begin.size(); ++i) {
    merges.push_back(
        ops::LoopMerge(scopes[i], ops::Enter(scopes[i], begin[i], options.name,
                                             {.parallel_iterations =
                                                  options.parallel_iterations}))
            .output);
  }
  const Output goes_on = condition(merges);
  for (size_t i = 0; i < begin.size(); ++i) {
    const auto [done, next] = ops::Switch(scopes[i], merges[i], goes_on);
    exits.push_back(ops::Exit(scopes[i], done));
    inside.push_back(ops::Identity(scopes[i], next));
  }
  const Values next = body(inside);
  for (size_t i = 0; i < begin.size(); ++i) {
    const Output back = ops::NextIteration(scopes[i], next[i]);
    scopes[i].UpdateStatus(scopes[i].graph().SetBackEdge(merges[i].node(), 1,
                                                         back.output_tensor()));
  }
  return exits;
}

// Makes a value from outside available in each iteration of loop `name`.
Output Invariant(const Scope& scope, const Output& value,
                 const std::string& name = "loop") {
  return ops::Enter(scope, value, name, {.is_constant = true});
}

// Programs builds graphs that use all three devices of a Place.
class Programs {
 public:
  explicit Programs(const Place& place) : place_(place) {}

  Scope on(int device) const { return root.WithDevice(place_.device(device)); }
  Output Const(int device, float value) const {
    return ops::Const(on(device), value);
  }
  Output LessThan(int device, const Output& value, const Output& bound,
                  const std::string& loop = "loop") const {
    const Scope scope = on(device);
    return ops::LoopCond(
        scope, ops::Less(scope, value, Invariant(scope, bound, loop)));
  }

  // Returns a loop that adds 1 on device `body` until the value reaches
  // `limit`. Device `condition` evaluates the loop condition.
  Output Counter(int condition, int body,
                 const WhileOptions& options = {}) const {
    return While(
        {on(0)}, {Const(0, 0)},
        [&](const Values& v) {
          return LessThan(condition, v[0], limit, options.name);
        },
        [&](const Values& v) -> Values {
          return {ops::Add(on(body), v[0], 1.0f)};
        },
        options)[0];
  }

  // Returns the sum of i * j over all j < i < limit. The outer loop is on
  // device 0, the inner loop on device 1, and the sum on device 2.
  Output Nested() const {
    auto inner = [&](const Output& i, const Output& sum) {
      return While(
          {on(1), on(1)}, {ops::Mul(on(1), i, 0.0f), sum},
          [&](const Values& v) { return LessThan(1, v[0], i, "inner"); },
          [&](const Values& v) -> Values {
            const Output product =
                ops::Mul(on(2), v[0], Invariant(on(2), i, "inner"));
            return {ops::Add(on(1), v[0], 1.0f),
                    ops::Add(on(2), v[1], product)};
          },
          {.name = "inner", .parallel_iterations = 2});
    };
    return While(
        {on(0), on(0)}, {Const(0, 0), Const(0, 0)},
        [&](const Values& v) { return LessThan(0, v[0], limit); },
        [&](const Values& v) -> Values {
          return {ops::Add(on(0), v[0], 1.0f), inner(v[0], v[1])[1]};
        },
        {.parallel_iterations = 3})[1];
  }

  static float NestedResult(int limit) {
    int sum = 0;
    for (int i = 0; i < limit; ++i) {
      for (int j = 0; j < i; ++j) sum += i * j;
    }
    return static_cast<float>(sum);
  }

  Scope root = Scope::Root();

 private:
  const Place& place_;

 public:
  Output limit = ops::Placeholder(on(0), DT_FLOAT);
};

float ScalarOf(const absl::StatusOr<Tensor>& value) {
  EXPECT_TRUE(value.ok()) << value.status();
  return value.ok() ? value->scalar<float>() : -1e30f;
}

class LoopsAcrossTasksTest : public ::testing::TestWithParam<Home> {
 protected:
  Session& session() {
    if (session_ == nullptr) session_ = place_.Connect(program_.root);
    return *session_;
  }
  float Run(const Output& fetch, float limit) {
    return ScalarOf(
        session().Run({{program_.limit, Tensor::Scalar(limit)}}, fetch));
  }
  Scope on(int device) const { return program_.on(device); }

  Place place_{GetParam()};
  Programs program_{place_};
  std::unique_ptr<Session> session_;
};

TEST_P(LoopsAcrossTasksTest, BodyMayRunOnAnotherTask) {
  Output count = program_.Counter(/*condition=*/0, /*body=*/1);
  for (float limit : {0.0f, 1.0f, 2.0f, 100.0f}) {
    EXPECT_EQ(Run(count, limit), limit);
  }
  place_.ExpectNothingLeft();
}

TEST_P(LoopsAcrossTasksTest, ConditionMayRunOnAnotherTask) {
  Output count = program_.Counter(/*condition=*/1, /*body=*/0);
  for (float limit : {0.0f, 1.0f, 30.0f}) EXPECT_EQ(Run(count, limit), limit);
  place_.ExpectNothingLeft();
}

TEST_P(LoopsAcrossTasksTest, ParallelIterationsDoNotChangeResults) {
  for (int parallel : {1, 2, 32}) {
    Output count = program_.Counter(1, 2,
                                    {.name = absl::StrCat("loop", parallel),
                                     .parallel_iterations = parallel});
    for (float limit : {0.0f, 1.0f, 40.0f}) EXPECT_EQ(Run(count, limit), limit);
  }
  place_.ExpectNothingLeft();
}

TEST_P(LoopsAcrossTasksTest, EachValueMayBeOnAnotherTask) {
  const std::vector<Scope> scopes = {on(0), on(1)};
  const Values sums = While(
      scopes, {program_.Const(0, 0), program_.Const(2, 0)},
      [&](const Values& v) {
        return program_.LessThan(2, v[0], program_.limit);
      },
      [&](const Values& v) -> Values {
        return {ops::Add(on(0), v[0], 1.0f), ops::Add(on(1), v[1], v[0])};
      });
  Output both = ops::Add(on(2), sums[0], sums[1]);
  for (float limit : {0.0f, 1.0f, 20.0f}) {
    EXPECT_EQ(Run(both, limit), limit + limit * (limit - 1) / 2);
  }
  place_.ExpectNothingLeft();
}

TEST_P(LoopsAcrossTasksTest, InvariantMayBeUsedOnAnotherTask) {
  Output x = ops::Placeholder(on(2), DT_FLOAT);
  const Values result = While(
      {on(0), on(0)}, {program_.Const(0, 0), program_.Const(0, 1)},
      [&](const Values& v) {
        return program_.LessThan(0, v[0], program_.limit);
      },
      [&](const Values& v) -> Values {
        // Device 1 computes this value from the invariant x only, without any
        // loop variable.
        Output twice =
            ops::Add(on(1), Invariant(on(0), x), Invariant(on(0), x));
        return {ops::Add(on(0), v[0], 1.0f), ops::Mul(on(0), v[1], twice)};
      });
  ASSERT_OK_AND_ASSIGN(Tensor value,
                       session().Run({{program_.limit, Tensor::Scalar(5.0f)},
                                      {x, Tensor::Scalar(1.5f)}},
                                     result[1]));
  EXPECT_EQ(value.scalar<float>(), 243.0f);
  place_.ExpectNothingLeft();
}

TEST_P(LoopsAcrossTasksTest, LoopsNestOverThreeTasks) {
  Output sum = program_.Nested();
  for (int limit : {0, 1, 2, 9}) {
    EXPECT_EQ(Run(sum, static_cast<float>(limit)),
              Programs::NestedResult(limit));
  }
  place_.ExpectNothingLeft();
}

// The inner loop depends only on invariants of the outer loop. So it also runs
// in the last iteration of the outer loop, in which all other nodes are dead.
TEST_P(LoopsAcrossTasksTest, InnerLoopMayUseInvariantsOnly) {
  const Output sum = While(
      {on(0)}, {program_.Const(0, 0)},
      [&](const Values& v) {
        return program_.LessThan(0, v[0], program_.limit);
      },
      [&](const Values& v) -> Values {
        const Output zero = Invariant(on(1), program_.Const(1, 0));
        const Output three = Invariant(on(1), program_.Const(1, 3));
        const Output counted = While(
            {on(1)}, {zero},
            [&](const Values& w) {
              return program_.LessThan(1, w[0], three, "inner");
            },
            [&](const Values& w) -> Values {
              return {ops::Add(on(2), w[0], 1.0f)};
            },
            {.name = "inner"})[0];
        return {ops::Add(on(0), v[0], counted)};
      })[0];
  EXPECT_EQ(Run(sum, 0), 0);
  EXPECT_EQ(Run(sum, 10), 12);
  place_.ExpectNothingLeft();
}

// Differentiates y = x w^n, multiplied on device 1, with w on device 2. An
// outer loop of n iterations around this loop computes x w^(n n).
TEST_P(LoopsAcrossTasksTest, GradientsCrossTasks) {
  const Output x = ops::Placeholder(on(0), DT_FLOAT, {.shape = {}});
  const Output w = ops::Placeholder(on(2), DT_FLOAT, {.shape = {}});
  const auto repeat =
      [&](const Scope& scope, int parallel, const Output& begin,
          const std::function<Output(const Scope&, const Output&)>& step) {
        return ops::WhileLoop(
            scope, {0.0f, begin},
            [&](const Scope& s, const Values& v) {
              return ops::Less(s, v[0], program_.limit);
            },
            [&](const Scope& s, const Values& v) -> Values {
              return {ops::Add(s, v[0], 1.0f), step(s, v[1])};
            },
            {.parallel_iterations = parallel})[1];
      };
  const auto product = [&](const Scope& s, const Output& v) {
    return ops::Mul(s.WithDevice(place_.device(1)), v, w);
  };
  std::vector<Output> fetches;
  for (const int parallel : {1, 4}) {
    const Output once = repeat(on(0), parallel, x, product);
    const Output nested =
        repeat(on(0), parallel, x, [&](const Scope& s, const Output& v) {
          return repeat(s.WithDevice(place_.device(2)), parallel, v, product);
        });
    for (const Output& y : {once, nested}) {
      ASSERT_OK_AND_ASSIGN(const auto gradients,
                           AddGradients(on(0), {y}, {x, w}));
      fetches.push_back(gradients[0].dense);
      fetches.push_back(gradients[1].dense);
    }
  }
  for (const int n : {0, 1, 3}) {
    ASSERT_OK_AND_ASSIGN(
        const std::vector<Tensor> values,
        session().Run({{program_.limit, Tensor::Scalar(static_cast<float>(n))},
                       {x, Tensor::Scalar(3.0f)},
                       {w, Tensor::Scalar(2.0f)}},
                      fetches));
    const auto power = [](int e) { return std::pow(2.0f, e); };
    for (const size_t i : {0, 4}) {
      EXPECT_EQ(values[i].scalar<float>(), power(n));
      EXPECT_EQ(values[i + 1].scalar<float>(), 3 * n * power(n - 1));
      EXPECT_EQ(values[i + 2].scalar<float>(), power(n * n));
      EXPECT_EQ(values[i + 3].scalar<float>(), 3 * n * n * power(n * n - 1));
    }
  }
  place_.ExpectNothingLeft();
}

// The branches of the body are on two other tasks. In each iteration one of the
// branches is dead.
TEST_P(LoopsAcrossTasksTest, BranchesOfTheBodyMayBeOnOtherTasks) {
  const Output value = While(
      {on(0)}, {program_.Const(0, 1)},
      [&](const Values& v) {
        return program_.LessThan(0, v[0], program_.limit);
      },
      [&](const Values& v) -> Values {
        Output small = ops::Less(on(0), v[0], 10.0f);
        const auto [large_value, small_value] = ops::Switch(on(0), v[0], small);
        Output doubled = ops::Mul(on(1), small_value, 2.0f);
        Output more = ops::Add(on(2), large_value, 1.0f);
        return {ops::Merge(on(0), {doubled, more}).output};
      })[0];
  EXPECT_EQ(Run(value, 1), 1);
  EXPECT_EQ(Run(value, 9), 16);
  EXPECT_EQ(Run(value, 20), 20);
  place_.ExpectNothingLeft();
}

TEST_P(LoopsAcrossTasksTest, LoopOnUntakenBranchDoesNotRun) {
  Output taken = ops::Placeholder(on(2), DT_BOOL);
  const auto [otherwise, begin] =
      ops::Switch(on(0), program_.Const(0, 0), taken);
  Output limit = ops::Switch(on(0), program_.limit, taken).output_true;
  const Output count = While(
      {on(0)}, {begin},
      [&](const Values& v) { return program_.LessThan(1, v[0], limit); },
      [&](const Values& v) -> Values {
        return {ops::Add(on(1), v[0], 1.0f)};
      })[0];
  Output result =
      ops::Merge(on(2), {count, ops::Sub(on(1), otherwise, 7.0f)}).output;
  for (bool is_taken : {true, false, true}) {
    EXPECT_EQ(ScalarOf(session().Run({{program_.limit, Tensor::Scalar(6.0f)},
                                      {taken, Tensor::Scalar(is_taken)}},
                                     result)),
              is_taken ? 6.0f : -7.0f);
  }
  place_.ExpectNothingLeft();
}

TEST_P(LoopsAcrossTasksTest, ControlEdgesInLoopCrossTasks) {
  const Output count = While(
      {on(0)}, {program_.Const(0, 0)},
      [&](const Values& v) {
        return program_.LessThan(0, v[0], program_.limit);
      },
      [&](const Values& v) -> Values {
        Output first = ops::Neg(on(1), v[0]);
        Output second =
            ops::Const(on(2).WithControlDependencies({Operation(first)}), 1.0f);
        return {ops::Add(on(0), v[0], second)};
      })[0];
  for (float limit : {0.0f, 1.0f, 12.0f}) EXPECT_EQ(Run(count, limit), limit);
  place_.ExpectNothingLeft();
}

TEST_P(LoopsAcrossTasksTest, ErrorInIterationEndsTheStep) {
  // The quotient 12 / (3 - i) fails in iteration 3.
  Output one = ops::Const(on(0), 0);
  Output limit = ops::Placeholder(on(0), DT_INT32);
  const Values result = While(
      {on(0), on(0)}, {one, one},
      [&](const Values& v) {
        return ops::LoopCond(on(0),
                             ops::Less(on(0), v[0], Invariant(on(0), limit)));
      },
      [&](const Values& v) -> Values {
        Output left = ops::Sub(on(2), ops::Const(on(2), 3), v[0]);
        Output part =
            ops::FloorDiv(on(1).WithName("bad"), ops::Const(on(1), 12), left);
        return {ops::Add(on(0), v[0], 1), ops::Add(on(0), v[1], part)};
      });
  for (int round = 0; round < 3; ++round) {
    auto failed =
        session().Run({{limit, Tensor::Scalar(int32_t{50})}}, result[1]);
    EXPECT_THAT(failed.status(), StatusIs(absl::StatusCode::kInvalidArgument,
                                          "Integer division by zero"));
    EXPECT_THAT(std::string(failed.status().message()),
                HasSubstr("[[node bad"));
    place_.ExpectNothingLeft();
    ASSERT_OK_AND_ASSIGN(
        Tensor well,
        session().Run({{limit, Tensor::Scalar(int32_t{3})}}, result[1]));
    EXPECT_EQ(well.scalar<int32_t>(), 4 + 6 + 12);
  }
  place_.ExpectNothingLeft();
}

TEST_P(LoopsAcrossTasksTest, UnpartitionableLoopIsRejected) {
  // The Merge depends only on a value of iteration 0, not on NextIteration.
  Output enter = ops::Enter(on(0), program_.limit, "loop");
  Output early = ops::Neg(on(1).WithName("early"), enter);
  Output merge = ops::LoopMerge(on(0), early).output;
  Output goes_on = ops::LoopCond(on(0), ops::Less(on(0), merge, 0.0f));
  const auto [done, next] = ops::Switch(on(0), merge, goes_on);
  Output back = ops::NextIteration(on(0), ops::Add(on(0), next, 1.0f));
  ASSERT_OK(
      program_.root.graph().SetBackEdge(merge.node(), 1, back.output_tensor()));
  Output exit = ops::Exit(on(0), done);
  EXPECT_THAT(
      session().Run({{program_.limit, Tensor::Scalar(1.0f)}}, exit).status(),
      StatusIs(absl::StatusCode::kUnimplemented, "early"));
  EXPECT_EQ(ScalarOf(session().Run(program_.Const(1, 3))), 3);
}

INSTANTIATE_TEST_SUITE_P(All, LoopsAcrossTasksTest,
                         ::testing::Values(Home::kOneSession, Home::kOneProcess,
                                           Home::kSockets, Home::kSimulated),
                         NameOf);

// Runs endless loops in real time.
class EndlessLoopTest : public LoopsAcrossTasksTest {};

TEST_P(EndlessLoopTest, EndlessLoopEndsAtItsDeadline) {
  const Output endless = While(
      {on(0)}, {program_.Const(0, 0)},
      [&](const Values& v) {
        return program_.LessThan(2, v[0], program_.limit);
      },
      [&](const Values& v) -> Values {
        return {ops::Mul(on(1), v[0], 1.0f)};
      })[0];
  const FeedList feeds = {{program_.limit, Tensor::Scalar(1.0f)}};
  for (int round = 0; round < 2; ++round) {
    auto result =
        session().Run(feeds, endless, {.timeout = absl::Milliseconds(100)});
    EXPECT_THAT(result.status(), StatusIs(absl::StatusCode::kDeadlineExceeded));
    place_.ExpectNothingLeft();
  }
  EXPECT_EQ(Run(endless, 0), 0);
}

INSTANTIATE_TEST_SUITE_P(All, EndlessLoopTest,
                         ::testing::Values(Home::kOneSession, Home::kOneProcess,
                                           Home::kSockets),
                         NameOf);

TEST(SimulatedLoopsTest, ResultsMatchInAnyOrder) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SCOPED_TRACE(absl::StrCat("seed ", seed));
    Place place(Home::kSimulated, seed);
    Programs program(place);
    Output sum = program.Nested();
    auto session = place.Connect(program.root);
    for (int limit : {0, 4}) {
      EXPECT_EQ(
          ScalarOf(session->Run(
              {{program.limit, Tensor::Scalar(static_cast<float>(limit))}},
              sum)),
          Programs::NestedResult(limit));
    }
    place.ExpectNothingLeft();
  }
}

// The memory of a step does not depend on the number of iterations of its
// loops. When a loop has ended, its step keeps no state of the values that were
// sent in the loop.
TEST(LoopsOfOneProcessTest, StepMemoryDoesNotGrowWithIterations) {
  Place place(Home::kOneProcess);
  Programs program(place);
  const Scope on0 = program.on(0);
  const auto queue = [&](const char* name) {
    return ops::FIFOQueue(
        on0, {DT_FLOAT},
        {.shapes = {PartialShape::Scalar()}, .shared_name = name});
  };
  const Output results = queue("results");
  const Output permits = queue("permits");
  const Operation tell = ops::QueueEnqueue(on0, results, {program.Nested()});
  const Output end = ops::QueueDequeue(on0.WithControlDependencies({tell}),
                                       permits, {DT_FLOAT})[0];
  const Output result = ops::QueueDequeue(on0, results, {DT_FLOAT})[0];
  const Operation permit = ops::QueueEnqueue(on0, permits, {1.0f});
  auto session = place.Connect(program.root);
  constexpr int kLimit = 40;
  std::thread client([&] {
    const Tensor limit = Tensor::Scalar(static_cast<float>(kLimit));
    EXPECT_OK(session->Run({{program.limit, limit}}, end));
  });
  EXPECT_EQ(ScalarOf(session->Run(result)), Programs::NestedResult(kLimit));
  int num_running = 0;  // a task that has finished its part runs no nodes
  for (const char* job : {"ps", "worker"}) {
    const StepTable::Size steps =
        place.cluster().server(job, 0).runtime().steps();
    num_running += steps.running;
    // at most the number of edges between tasks
    EXPECT_LE(steps.meetings, 100);
  }
  EXPECT_GE(num_running, 1);
  EXPECT_OK(session->Run(permit));
  client.join();
  place.ExpectNothingLeft();
}

// While a loop runs, a message is lost together with its connection.
TEST(SimulatedLoopsTest, LostConnectionEndsTheStep) {
  for (int lost : {1, 5, 17, 40}) {
    SCOPED_TRACE(absl::StrCat("message ", lost, " of the second run"));
    Place place(Home::kSimulated);
    Programs program(place);
    Output count = program.Counter(2, 1);
    auto session = place.Connect(program.root);
    const FeedList feeds = {{program.limit, Tensor::Scalar(50.0f)}};
    EXPECT_EQ(ScalarOf(session->Run(feeds, count)), 50.0f);
    int messages = 0;
    place.cluster().network().set_hook([&](const bus::MessageInfo&) {
      return ++messages == lost ? bus::HookResult{.fate = bus::Fate::kCutHere}
                                : bus::HookResult{};
    });
    const absl::Status status = session->Run(feeds, count).status();
    EXPECT_TRUE(absl::IsUnavailable(status) || absl::IsAborted(status))
        << status;
    EXPECT_GE(messages, lost);
    place.cluster().scheduler().AdvanceBy(absl::Minutes(5));
    place.ExpectNothingLeft();
  }
}

}  // namespace
}  // namespace weft
