// Tests graphs of random programs with nested loops, branches, functions and
// arrays. A graph must return the same results as its program, with and without
// passes. If its loops are modified, it must end with a value or an error.
// integration_tests/testing/graph_seeds.h selects the seeds.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "integration_tests/testing/graph_seeds.h"
#include "integration_tests/testing/random_program.h"
#include "libs/api/weft.h"
#include "libs/base/test_matchers.h"
#include "libs/graph/import/graph_def.h"

namespace weft {
namespace {

constexpr uint64_t kLoopSeeds = 40;

constexpr int kNumArgs = 3;

// The graph of a random program, with placeholders "x0", "x1" and so on.
struct ProgramGraph {
  explicit ProgramGraph(const Block& block) {
    for (int i = 0; i < kNumArgs; ++i) {
      args.push_back(ops::Placeholder(root.WithName(absl::StrCat("x", i)),
                                      DT_INT64,
                                      {.shape = PartialShape::Scalar()}));
    }
    for (const Output& result : AddProgram(root, block, args)) {
      results.push_back(ops::Identity(root.WithName("result"), result));
    }
  }

  Scope root = Scope::Root();
  std::vector<Output> args;
  std::vector<Output> results;
};

std::vector<int64_t> ArgsOf(uint64_t seed) {
  return {static_cast<int64_t>(seed % 17), static_cast<int64_t>(seed % 101),
          static_cast<int64_t>(seed * 31 % kModulus)};
}

FeedList FeedsOf(const std::vector<Output>& args, uint64_t seed) {
  FeedList feeds;
  const std::vector<int64_t> values = ArgsOf(seed);
  for (size_t i = 0; i < args.size(); ++i) {
    feeds.emplace_back(args[i], Tensor::Scalar(values[i]));
  }
  return feeds;
}

class RandomLoopsTest : public ::testing::Test {
 protected:
  SessionOptions Options() {
    return {.device_count = {{"CPU", 2}}, .process = &process_};
  }

  absl::StatusOr<std::vector<int64_t>> Run(const ProgramGraph& program,
                                           uint64_t seed,
                                           const SessionOptions& options) {
    ASSIGN_OR_RETURN(const auto session,
                     Session::Connect("", program.root, options));
    ASSIGN_OR_RETURN(
        const std::vector<Tensor> tensors,
        session->Run(FeedsOf(program.args, seed), program.results));
    std::vector<int64_t> values;
    for (const Tensor& tensor : tensors) {
      values.push_back(tensor.scalar<int64_t>());
    }
    return values;
  }

  Process process_{{.compute_threads = 2}};
};

TEST_F(RandomLoopsTest, ResultsMatchReference) {
  const GraphSeeds seeds(kLoopSeeds);
  SessionOptions without_passes = Options();
  without_passes.graph_options = NoRewrites();
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    const Block block = MakeRandomProgram(seed);
    const ProgramGraph program(block);
    ASSERT_OK(program.root.status()) << "seed " << seed;
    KeepGraph(ExportGraphDefText(program.root.graph()));
    const std::vector<int64_t> expected = Evaluate(block, ArgsOf(seed));
    for (const SessionOptions& options : {Options(), without_passes}) {
      const auto values = Run(program, seed, options);
      ASSERT_OK(values) << "seed " << seed;
      ASSERT_EQ(*values, expected) << "seed " << seed;
    }
  }
}

// A malformed graph may return any result, but it must terminate.
TEST_F(RandomLoopsTest, MalformedLoopsTerminate) {
  const GraphSeeds seeds(kLoopSeeds);
  int runs = 0;
  int refusals = 0;
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    const ProgramGraph whole(MakeRandomProgram(seed));
    ASSERT_OK(whole.root.status());
    const std::string graph = ExportGraphDef(whole.root.graph()).value();
    for (uint64_t i = 0; i < 2; ++i) {
      const Scope root = Scope::Root();
      if (!ImportGraphDef(BreakLoops(graph, seed * 10 + i), root.graph())
               .ok()) {
        continue;
      }
      KeepGraph(ExportGraphDefText(root.graph()));
      const auto session = Session::Connect("", root, Options());
      ASSERT_OK(session);
      FeedList feeds;
      for (int n = 0; n < kNumArgs; ++n) {
        feeds.emplace_back(root.graph().FindNode(absl::StrCat("x", n)),
                           Tensor::Scalar(ArgsOf(seed)[n]));
      }
      const auto values =
          (*session)->Run(feeds, Output(root.graph().FindNode("result")),
                          {.timeout = absl::Milliseconds(50)});
      ++runs;
      refusals += values.ok() ? 0 : 1;
    }
  }
  RecordProperty("runs", runs);
  RecordProperty("refusals", refusals);
  EXPECT_GT(refusals, 0);
  EXPECT_GT(runs, refusals);
}

}  // namespace
}  // namespace weft
