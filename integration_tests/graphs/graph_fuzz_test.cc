// Checks that steps of untrusted graphs end with values or errors. Replays the
// corpora of the graph fuzzers and runs random graphs, with and without the
// passes that rewrite graphs. integration_tests/testing/graph_seeds.h selects
// the seeds.
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "integration_tests/testing/graph_fuzz_targets.h"
#include "integration_tests/testing/graph_mutator.h"
#include "integration_tests/testing/graph_outline.h"
#include "integration_tests/testing/graph_seeds.h"
#include "integration_tests/testing/pass_comparison.h"
#include "libs/base/testing/fuzz_corpus.h"

namespace weft {
namespace {

constexpr char kCorpus[] = "integration_tests/testdata/fuzz/";

// The replay runs each input unchanged. Only the fuzzer flips bits.
constexpr size_t kNotDamaged = 0;

constexpr uint64_t kGraphSeeds = 300;

TEST(GraphFuzzTest, GraphDefCorpusIsReplayed) {
  EXPECT_GE(ReplayFuzzCorpus(std::string(kCorpus) + "graph_def", FuzzGraphDef,
                             kNotDamaged),
            10);
}

TEST(GraphFuzzTest, FunctionDefCorpusIsReplayed) {
  EXPECT_GE(ReplayFuzzCorpus(std::string(kCorpus) + "function_def",
                             FuzzFunctionDef, kNotDamaged),
            10);
}

TEST(GraphFuzzTest, GraphTextCorpusIsReplayed) {
  EXPECT_GE(ReplayFuzzCorpus(std::string(kCorpus) + "graph_text", FuzzGraphText,
                             kNotDamaged),
            10);
}

// Returns the graphs of the text corpus, ordered by file name. They are known
// to run.
std::vector<std::string> KeptGraphs() {
  std::vector<std::string> graphs;
  ReplayFuzzCorpus(
      std::string(kCorpus) + "graph_text",
      [&](absl::string_view text) { graphs.emplace_back(text); }, kNotDamaged);
  return graphs;
}

// Returns the initial graph for a seed: either empty, or a graph that is known
// to run.
std::string Beginning(const std::vector<std::string>& kept, uint64_t seed) {
  return seed % 4 == 0 ? "" : kept[seed % kept.size()];
}

TEST(GraphFuzzTest, RandomGraphsEndWithValuesOrErrors) {
  const std::vector<std::string> kept = KeptGraphs();
  ASSERT_FALSE(kept.empty());
  const GraphSeeds seeds(kGraphSeeds);
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    std::string graph = Beginning(kept, seed);
    for (uint64_t i = 0; i < 4; ++i) {
      graph = MutateGraph(graph, seed * 1000 + i * 10);
      KeepGraph(graph);
      FuzzGraphText(graph);
    }
  }
}

// Compares the results of random graphs with and without passes.
TEST(GraphFuzzTest, RandomGraphsGiveSameResultsRewritten) {
  const std::vector<std::string> kept = KeptGraphs();
  ASSERT_FALSE(kept.empty());
  const GraphSeeds seeds(kGraphSeeds);
  int equal_values = 0;
  int fused_steps = 0;
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    std::string graph = Beginning(kept, seed);
    // Joined graphs contain more nodes that passes can rewrite.
    if (seed % 2 == 0) graph = JoinGraphs(graph, kept[seed * 7 % kept.size()]);
    graph = MutateGraph(graph, seed * 1000 + 1);
    KeepGraph(graph);
    const PassComparison comparison = ComparePasses(graph);
    equal_values += comparison.equal_values;
    fused_steps += comparison.fused_steps;
    EXPECT_EQ(comparison.difference, "") << "seed " << seed << "\n" << graph;
  }
  RecordProperty("equal_values", equal_values);
  RecordProperty("fused_steps", fused_steps);
  EXPECT_GT(fused_steps, static_cast<int>(seeds.end - seeds.begin) / 20);
  // At least a quarter of the steps must return values, because most graphs are
  // mutations of graphs that do.
  EXPECT_GE(equal_values, static_cast<int>(seeds.end - seeds.begin) / 4);
}

// Nodes must behave the same if they are moved into functions and called there,
// also in branches and with passes.
TEST(GraphFuzzTest, RandomGraphsGiveSameResultsAsFunctions) {
  const std::vector<std::string> kept = KeptGraphs();
  ASSERT_FALSE(kept.empty());
  GraphSeeds seeds(kGraphSeeds);
  seeds.end = seeds.begin + (seeds.end - seeds.begin + 2) / 3;
  int equal_values = 0;
  int outlined_graphs = 0;
  for (uint64_t seed = seeds.begin; seed < seeds.end; ++seed) {
    std::string graph = kept[seed % kept.size()];
    if (seed % 2 == 0) graph = JoinGraphs(graph, kept[seed * 7 % kept.size()]);
    graph = MutateGraph(graph, seed * 1000 + 3);
    const std::string outlined = OutlineGraph(graph, seed);
    if (outlined.empty()) continue;
    ++outlined_graphs;
    KeepGraph(outlined);
    const PassComparison comparison = CompareGraphs(outlined, graph);
    equal_values += comparison.equal_values;
    EXPECT_EQ(comparison.difference, "") << "seed " << seed << "\n"
                                         << graph << "\nby way of\n"
                                         << outlined;
    FuzzGraphText(MutateGraph(outlined, seed));
  }
  RecordProperty("equal_values", equal_values);
  EXPECT_GE(outlined_graphs, static_cast<int>(seeds.end - seeds.begin) / 8);
  EXPECT_GE(equal_values, static_cast<int>(seeds.end - seeds.begin) / 8);
}

