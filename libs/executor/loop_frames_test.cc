// Tests loops from outside: the results of plans with them.
#include <functional>
#include <map>
#include <set>
#include <thread>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "libs/base/test_matchers.h"
#include "libs/executor/testing/plan_harness.h"

namespace weft {
namespace {

constexpr RunWhere kEverywhere[] = {RunWhere::kCaller, RunWhere::kReader,
                                    RunWhere::kPool};

Tensor Float(float value) { return Tensor::Scalar(value); }

struct Loop {
  OutputTensor in;    // of the body; live while the loop continues
  OutputTensor exit;  // the final value
};

// Builds for (v = begin; v < limit; v = body(v)); `body` gets v and a limit
// again.
template <typename Body>
Loop While(PlanHarness& h, const std::string& name, OutputTensor begin,
           OutputTensor limit, int parallel_iterations, Body body) {
  AttrMap attrs = {{"frame_name", name},
                   {"parallel_iterations", parallel_iterations}};
  AttrMap constant_attrs = attrs;
  constant_attrs["is_constant"] = true;
  const Node* enter = h.Add(name + "/enter", "Enter", {begin}, attrs);
  OutputTensor bound = {
      h.Add(name + "/limit", "Enter", {limit}, constant_attrs), 0};
  const Node* merge = h.Add(name + "/merge", "Merge", {{enter, 0}, {}},
                            {{"T", DT_FLOAT}, {"N", 2}});
  const Node* less = h.Add(name + "/less", "TestLess", {{merge, 0}, bound});
  const Node* cond = h.Add(name + "/cond", "LoopCond", {{less, 0}});
  const Node* choose =
      h.Add(name + "/switch", "Switch", {{merge, 0}, {cond, 0}});
  const Node* exit = h.Add(name + "/exit", "Exit", {{choose, 0}});
  OutputTensor next_value = body(OutputTensor{choose, 1}, bound);
  const Node* next = h.Add(name + "/next", "NextIteration", {next_value});
  EXPECT_OK(h.graph.SetBackEdge(merge, 1, {next, 0}));
  return {{choose, 1}, {exit, 0}};
}

TEST(LoopFramesTest, CountsInALoop) {
  for (int parallel : {1, 2, 10}) {
    PlanHarness h;
    Loop loop = While(
        h, "w", h.Const("zero", Float(0)), h.Arg(0), parallel,
        [&](OutputTensor v, OutputTensor) -> OutputTensor {
          return {h.Add("inc", "TestAdd", {v, h.Const("one", Float(1))}), 0};
        });
    h.Retval(0, loop.exit);
    for (RunWhere where : kEverywhere) {
      for (int limit : {0, 1, 2, 57}) {
        ASSERT_OK_AND_ASSIGN(
            float result,
            h.RunFloat({Float(static_cast<float>(limit))}, where));
        EXPECT_EQ(result, limit);
      }
    }
  }
}

// The number of the next iteration is read from a variable after it was
// incremented.
TEST(LoopFramesTest, AVariableIsReadAgainAfterAChangeInTheBody) {
  PlanHarness h;
  const Node* v = h.Add("v", "VariableV2", {},
                        {{"dtype", DT_FLOAT}, {"shape", TensorShape()}});
  OutputTensor zero = h.Const("zero", Float(0));
  const Node* init = h.Add("init", "Assign", {{v, 0}, zero});
  const Node* ref = h.Add(
      "ref", "RefEnter", {{init, 0}},
      {{"frame_name", "w"}, {"parallel_iterations", 1}, {"is_constant", true}});
  Loop loop = While(
      h, "w", {init, 0}, h.Arg(0), 1,
      [&](OutputTensor in, OutputTensor) -> OutputTensor {
        const Node* pivot = h.Add("pivot", "Identity", {in});
        const Node* read = h.Add("read", "Identity", {{ref, 0}}, {}, {pivot});
        const Node* count =
            h.Add("count", "AssignAdd", {{ref, 0}, h.Const("one", Float(1))},
                  {}, {read});
        return {h.Add("sum", "TestAdd", {{read, 0}, zero}, {}, {count}), 0};
      });
  h.Retval(0, loop.exit);
  for (RunWhere where : kEverywhere) {
    ASSERT_OK_AND_ASSIGN(float result, h.RunFloat({Float(5)}, where));
    EXPECT_EQ(result, 5);
    ASSERT_OK_AND_ASSIGN(auto variable,
                         h.resources.Lookup<Variable>("localhost", "v"));
    ASSERT_OK_AND_ASSIGN(Tensor value, variable->Read());
    EXPECT_EQ(value.scalar<float>(), 5);
  }
}

// The body runs work on the pool while later iterations start.
TEST(LoopFramesTest, IterationsRunSideBySide) {
  PlanHarness h;
  Loop loop = While(
      h, "w", h.Const("zero", Float(0)), h.Arg(0), 4,
      [&](OutputTensor v, OutputTensor) -> OutputTensor {
        h.Add("side1", "TestWork", {v});
        h.Add("side2", "TestWork", {v});
        return {h.Add("inc", "TestAdd", {v, h.Const("one", Float(1))}), 0};
      });
  h.Retval(0, loop.exit);
  for (RunWhere where : kEverywhere) {
    h.work_runs = 0;
    ASSERT_OK_AND_ASSIGN(float result, h.RunFloat({Float(100)}, where));
    EXPECT_EQ(result, 100);
    EXPECT_EQ(h.work_runs, 200);
  }
}

// for (v = 0; v < n; v = inner(v) ) where inner counts v up to v + 3.
PlanHarness& NestedLoops(PlanHarness& h) {
  Loop loop = While(
      h, "outer", h.Const("zero", Float(0)), h.Arg(0), 3,
      [&](OutputTensor v, OutputTensor) -> OutputTensor {
        OutputTensor three = {
            h.Add("three", "TestAdd", {v, h.Const("c3", Float(3))}), 0};
        Loop inner = While(
            h, "inner", v, three, 2,
            [&](OutputTensor w, OutputTensor) -> OutputTensor {
              h.Add("work", "TestWork", {w});
              return {h.Add("inc", "TestAdd", {w, h.Const("one", Float(1))}),
                      0};
            });
        return inner.exit;
      });
  h.Retval(0, loop.exit);
  return h;
}

TEST(LoopFramesTest, LoopsNest) {
  PlanHarness h;
  NestedLoops(h);
  for (RunWhere where : kEverywhere) {
    h.work_runs = 0;
    ASSERT_OK_AND_ASSIGN(float result, h.RunFloat({Float(28)}, where));
    EXPECT_EQ(result, 30);
    EXPECT_EQ(h.work_runs, 30);
  }
}

TEST(LoopFramesTest, ManyThreadsRunNestedLoops) {
  PlanHarness h;
  NestedLoops(h);
  ASSERT_OK(h.Compile());
  std::vector<std::thread> clients;
  for (int client = 0; client < 4; ++client) {
    clients.emplace_back([&h] {
      for (int step = 0; step < 30; ++step) {
        auto result = h.RunFloat({Float(28)}, kEverywhere[step % 3]);
        ASSERT_OK(result);
        EXPECT_EQ(*result, 30);
      }
    });
  }
  for (std::thread& client : clients) client.join();
}

// A loop in the branch that is not taken has a dead exit.
TEST(LoopFramesTest, ALoopOnADeadBranchIsDead) {
  PlanHarness h;
  const Node* choose = h.Add("choose", "Switch", {h.Arg(0), h.Arg(1, DT_BOOL)});
  Loop loop = While(h, "w", {choose, 1}, {choose, 1}, 2,
                    [&](OutputTensor v, OutputTensor) -> OutputTensor {
                      return {h.Add("work", "TestWork", {v}), 0};
                    });
  const Node* merge = h.Add("merge", "Merge", {{choose, 0}, loop.exit});
  h.Retval(0, {merge, 0});
  h.Retval(1, {merge, 1});
  for (RunWhere where : kEverywhere) {
    for (bool taken : {false, true}) {
      ASSERT_OK_AND_ASSIGN(auto results,
                           h.Run({Float(5), Tensor::Scalar(taken)}, where));
      EXPECT_EQ(results[0].scalar<float>(), 5);
      EXPECT_EQ(results[1].scalar<int32_t>(), taken ? 1 : 0);
    }
  }
  EXPECT_EQ(h.work_runs, 0);
}

TEST(LoopFramesTest, AsynchronousKernelsInLoops) {
  PlanHarness h;
  h.gate.Open();
  Loop loop = While(
      h, "w", h.Const("zero", Float(0)), h.Arg(0), 3,
      [&](OutputTensor v, OutputTensor) -> OutputTensor {
        OutputTensor waited = {h.Add("async", "TestAsync", {v}), 0};
        return {h.Add("inc", "TestAdd", {waited, h.Const("one", Float(1))}), 0};
      });
  h.Retval(0, loop.exit);
  for (RunWhere where : kEverywhere) {
    ASSERT_OK_AND_ASSIGN(float result, h.RunFloat({Float(20)}, where));
    EXPECT_EQ(result, 20);
  }
}

// Runs a loop that waits in each iteration, and lists the waits before the gate
// opens, or the step is cancelled, and concurrently from another thread.
void AskWhatALoopWaitsFor(bool is_cancelled) {
  PlanHarness h;
  const Loop loop = While(
      h, "w", h.Const("zero", Float(0)), h.Arg(0), 3,
      [&](OutputTensor v, OutputTensor) -> OutputTensor {
        OutputTensor waited = {h.Add("async", "TestAsync", {v}), 0};
        return {h.Add("inc", "TestAdd", {waited, h.Const("one", Float(1))}), 0};
      });
  h.Retval(0, loop.exit);
  ASSERT_OK(h.Compile());
  BegunStep step(h, {Float(500)}, 12);
  std::vector<std::string> waits;
  std::map<std::string, int64_t> counts;
  EXPECT_TRUE(h.plan->DescribeWaits(12, waits));
  EXPECT_EQ(waits, std::vector<std::string>{"node async (TestAsync)"});
  h.plan->CountWaits(counts);
  EXPECT_EQ(counts, (std::map<std::string, int64_t>{{"TestAsync", 1}}));
  std::thread asks([&h] {
    std::vector<std::string> some;
    std::map<std::string, int64_t> all;
    for (int i = 0; i < 100; ++i) {
      h.plan->DescribeWaits(12, some);
      h.plan->CountWaits(all);
    }
  });
  if (is_cancelled) {
    step.cancellation.Cancel(absl::CancelledError("enough"));
  } else {
    h.gate.Open();
  }
  EXPECT_EQ(step.Wait().ok(), !is_cancelled);
  asks.join();
  counts.clear();
  h.plan->CountWaits(counts);
  EXPECT_TRUE(counts.empty());
}

TEST(LoopFramesTest, DescribeWaitsNamesNodesInLoops) {
  AskWhatALoopWaitsFor(/*is_cancelled=*/false);
  AskWhatALoopWaitsFor(/*is_cancelled=*/true);
}

// Exits that are dead in all iterations but the last, of variables that reach
// the next iteration at different times.
TEST(LoopFramesTest, EachVariableLeavesWithItsLastValue) {
  for (int parallel : {1, 2, 10}) {
    PlanHarness h;
    std::vector<OutputTensor> exits;
    const AttrMap attrs = {{"frame_name", "w"},
                           {"parallel_iterations", parallel}};
    std::vector<const Node*> merges;
    for (int i = 0; i < 3; ++i) {
      const Node* enter =
          h.Add(absl::StrCat("enter", i), "Enter", {h.Arg(i)}, attrs);
      merges.push_back(h.Add(absl::StrCat("merge", i), "Merge",
                             {{enter, 0}, {}}, {{"T", DT_FLOAT}, {"N", 2}}));
    }
    const Node* less = h.Add("less", "TestLess",
                             {{merges[0], 0}, h.Const("limit", Float(20))});
    const Node* cond = h.Add("cond", "LoopCond", {{less, 0}});
    for (int i = 0; i < 3; ++i) {
      const Node* choose = h.Add(absl::StrCat("switch", i), "Switch",
                                 {{merges[i], 0}, {cond, 0}});
      exits.push_back(
          {h.Add(absl::StrCat("exit", i), "Exit", {{choose, 0}}), 0});
      OutputTensor v = {choose, 1};
      for (int k = 0; k < i; ++k) {
        v = {h.Add(absl::StrCat("work", i, "_", k), "TestWork", {v}), 0};
      }
      v = {h.Add(absl::StrCat("inc", i), "TestAdd",
                 {v, h.Const(absl::StrCat("one", i), Float(1))}),
           0};
      const Node* next = h.Add(absl::StrCat("next", i), "NextIteration", {v});
      ASSERT_OK(h.graph.SetBackEdge(merges[i], 1, {next, 0}));
      h.Retval(i, exits[i]);
    }
    for (RunWhere where : kEverywhere) {
      for (float begin : {0.0f, 19.0f, 20.0f}) {
        ASSERT_OK_AND_ASSIGN(auto results,
                             h.Run({Float(begin), Float(5), Float(7)}, where));
        EXPECT_EQ(results[0].scalar<float>(), 20);
        EXPECT_EQ(results[1].scalar<float>(), 25 - begin);
        EXPECT_EQ(results[2].scalar<float>(), 27 - begin);
      }
    }
  }
}

TEST(LoopFramesTest, ErrorInALoopDoesNotAffectTheNextStep) {
  PlanHarness h;
  Loop loop = While(
      h, "w", h.Const("zero", Float(0)), h.Arg(0), 3,
      [&](OutputTensor v, OutputTensor) -> OutputTensor {
        // Fails once v is no longer below 5.
        OutputTensor five = h.Const("five", Float(5));
        const Node* below = h.Add("below", "TestLess", {v, five});
        const Node* choose = h.Add("choose", "Switch", {v, {below, 0}});
        const Node* bad = h.Add("bad", "Identity", {{choose, 0}});
        const Node* fail = h.Add("fail", "TestFail", {}, {}, {bad});
        const Node* merge = h.Add("both", "Merge", {{fail, 0}, {choose, 1}});
        return {h.Add("inc", "TestAdd", {{merge, 0}, h.Const("one", Float(1))}),
                0};
      });
  h.Retval(0, loop.exit);
  for (RunWhere where : kEverywhere) {
    EXPECT_THAT(h.RunFloat({Float(9)}, where),
                StatusIs(absl::StatusCode::kInvalidArgument, "fail"));
    ASSERT_OK_AND_ASSIGN(float result, h.RunFloat({Float(5)}, where));
    EXPECT_EQ(result, 5);
  }
}

// Records the keys of sent values.
class KeyRecorder : public LocalRendezvous {
 public:
  absl::Status Send(const RendezvousKey& key, Tensor, bool is_dead) override {
    absl::MutexLock lock(&mutex_);
    if (is_dead) {
      ++num_dead_;
    } else {
      keys_.insert({key.edge, key.frame, key.iteration});
    }
    return absl::OkStatus();
  }
  std::set<std::tuple<uint64_t, uint64_t, uint64_t>> keys() const {
    absl::MutexLock lock(&mutex_);
    return keys_;
  }
  int num_dead() const {
    absl::MutexLock lock(&mutex_);
    return num_dead_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::set<std::tuple<uint64_t, uint64_t, uint64_t>> keys_
      ABSL_GUARDED_BY(mutex_);
  int num_dead_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST(LoopFramesTest, SendsInLoopsCarryFrameAndIteration) {
  PlanHarness h;
  Loop loop = While(
      h, "w", h.Const("zero", Float(0)), h.Arg(0), 3,
      [&](OutputTensor v, OutputTensor) -> OutputTensor {
        h.Add("send", "_Send", {v},
              {{"edge", 4},
               {"tensor_name", "v:0"},
               {"send_device", "a"},
               {"recv_device", "b"}});
        return {h.Add("inc", "TestAdd", {v, h.Const("one", Float(1))}), 0};
      });
  h.Retval(0, loop.exit);
  Cancellation cancellation;
  KeyRecorder recorder;
  ASSERT_OK(h.Run({Float(3)}, RunWhere::kCaller, cancellation, recorder));
  const auto keys = recorder.keys();
  ASSERT_EQ(keys.size(), 3u);
  const uint64_t frame = std::get<1>(*keys.begin());
  EXPECT_NE(frame, 0u);
  for (uint64_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(keys.count({4, frame, i})) << i;
  }
  EXPECT_EQ(recorder.num_dead(), 1);
}

TEST(FrameAnalysisTest, InputsFromDifferentFramesAreRefused) {
  PlanHarness h;
  OutputTensor x = h.Arg(0);
  const Node* enter = h.Add("enter", "Enter", {x}, {{"frame_name", "w"}});
  h.Add("mixed", "TestAdd", {{enter, 0}, x});
  EXPECT_THAT(h.Compile(), StatusIs(absl::StatusCode::kInvalidArgument,
                                    "mixed (TestAdd) has inputs from "
                                    "different frames"));
}

TEST(FrameAnalysisTest, ExitOutsideALoopIsRefused) {
  PlanHarness h;
  h.Add("exit", "Exit", {h.Arg(0)});
  EXPECT_THAT(h.Compile(),
              StatusIs(absl::StatusCode::kInvalidArgument, "exit"));
}

// Compiles the loop with the next value `next`, which gets the limit that all
// iterations see and the value behind the Switch.
absl::Status CompileLoop(
    const std::function<OutputTensor(PlanHarness&, OutputTensor bound,
                                     OutputTensor value)>& next) {
  PlanHarness h;
  Loop loop =
      While(h, "w", h.Arg(0), h.Arg(1), 3,
            [&](OutputTensor value, OutputTensor bound) -> OutputTensor {
              return next(h, bound, value);
            });
  h.Retval(0, loop.exit);
  return h.Compile();
}

TEST(FrameAnalysisTest, NextIterationWithoutConditionIsRefused) {
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_THAT(CompileLoop([](PlanHarness&, OutputTensor bound, OutputTensor) {
                return bound;
              }),
              StatusIs(kInvalid,
                       "w/next (NextIteration) continues in every "
                       "iteration of the loop 'w'"));
  EXPECT_THAT(CompileLoop([](PlanHarness& h, OutputTensor bound,
                             OutputTensor) -> OutputTensor {
                return {h.Add("sum", "TestAdd", {bound, bound}), 0};
              }),
              StatusIs(kInvalid, "w/next (NextIteration) continues"));
  // The next value comes from the Merge, bypassing the Switch.
  EXPECT_THAT(CompileLoop([](PlanHarness& h, OutputTensor,
                             OutputTensor) -> OutputTensor {
                return {h.graph.FindNode("w/merge"), 0};
              }),
              StatusIs(kInvalid, "w/next (NextIteration) continues"));
}

TEST(FrameAnalysisTest, NestedLoopsHaveADepthLimit) {
  for (const int depth : {1000, 1001}) {
    PlanHarness h;
    OutputTensor x = h.Arg(0);
    for (int i = 0; i < depth; ++i) {
      x = {h.Add(absl::StrCat("enter_", i), "Enter", {x},
                 {{"frame_name", absl::StrCat("loop_", i)}}),
           0};
    }
    h.Add("work", "TestWork", {x});
    if (depth > 1000) {
      EXPECT_THAT(h.Compile(), StatusIs(absl::StatusCode::kInvalidArgument,
                                        "enter_1000 (Enter) begins loop "
                                        "'loop_1000' inside 1000 nested"));
      continue;
    }
    ASSERT_OK(h.Run({Float(1)}));
    EXPECT_EQ(h.work_runs, 1);
  }
}

// tf.while_loop builds this if a body returns a value from outside.
TEST(FrameAnalysisTest, InvariantMayDependOnTheSwitch) {
  PlanHarness h;
  Loop loop =
      While(h, "w", h.Arg(0), h.Arg(1), 3,
            [&](OutputTensor value, OutputTensor bound) -> OutputTensor {
              const Node* pivot = h.Add("pivot", "Identity", {value});
              return {h.Add("same", "Identity", {bound}, {}, {pivot}), 0};
            });
  h.Retval(0, loop.exit);
  ASSERT_OK_AND_ASSIGN(float last, h.RunFloat({Float(1), Float(4)}));
  EXPECT_EQ(last, 4);
}

}  // namespace
}  // namespace weft
