// GraphSeeds selects the seeds of a test of random graphs. KeepGraph writes the
// current graph to a file, in case the test does not end.
//
// WEFT_GRAPH_SEEDS and WEFT_GRAPH_FIRST_SEED in the environment select the
// seeds. tools/nightly.sh runs more seeds.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_GRAPH_SEEDS_H_
#define WEFT_INTEGRATION_TESTS_TESTING_GRAPH_SEEDS_H_

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/testing/seeds.h"

namespace weft {

struct GraphSeeds {
  // `otherwise` is the default number of seeds.
  explicit GraphSeeds(uint64_t otherwise)
      : begin(SeedsFromEnvironment("WEFT_GRAPH_FIRST_SEED", 1)),
        end(begin + SeedsFromEnvironment("WEFT_GRAPH_SEEDS", otherwise)) {}

  uint64_t begin;
  uint64_t end;
};

// Writes the text of the graph that runs next to the outputs of the test.
inline void KeepGraph(const std::string& text) {
  const char* directory = std::getenv("TEST_UNDECLARED_OUTPUTS_DIR");
  const std::string path =
      absl::StrCat(directory == nullptr ? "." : directory, "/last_graph.txt");
  std::ofstream(path) << text;
}

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_GRAPH_SEEDS_H_
