// Measures the cost of a node and of a step with a trivial kernel. Run with
// --config=opt.
#include <benchmark/benchmark.h>

#include "libs/executor/testing/plan_harness.h"

namespace weft {
namespace {

// One step after another on this thread.
class Steps {
 public:
  explicit Steps(PlanHarness& harness) : harness_(harness) {
    if (!harness.Compile().ok()) std::abort();
    args_.assign(harness.plan->num_args(), Tensor::Scalar(1.0f));
    retvals_.resize(harness.plan->num_retvals());
  }

  void Run() {
    absl::Status result = absl::UnknownError("not over");
    Start(harness_.plan,
          {harness_.MakeContext(cancellation_, rendezvous_), args_,
           absl::MakeSpan(retvals_)},
          RunWhere::kCaller,
          [&result](absl::Status status) { result = std::move(status); });
    if (!result.ok()) std::abort();
  }

 private:
  PlanHarness& harness_;
  Cancellation cancellation_;
  LocalRendezvous rendezvous_;
  std::vector<Tensor> args_;
  std::vector<Tensor> retvals_;
};

void Report(benchmark::State& state, const char* goal, int64_t items) {
  state.SetLabel(goal);
  state.counters["each"] =
      benchmark::Counter(static_cast<double>(items),
                         benchmark::Counter::kIsIterationInvariantRate |
                             benchmark::Counter::kInvert);
}

// x + 1 + 1 + ...: the kernel adds two scalars in place.
void BM_AddChain(benchmark::State& state) {
  PlanHarness h;
  OutputTensor x = h.Arg(0);
  OutputTensor one = h.Const("one", Tensor::Scalar(1.0f));
  for (int i = 0; i < state.range(0); ++i) {
    x = {h.Add(absl::StrCat("add", i), "TestAdd", {x, one}), 0};
  }
  h.Retval(0, x);
  Steps steps(h);
  for (auto _ : state) steps.Run();
  Report(state, "goal: at most 100 ns a node", state.range(0));
}
BENCHMARK(BM_AddChain)->Arg(1000);

// Each node takes two inputs from the previous one, which share their memory:
// it counts edges and allocates its output.
void BM_AddPairs(benchmark::State& state) {
  PlanHarness h;
  OutputTensor x = h.Arg(0);
  for (int i = 0; i < state.range(0); ++i) {
    x = {h.Add(absl::StrCat("add", i), "TestAdd", {x, x}), 0};
  }
  h.Retval(0, x);
  Steps steps(h);
  for (auto _ : state) steps.Run();
  Report(state, "no goal: with an allocation each", state.range(0));
}
BENCHMARK(BM_AddPairs)->Arg(1000);

void BM_TinyStep(benchmark::State& state) {
  PlanHarness h;
  h.Retval(0, {h.Add("add", "TestAdd",
                     {h.Arg(0), h.Const("one", Tensor::Scalar(1.0f))}),
               0});
  Steps steps(h);
  for (auto _ : state) steps.Run();
  Report(state, "goal: at most 1000 ns a step", 1);
}
BENCHMARK(BM_TinyStep);

// A chain in a plan with values that may be dead.
void BM_AddChainBehindSwitch(benchmark::State& state) {
  PlanHarness h;
  const Node* choose = h.Add("choose", "Switch",
                             {h.Arg(0), h.Const("yes", Tensor::Scalar(true))});
  OutputTensor x = {choose, 1};
  OutputTensor one = h.Const("one", Tensor::Scalar(1.0f));
  for (int i = 0; i < state.range(0); ++i) {
    x = {h.Add(absl::StrCat("add", i), "TestAdd", {x, one}), 0};
  }
  h.Retval(0, x);
  Steps steps(h);
  for (auto _ : state) steps.Run();
  Report(state, "goal: at most 100 ns a node", state.range(0));
}
BENCHMARK(BM_AddChainBehindSwitch)->Arg(1000);

// while (x < 1000) x = x + 1
void BM_While(benchmark::State& state) {
  PlanHarness h;
  const AttrMap attrs = {{"frame_name", "w"}, {"parallel_iterations", 10}};
  const Node* enter = h.Add("enter", "Enter", {h.Arg(0)}, attrs);
  const Node* merge =
      h.Add("merge", "Merge", {{enter, 0}, {}}, {{"T", DT_FLOAT}, {"N", 2}});
  OutputTensor limit = h.Const("limit", Tensor::Scalar(1000.0f));
  const Node* less = h.Add("less", "TestLess", {{merge, 0}, limit});
  const Node* cond = h.Add("cond", "LoopCond", {{less, 0}});
  const Node* choose = h.Add("switch", "Switch", {{merge, 0}, {cond, 0}});
  h.Retval(0, {h.Add("exit", "Exit", {{choose, 0}}), 0});
  OutputTensor one = h.Const("one", Tensor::Scalar(1.0f));
  const Node* add = h.Add("add", "TestAdd", {{choose, 1}, one});
  const Node* next = h.Add("next", "NextIteration", {{add, 0}});
  if (!h.graph.SetBackEdge(merge, 1, {next, 0}).ok()) std::abort();
  Steps steps(h);
  for (auto _ : state) steps.Run();
  Report(state, "goal: at most 500 ns an iteration", 1000);
}
BENCHMARK(BM_While);

}  // namespace
}  // namespace weft

BENCHMARK_MAIN();
