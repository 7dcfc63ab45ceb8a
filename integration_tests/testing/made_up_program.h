// MadeUpProgram: a program of loops, branches, functions and arrays inside one
// another, made up by a seed: what it computes, told by plain C++, and as a
// graph that must compute the same.
//
// All values are int64 scalars in [0, kModulus), so that results are exact.
//
// Threads: one at a time; the same for the same seed.
#ifndef WEFT_INTEGRATION_TESTS_TESTING_MADE_UP_PROGRAM_H_
#define WEFT_INTEGRATION_TESTS_TESTING_MADE_UP_PROGRAM_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libs/ops/scope.h"

namespace weft {

inline constexpr int64_t kModulus = 10007;

struct Statement;

// Values are numbered: arguments first, then what each statement gives.
struct Block {
  int num_args = 0;
  std::vector<Statement> statements;
  std::vector<int> results;
};

enum class StatementKind {
  kConst,   // number
  kMix,     // inputs[0] * inputs[1] + number
  kBranch,  // block number inputs[0] % 4, or the last, of the other inputs
  kLoop,    // see LoopRuns; gives the variables
  kRows,    // an array of block(i, the other inputs), read from its end
  kCall,    // the block of all inputs
};

struct Statement {
  StatementKind kind = StatementKind::kConst;
  std::vector<int> inputs;
  int64_t number = 0;
  std::vector<Block> blocks;
  // Of a loop: how many inputs after the first are variables; the others are
  // the same in all iterations. Its block takes the number of the iteration
  // before them.
  int num_vars = 0;
  bool may_stop_early = false;
  int parallel_iterations = 1;
  // How the graph has it, which changes no value.
  bool by_function = false;
  bool elsewhere = false;  // on the second CPU device
};

Block MakeUpProgram(uint64_t seed);

std::vector<int64_t> Evaluate(const Block& block, std::vector<int64_t> values);

// Adds the program's nodes, and its functions to the graph's library.
// "/cpu:1" is to be there. Errors stick to the scope.
std::vector<Output> AddProgram(const Scope& scope, const Block& block,
                               const std::vector<Output>& args);

// The GraphDef with one to three of the edges and attributes that hold its
// loops together changed; a graph that is wrong in some way, most times.
std::string BreakLoops(const std::string& graph, uint64_t seed);

}  // namespace weft

#endif  // WEFT_INTEGRATION_TESTS_TESTING_MADE_UP_PROGRAM_H_
