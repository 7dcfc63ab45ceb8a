// Graphs from anywhere end with values or errors: replays the corpora of the
// fuzzers of graphs, and runs graphs that are made up by seeds.
//
// WEFT_GRAPH_SEEDS and WEFT_GRAPH_FIRST_SEED in the environment say which
// seeds; tools/nightly.sh runs more of them.
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "integration_tests/testing/graph_fuzz_targets.h"
#include "integration_tests/testing/graph_mutator.h"
#include "libs/base/testing/fuzz_corpus.h"

namespace weft {
namespace {

constexpr char kCorpus[] = "integration_tests/testdata/fuzz/";

// Bits that are turned in a graph's bytes are the fuzzer's.
constexpr size_t kNotDamaged = 0;

TEST(GraphFuzzTest, GraphDefs) {
  EXPECT_GE(ReplayFuzzCorpus(std::string(kCorpus) + "graph_def", FuzzGraphDef,
                             kNotDamaged),
            10);
}

TEST(GraphFuzzTest, GraphTexts) {
  EXPECT_GE(ReplayFuzzCorpus(std::string(kCorpus) + "graph_text", FuzzGraphText,
                             kNotDamaged),
            10);
}

uint64_t NumberFromEnvironment(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  uint64_t number = 0;
  return text != nullptr && absl::SimpleAtoi(text, &number) ? number
                                                            : otherwise;
}

// Graphs that ran once, in the order of their names.
std::vector<std::string> KeptGraphs() {
  std::vector<std::string> graphs;
  ReplayFuzzCorpus(
      std::string(kCorpus) + "graph_text",
      [&](absl::string_view text) { graphs.emplace_back(text); }, kNotDamaged);
  return graphs;
}

// The graph that runs is kept, for when it does not end.
void Keep(const std::string& graph) {
  const char* directory = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  const std::string path =
      absl::StrCat(directory == nullptr ? "." : directory, "/last_graph.txt");
  std::ofstream(path) << graph;
}

TEST(GraphFuzzTest, MadeUpGraphs) {
  const uint64_t first = NumberFromEnvironment("WEFT_GRAPH_FIRST_SEED", 1);
  const uint64_t count = NumberFromEnvironment("WEFT_GRAPH_SEEDS", 300);
  const std::vector<std::string> kept = KeptGraphs();
  ASSERT_FALSE(kept.empty());
  for (uint64_t seed = first; seed < first + count; ++seed) {
    // From nothing, or from one that is known to run.
    std::string graph;
    if (seed % 4 != 0) graph = kept[seed % kept.size()];
    for (uint64_t i = 0; i < 4; ++i) {
      graph = MutateGraph(graph, seed * 1000 + i * 10);
      Keep(graph);
      FuzzGraphText(graph);
    }
  }
}

TEST(GraphMutatorTest, IsTheSameForTheSameSeed) {
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

}  // namespace
}  // namespace weft
