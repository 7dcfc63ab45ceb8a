// Random programs with nested loops, branches, functions and arrays, generated
// from a seed. Their results are computed in plain C++, and a graph must
// compute the same results.
//
// All values are int64 scalars in [0, kModulus), so that results are exact.
//
// Threads: not thread-safe. Results depend only on the seed.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_RANDOM_PROGRAM_H_
#define WEFT_INTEGRATION_TESTS_TESTING_RANDOM_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libs/ops/scope.h"

namespace weft {

inline constexpr int64_t kModulus = 10007;

struct Statement;

// A sequence of statements with arguments and results. Values are numbered: the
// arguments come first, then the result of each statement.
struct Block {
  int num_args = 0;
  std::vector<Statement> statements;
  std::vector<int> results;
};

enum class StatementKind {
  kConst,  // the constant `number`
  kMix,    // inputs[0] * inputs[1] + number
  // block inputs[0] % 4 (the last if there are fewer), with the other inputs
  kBranch,
  kLoop,  // see LoopRuns; its results are the loop variables
  kRows,  // an array of block(i, the other inputs), read from its end
  kCall,  // the block with all inputs
};

struct Statement {
  StatementKind kind = StatementKind::kConst;
  std::vector<int> inputs;
  int64_t number = 0;
  std::vector<Block> blocks;
  // For a loop, the number of inputs after the first that are loop variables.
  // The others are loop invariants. The arguments of the block are the
  // iteration number and then these values.
  int num_vars = 0;
  bool may_stop_early = false;
  int parallel_iterations = 1;
  // Representation in the graph, which does not affect values.
  bool by_function = false;
  bool elsewhere = false;  // runs on the second CPU device
};

Block MakeRandomProgram(uint64_t seed);

std::vector<int64_t> Evaluate(const Block& block, std::vector<int64_t> values);

// Adds the nodes of the program to the scope, and its functions to the library
// of the graph. Requires a device "/cpu:1". Errors are recorded in the scope.
std::vector<Output> AddProgram(const Scope& scope, const Block& block,
                               const std::vector<Output>& args);

// Returns `graph` with one to three changed inputs or attributes of its loops.
// The result is usually an invalid graph.
std::string BreakLoops(const std::string& graph, uint64_t seed);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_RANDOM_PROGRAM_H_
