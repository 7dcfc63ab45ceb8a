#include <map>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/simulated_scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/executor/testing/plan_harness.h"
#include "libs/tensor/resource_handle.h"
#include "libs/trace/device_trace.h"

namespace weft {
namespace {

using RunsByName = std::map<std::string, NodeExecStats>;

// Returns the trace of a step of the plan on this and other threads.
RunsByName Trace(PlanHarness& h, std::vector<Tensor> args,
                 RunWhere where = RunWhere::kCaller) {
  DeviceTrace trace("cpu");
  h.trace = &trace;
  EXPECT_OK(h.Run(std::move(args), where));
  h.trace = nullptr;
  RunsByName runs;
  for (NodeExecStats& run : trace.Take().node_stats) {
    const std::string name = run.node_name;
    EXPECT_TRUE(runs.emplace(name, std::move(run)).second) << name;
  }
  return runs;
}

Tensor Float(float value) { return Tensor::Scalar(value); }

TEST(NodeTraceTest, TraceHasThreadAndOutputsOfEachNode) {
  PlanHarness h;
  const OutputTensor x = h.Arg(0);
  const OutputTensor one = h.Const("one", Float(1));
  const Node* work = h.Add("work", "TestWork", {x});
  h.Retval(0, {h.Add("sum", "TestAdd", {{work, 0}, one}), 0});
  for (const RunWhere where :
       {RunWhere::kCaller, RunWhere::kReader, RunWhere::kPool}) {
    const RunsByName runs = Trace(h, {Float(3)}, where);
    ASSERT_TRUE(runs.contains("work"));
    ASSERT_TRUE(runs.contains("sum"));
    const NodeExecStats& sum = runs.at("sum");
    EXPECT_EQ(runs.at("work").timeline_label,
              "work = TestWork(" + x.node->name() + ")");
    // Constants are in its slots; they are not traced as runs.
    EXPECT_EQ(sum.timeline_label, "sum = TestAdd(work)");
    EXPECT_GT(sum.thread_id, 0);
    EXPECT_EQ(
        sum.output,
        std::vector<OutputStats>(
            {{.slot = 0, .dtype = DT_FLOAT, .dims = {}, .num_bytes = 4}}));
    EXPECT_GE(sum.start_nanos,
              runs.at("work").start_nanos + runs.at("work").end_rel_nanos);
  }
}

// A handle that waits for another node does run.
TEST(NodeTraceTest, VariableHandlesAreNotTraced) {
  PlanHarness h;
  const AttrMap declared = {{"dtype", DT_FLOAT},
                            {"shape", PartialShape(TensorShape())},
                            {"shared_name", std::string("v")}};
  const AttrMap of_floats = {{"dtype", DT_FLOAT}};
  const Node* handle = h.Add("handle", "VarHandleOp", {}, declared);
  const Node* assign =
      h.Add("assign", "AssignVariableOp", {{handle, 0}, h.Arg(0)}, of_floats);
  const Node* late = h.Add("late", "VarHandleOp", {}, declared, {assign});
  h.Retval(0, {h.Add("read", "ReadVariableOp", {{late, 0}}, of_floats), 0});
  h.Retval(1, {handle, 0});
  for (const float value : {3.0f, 4.0f}) {
    const RunsByName runs = Trace(h, {Float(value)});
    EXPECT_FALSE(runs.contains("handle"));
    EXPECT_TRUE(runs.contains("late"));
    EXPECT_TRUE(runs.contains("assign"));
    ASSERT_OK_AND_ASSIGN(const auto results, h.Run({Float(-value)}));
    EXPECT_EQ(results[0].scalar<float>(), -value);
    const auto& fetched = results[1].scalar<ResourceHandle>();
    EXPECT_EQ(fetched.name, "v");
    EXPECT_EQ(fetched.container, h.resources.default_container());
  }
}

TEST(NodeTraceTest, OneStepIsTracedAndTheNextIsNot) {
  PlanHarness h;
  h.Retval(0, {h.Add("work", "TestWork", {h.Arg(0)}), 0});
  EXPECT_TRUE(Trace(h, {Float(3)}).contains("work"));
  DeviceTrace unused("cpu");
  ASSERT_OK(h.RunFloat({Float(3)}));
  EXPECT_TRUE(unused.Take().node_stats.empty());
}

TEST(NodeTraceTest, AsyncWaitIsTracedWithoutAThread) {
  PlanHarness h;
  const OutputTensor x = h.Arg(0);
  h.Retval(0, {h.Add("wait", "TestAsync", {x}), 0});
  ASSERT_OK(h.Compile());
  std::thread opener([&h] {
    while (h.gate.num_waiting() == 0) std::this_thread::yield();
    h.gate.Open();
  });
  const RunsByName runs = Trace(h, {Float(3)});
  opener.join();
  EXPECT_EQ(runs.at("wait").thread_id, 0);
  EXPECT_EQ(runs.at("wait").output.size(), 1);
}

TEST(NodeTraceTest, SendsAndReceivesHaveBytesAndPeer) {
  PlanHarness h;
  const AttrMap edge = {{"T", DT_FLOAT},
                        {"edge", 7},
                        {"tensor_name", "x:0"},
                        {"send_device", "a"},
                        {"recv_device", "b"}};
  h.Add("send", "_Send", {h.Arg(0)}, edge);
  h.Retval(0, {h.Add("recv", "_Recv", {}, edge), 0});
  const RunsByName runs = Trace(h, {Tensor(DT_FLOAT, TensorShape({25}))});
  EXPECT_EQ(runs.at("send").timeline_label, "[100B] send = _Send(x:0 @b)");
  EXPECT_EQ(runs.at("recv").timeline_label, "[100B] recv = _Recv(x:0 @a)");
}

TEST(NodeTraceTest, DeadBranchIsNotTraced) {
  PlanHarness h;
  const Node* choose = h.Add("choose", "Switch", {h.Arg(0), h.Arg(1, DT_BOOL)});
  const Node* taken = h.Add("taken", "TestWork", {{choose, 1}});
  const Node* left = h.Add("left", "TestWork", {{choose, 0}});
  h.Retval(0, {h.Add("merge", "Merge", {{left, 0}, {taken, 0}}), 0});
  const RunsByName runs = Trace(h, {Float(3), Tensor::Scalar(true)});
  EXPECT_TRUE(runs.contains("taken"));
  EXPECT_FALSE(runs.contains("left"));
  // Both outputs, even if only one is used.
  ASSERT_EQ(runs.at("merge").output.size(), 2u);
  EXPECT_EQ(runs.at("merge").output[1].num_bytes, 4);
  // The dead output of the Switch is not listed.
  EXPECT_EQ(runs.at("choose").output[0].num_bytes, 0);
  EXPECT_EQ(runs.at("choose").output[1].num_bytes, 4);
}

// Both ends of an edge of a branch that was not taken, or neither would find
// its other end in a loop.
TEST(NodeTraceTest, DeadTensorIsTracedAtSendAndReceive) {
  PlanHarness h;
  const AttrMap edge = {{"T", DT_FLOAT},
                        {"edge", 7},
                        {"tensor_name", "x:0"},
                        {"send_device", "a"},
                        {"recv_device", "b"}};
  const Node* choose = h.Add("choose", "Switch", {h.Arg(0), h.Arg(1, DT_BOOL)});
  h.Add("send", "_Send", {{choose, 0}}, edge);
  const Node* recv = h.Add("recv", "_Recv", {}, edge);
  h.Retval(0, {h.Add("merge", "Merge", {{recv, 0}, {choose, 1}}), 0});
  const RunsByName runs = Trace(h, {Float(3), Tensor::Scalar(true)});
  ASSERT_TRUE(runs.contains("send"));
  ASSERT_TRUE(runs.contains("recv"));
  EXPECT_EQ(runs.at("send").timeline_label, "[0B] send = _Send(x:0 @b)");
  EXPECT_EQ(runs.at("recv").timeline_label, "[0B] recv = _Recv(x:0 @a)");
  EXPECT_TRUE(runs.at("recv").output.empty());
}

TEST(NodeTraceTest, BackwardClockMakesNoNegativeTimes) {
  ManualClock clock;
  SimulatedScheduler scheduler(clock);
  PlanHarness h(&scheduler);
  h.Retval(0, {h.Add("wait", "TestAsync", {h.Arg(0)}), 0});
  ASSERT_OK(h.Compile());
  scheduler.Schedule(Pool::kCompute, [&] {
    clock.Advance(-absl::Hours(1));
    h.gate.Open();
  });
  const RunsByName runs = Trace(h, {Float(3)});
  ASSERT_TRUE(runs.contains("wait"));
  EXPECT_EQ(runs.at("wait").end_rel_nanos, 0);
}

TEST(NodeTraceTest, FailedStepKeepsItsEarlierTrace) {
  PlanHarness h;
  const Node* work = h.Add("work", "TestWork", {h.Arg(0)});
  h.Add("fail", "TestFail", {}, {}, {work});
  DeviceTrace trace("cpu");
  h.trace = &trace;
  EXPECT_THAT(h.Run({Float(1)}), StatusIs(kInvalid, "fail"));
  bool has_work = false;
  for (const NodeExecStats& run : trace.Take().node_stats) {
    EXPECT_NE(run.node_name, "fail");
    has_work |= run.node_name == "work";
  }
  EXPECT_TRUE(has_work);
}

}  // namespace
}  // namespace weft
