#include "integration_tests/testing/random_program.h"

#include <algorithm>
#include <utility>

#include "integration_tests/testing/choices.h"

namespace weft {
namespace {

constexpr int kMaxDepth = 3;
constexpr size_t kMaxStatements = 4;

class Maker {
 public:
  explicit Maker(uint64_t seed) : choices_(seed) {}

  Block Make(int num_args, int num_results, int depth) {
    Block block;
    block.num_args = num_args;
    int num_values = num_args;
    const size_t count = 1 + choices_.Below(kMaxStatements);
    for (size_t i = 0; i < count; ++i) {
      block.statements.push_back(MakeStatement(num_values, depth));
      num_values += NumResults(block.statements.back());
    }
    for (int i = 0; i < num_results; ++i) {
      // Sometimes an argument is returned unchanged.
      const bool is_new = num_args == 0 || choices_.Percent(80);
      block.results.push_back(is_new ? num_args + Below(num_values - num_args)
                                     : Below(num_args));
    }
    return block;
  }

 private:
  static int NumResults(const Statement& statement) {
    if (statement.kind == StatementKind::kLoop) return statement.num_vars;
    if (statement.blocks.empty()) return 1;
    return static_cast<int>(statement.blocks[0].results.size());
  }

  int Below(int count) {
    return static_cast<int>(choices_.Below(static_cast<size_t>(count)));
  }

  std::vector<int> Some(int num_values, int count) {
    std::vector<int> values;
    for (int i = 0; i < count; ++i) values.push_back(Below(num_values));
    return values;
  }

  StatementKind Kind(int num_values, int depth) {
    if (num_values == 0) return StatementKind::kConst;
    if (depth >= kMaxDepth) {
      return choices_.Percent(25) ? StatementKind::kConst : StatementKind::kMix;
    }
    return static_cast<StatementKind>(choices_.Below(6));
  }

  Statement MakeStatement(int num_values, int depth) {
    Statement made;
    made.kind = Kind(num_values, depth);
    made.number = static_cast<int64_t>(choices_.Below(100));
    made.by_function = choices_.Percent(50);
    made.elsewhere = choices_.Percent(20);
    made.parallel_iterations = 1 + Below(choices_.Percent(50) ? 1 : 12);
    const int extra = Below(3);
    switch (made.kind) {
      case StatementKind::kConst:
        break;
      case StatementKind::kMix:
        made.inputs = Some(num_values, 2);
        break;
      case StatementKind::kBranch:
        made.inputs = Some(num_values, 2 + extra);
        AddBranches(1 + extra, depth, made);
        break;
      case StatementKind::kLoop:
        made.num_vars = 1 + Below(3);
        made.number = 1 + Below(5);
        made.may_stop_early = choices_.Percent(30);
        made.inputs = Some(num_values, 1 + made.num_vars + extra);
        made.blocks.push_back(
            Make(1 + made.num_vars + extra, made.num_vars, depth + 1));
        break;
      case StatementKind::kRows:
        made.number = 1 + Below(5);
        made.inputs = Some(num_values, 1 + extra);
        made.blocks.push_back(Make(1 + extra, 1, depth + 1));
        break;
      case StatementKind::kCall:
        made.inputs = Some(num_values, 1 + extra);
        made.blocks.push_back(Make(1 + extra, 1 + Below(2), depth + 1));
        break;
    }
    return made;
  }

  void AddBranches(int num_args, int depth, Statement& made) {
    const int num_results = 1 + Below(2);
    const int count = 2 + Below(2);
    for (int i = 0; i < count; ++i) {
      made.blocks.push_back(Make(num_args, num_results, depth + 1));
    }
  }

  Choices choices_;
};

std::vector<int64_t> InputsOf(const Statement& statement,
                              const std::vector<int64_t>& values) {
  std::vector<int64_t> inputs;
  for (const int input : statement.inputs) inputs.push_back(values[input]);
  return inputs;
}

std::vector<int64_t> RunLoop(const Statement& loop,
                             const std::vector<int64_t>& inputs) {
  const int64_t limit = inputs[0] % loop.number;
  std::vector<int64_t> state(inputs.begin() + 1, inputs.end());
  for (int64_t i = 0; i < limit; ++i) {
    if (loop.may_stop_early && state[0] % 4 == 0) break;
    std::vector<int64_t> args = {i};
    args.insert(args.end(), state.begin(), state.end());
    const std::vector<int64_t> next = Evaluate(loop.blocks[0], args);
    std::copy(next.begin(), next.end(), state.begin());
  }
  state.resize(static_cast<size_t>(loop.num_vars));
  return state;
}

int64_t ReadRows(const Statement& rows, const std::vector<int64_t>& inputs) {
  const int64_t count = inputs[0] % rows.number + 1;
  int64_t sum = 0;
  for (int64_t i = count - 1; i >= 0; --i) {
    std::vector<int64_t> args = inputs;
    args[0] = i;
    sum = (sum * 3 + Evaluate(rows.blocks[0], args)[0]) % kModulus;
  }
  return sum;
}

std::vector<int64_t> Run(const Statement& statement,
                         const std::vector<int64_t>& inputs) {
  switch (statement.kind) {
    case StatementKind::kConst:
      return {statement.number};
    case StatementKind::kMix:
      return {(inputs[0] * inputs[1] + statement.number) % kModulus};
    case StatementKind::kBranch: {
      const size_t number = static_cast<size_t>(inputs[0] % 4);
      return Evaluate(
          statement.blocks[std::min(number, statement.blocks.size() - 1)],
          {inputs.begin() + 1, inputs.end()});
    }
    case StatementKind::kLoop:
      return RunLoop(statement, inputs);
    case StatementKind::kRows:
      return {ReadRows(statement, inputs)};
    case StatementKind::kCall:
      return Evaluate(statement.blocks[0], inputs);
  }
  return {};
}

}  // namespace

Block MakeRandomProgram(uint64_t seed) {
  return Maker(seed).Make(/*num_args=*/3, /*num_results=*/3, /*depth=*/0);
}

std::vector<int64_t> Evaluate(const Block& block, std::vector<int64_t> values) {
  for (const Statement& statement : block.statements) {
    const std::vector<int64_t> results =
        Run(statement, InputsOf(statement, values));
    values.insert(values.end(), results.begin(), results.end());
  }
  std::vector<int64_t> results;
  for (const int result : block.results) results.push_back(values[result]);
  return results;
}

}  // namespace weft