TEST(GraphMutatorTest, MutatedGraphIsTheSameForTheSameSeed) {
  const std::string graph = MutateGraph("", 7);
  EXPECT_EQ(MutateGraph("", 7), graph);
  EXPECT_EQ(MutateGraph(graph, 8), MutateGraph(graph, 8));
  EXPECT_NE(MutateGraph("", 9), graph);
}

TEST(GraphMutatorTest, JoinedGraphsKeepTheirNodesApart) {
  const std::string a = "node { name: \"x\" op: \"NoOp\" }";
  const std::string b =
      "node { name: \"x\" op: \"NoOp\" } "
      "node { name: \"y\" op: \"NoOp\" input: \"^x\" }";
  const std::string joined = JoinGraphs(a, b);
  EXPECT_NE(joined.find("\"b/x\""), std::string::npos);
  EXPECT_NE(joined.find("\"^b/x\""), std::string::npos);
}

constexpr char kConstants[] = R"pb(
  node {
    name: "handle"
    op: "Const"
    attr {
      key: "dtype"
      value { type: DT_STRING }
    }
    attr {
      key: "value"
      value {
        tensor {
          dtype: DT_STRING
          tensor_shape { dim { size: 2 } }
          string_val: "nothing"
        }
      }
    }
  }
  node {
    name: "yes"
    op: "Const"
    attr {
      key: "dtype"
      value { type: DT_BOOL }
    }
    attr {
      key: "value"
      value {
        tensor {
          dtype: DT_BOOL
          tensor_shape {}
          bool_val: true
        }
      }
    }
  }
)pb";

std::string FloatConst(absl::string_view name, int value) {
  return absl::StrCat("node { name: \"", name, "\" op: \"Const\" ",
                      "attr { key: \"dtype\" value { type: DT_FLOAT } } ",
                      "attr { key: \"value\" value { tensor { dtype: DT_FLOAT ",
                      "tensor_shape {} float_val: ", value, " } } } }\n");
}

// Moves some nodes into a function, chosen by several seeds. Checks that the
// results do not change. `found` must occur in some of the resulting graphs.
void ExpectSameByWayOfFunctions(const std::string& nodes,
                                absl::string_view found) {
  const std::string graph =
      absl::StrCat(kConstants, FloatConst("two", 2), nodes);
  bool is_found = false;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const std::string outlined = OutlineGraph(graph, seed);
    ASSERT_NE(outlined, "") << "seed " << seed;
    EXPECT_EQ(CompareGraphs(outlined, graph).difference, "")
        << "seed " << seed << "\n"
        << outlined;
    is_found |= absl::StrContains(outlined, found);
  }
  EXPECT_TRUE(is_found);
}

TEST(GraphOutlineTest, NodesWithoutOutputsRunIfRequested) {
  ExpectSameByWayOfFunctions(
      R"pb(
        node { name: "fails" op: "TensorArrayCloseV2" input: "handle" }
        node { name: "four" op: "Square" input: "two" }
        node { name: "wrong" op: "StringToNumber" input: "handle" }
        node { name: "done" op: "NoOp" input: "^four" }
      )pb",
      "control_ret");
}

TEST(GraphOutlineTest, RejectedGraphsStayRejected) {
  ExpectSameByWayOfFunctions(
      R"pb(
        node { name: "four" op: "Square" input: "two" }
        node {
          name: "sixteen"
          op: "Square"
          input: "four"
          device: "/job:nowhere"
        }
      )pb",
      "name: \"outlined\"");
}

TEST(GraphOutlineTest, ConstantsStayOutsideOfLoops) {
  ExpectSameByWayOfFunctions(
      absl::StrCat(
          R"pb(
            node {
              name: "enter"
              op: "Enter"
              input: "two"
              attr {
                key: "frame_name"
                value { s: "loop" }
              }
            }
          )pb",
          FloatConst("three", 3),
          R"pb(
            node { name: "five" op: "Add" input: "enter" input: "three" }
            node { name: "exit" op: "Exit" input: "five" }
            node { name: "nine" op: "Square" input: "three" }
          )pb"),
      "name: \"outlined\"");
}

TEST(GraphOutlineTest, BranchesMoveOnlyTheirOwnNodes) {
  ExpectSameByWayOfFunctions(
      R"pb(
        node { name: "switch" op: "Switch" input: "two" input: "yes" }
        node { name: "nobody" op: "Neg" input: "switch:0" }
        node { name: "minus_two" op: "Neg" input: "switch:1" }
        node { name: "four" op: "Square" input: "two" }
      )pb",
      "name: \"outlined\"");
}

}  // namespace
}  // namespace weft
