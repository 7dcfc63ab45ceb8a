#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "integration_tests/testing/random_program.h"
#include "libs/graph/import/function_proto.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/control/cond.h"
#include "libs/ops/control/while_loop.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/resource/tensor_array_ops.h"

namespace weft {
namespace {

using Outputs = std::vector<Output>;

Output Number(const Scope& scope, int64_t number) {
  return ops::Const(scope, Tensor::Scalar(number));
}

Output Modulo(const Scope& scope, const Output& x, int64_t number) {
  return ops::FloorMod(scope, x, Number(scope, number));
}

Outputs From(const Outputs& outputs, size_t first) {
  return {outputs.begin() + static_cast<std::ptrdiff_t>(first), outputs.end()};
}

class Emitter {
 public:
  // All functions are added to the function library of `library`, wherever they
  // are called.
  explicit Emitter(Graph& library) : library_(library) {}

  Outputs Emit(const Scope& scope, const Block& block, Outputs values) {
    for (const Statement& statement : block.statements) {
      if (!scope.ok()) return {};
      Outputs inputs;
      for (const int input : statement.inputs) inputs.push_back(values[input]);
      const Outputs results =
          Add(statement.elsewhere ? scope.WithDevice("/cpu:1") : scope,
              statement, inputs);
      values.insert(values.end(), results.begin(), results.end());
    }
    if (!scope.ok()) return {};
    Outputs results;
    for (const int result : block.results) results.push_back(values[result]);
    return results;
  }

 private:
  Outputs Add(const Scope& scope, const Statement& statement,
              const Outputs& inputs) {
    switch (statement.kind) {
      case StatementKind::kConst:
        return {Number(scope, statement.number)};
      case StatementKind::kMix: {
        const Output product = ops::Mul(scope, inputs[0], inputs[1]);
        const Output sum =
            ops::Add(scope, product, Number(scope, statement.number));
        return {Modulo(scope, sum, kModulus)};
      }
      case StatementKind::kBranch:
        return AddBranch(scope, statement, inputs);
      case StatementKind::kLoop:
        return AddLoop(scope, statement, inputs);
      case StatementKind::kRows:
        return AddRows(scope, statement, inputs);
      case StatementKind::kCall:
        return AddCall(scope, statement, inputs);
    }
    return {};
  }

  // Adds a function with int64 scalars as arguments and results. `emit` adds
  // its nodes.
  template <typename EmitBody>
  NameAttrList Function(const Scope& scope, int num_args,
                        const EmitBody& emit) {
    const Scope body = Scope::Root();
    FunctionEnds ends;
    Outputs args;
    for (int i = 0; i < num_args; ++i) {
      args.push_back(
          ops::Placeholder(body, DT_INT64, {.shape = PartialShape::Scalar()}));
      ends.args.push_back(args.back().output_tensor());
    }
    for (const Output& result : emit(body, args)) {
      if (!result) continue;
      ends.results.push_back(result.output_tensor());
    }
    scope.UpdateStatus(body.status());
    const std::string name = absl::StrCat("random_", ++num_functions_);
    if (!scope.ok()) return {name, nullptr};
    const auto function = FunctionFromGraph(name, body.graph(), ends);
    scope.UpdateStatus(function.status());
    if (function.ok()) scope.UpdateStatus(library_.AddFunctions({*function}));
    return {name, nullptr};
  }

  NameAttrList Function(const Scope& scope, const Block& block) {
    return Function(scope, block.num_args,
                    [&](const Scope& body, const Outputs& args) {
                      return Emit(body, block, args);
                    });
  }

  // Reshapes a value to a scalar. Loops require static shapes, which shape
  // inference does not know here.
  static Output AsScalar(const Scope& scope, const Output& value) {
    return ops::Reshape(scope, value, Tensor(DT_INT32, {0}));
  }

  static Outputs OutputsOf(const Scope& scope, const Node* node, size_t count) {
    Outputs outputs;
    for (size_t i = 0; node != nullptr && i < count; ++i) {
      outputs.push_back(AsScalar(scope, Output(node, static_cast<int>(i))));
    }
    return outputs;
  }

  static Outputs Call(const Scope& scope, absl::string_view op,
                      const Outputs& first, const Outputs& args,
                      size_t num_results, AttrMap attrs) {
    attrs["Tin"] = DataTypeVector(args.size(), DT_INT64);
    attrs["Tout"] = DataTypeVector(num_results, DT_INT64);
    std::vector<Input> inputs;
    for (const Output& output : first) inputs.emplace_back(output);
    for (const Output& output : args) inputs.emplace_back(output);
    return OutputsOf(scope,
                     scope.AddNode(op, InputList(inputs), std::move(attrs)),
                     num_results);
  }

  Outputs AddCall(const Scope& scope, const Statement& call,
                  const Outputs& inputs) {
    const Block& block = call.blocks[0];
    if (!call.by_function) return Emit(scope, block, inputs);
    return Call(scope, "StatefulPartitionedCall", {}, inputs,
                block.results.size(), {{"f", Function(scope, block)}});
  }

  Outputs AddBranch(const Scope& scope, const Statement& branch,
                    const Outputs& inputs) {
    const Output number = Modulo(scope, inputs[0], 4);
    const Outputs args = From(inputs, 1);
    if (branch.by_function) return CallBranch(scope, branch, number, args);
    std::vector<std::pair<Input, ops::BranchFunction>> pairs;
    for (size_t i = 0; i + 1 < branch.blocks.size(); ++i) {
      pairs.emplace_back(
          ops::Equal(scope, number, Number(scope, static_cast<int64_t>(i))),
          [&, i](const Scope& s) { return Emit(s, branch.blocks[i], args); });
    }
    const auto last = [&](const Scope& s) {
      return Emit(s, branch.blocks.back(), args);
    };
    if (pairs.size() > 1) return ops::Case(scope, pairs, last);
    return ops::Cond(scope, pairs[0].first, pairs[0].second, last);
  }

  Outputs CallBranch(const Scope& scope, const Statement& branch,
                     const Output& number, const Outputs& args) {
    std::vector<NameAttrList> functions;
    for (const Block& block : branch.blocks) {
      functions.push_back(Function(scope, block));
    }
    const size_t num_results = branch.blocks[0].results.size();
    if (functions.size() > 2) {
      return Call(scope, "Case", {ops::Cast(scope, number, DT_INT32)}, args,
                  num_results, {{"branches", functions}});
    }
    return Call(scope, "If", {ops::Equal(scope, number, Number(scope, 0))},
                args, num_results,
                {{"then_branch", functions[0]}, {"else_branch", functions[1]}});
  }

  static Output GoesOn(const Scope& scope, const Statement& loop,
                       const Output& i, const Output& limit,
                       const Output& first_var) {
    const Output below = ops::Less(scope, i, limit);
    if (!loop.may_stop_early) return below;
    return ops::LogicalAnd(
        scope, below,
        ops::NotEqual(scope, Modulo(scope, first_var, 4), Number(scope, 0)));
  }

  Output Next(const Scope& scope, const Output& i) {
    return ops::Add(scope, i, Number(scope, 1));
  }

  Outputs AddLoop(const Scope& scope, const Statement& loop,
                  const Outputs& inputs) {
    const Output limit = Modulo(scope, inputs[0], loop.number);
    const auto num_vars = static_cast<size_t>(loop.num_vars);
    if (loop.by_function) return CallLoop(scope, loop, limit, inputs);
    const Outputs invariants = From(inputs, 1 + num_vars);
    std::vector<Input> begin = {Number(scope, 0)};
    begin.insert(begin.end(), inputs.begin() + 1,
                 inputs.begin() + 1 + loop.num_vars);
    const Outputs last = ops::WhileLoop(
        scope, InputList(begin),
        [&](const Scope& s, const Outputs& v) {
          return GoesOn(s, loop, v[0], limit, v[1]);
        },
        [&](const Scope& s, const Outputs& v) {
          Outputs args = v;
          args.insert(args.end(), invariants.begin(), invariants.end());
          Outputs next = Emit(s, loop.blocks[0], args);
          next.insert(next.begin(), Next(s, v[0]));
          return next;
        },
        {.parallel_iterations = loop.parallel_iterations});
    return scope.ok() ? From(last, 1) : Outputs();
  }

  // Adds a functional loop. The arguments of its functions are the iteration
  // number, the limit, the loop variables and the invariants.
  Outputs CallLoop(const Scope& scope, const Statement& loop,
                   const Output& limit, const Outputs& inputs) {
    const int num_args = static_cast<int>(inputs.size()) + 1;
    const NameAttrList goes_on =
        Function(scope, num_args, [&](const Scope& body, const Outputs& args) {
          return Outputs{GoesOn(body, loop, args[0], args[1], args[2])};
        });
    const NameAttrList body_function =
        Function(scope, num_args, [&](const Scope& body, const Outputs& args) {
          Outputs block_args = From(args, 1);
          block_args[0] = args[0];
          const Outputs vars = Emit(body, loop.blocks[0], block_args);
          Outputs next = args;
          next[0] = Next(body, args[0]);
          std::copy(vars.begin(), vars.end(), next.begin() + 2);
          return next;
        });
    std::vector<Input> begin = {Number(scope, 0), limit};
    begin.insert(begin.end(), inputs.begin() + 1, inputs.end());
    const size_t count = begin.size();
    const Node* node =
        scope.AddNode("While", InputList(begin),
                      {{"T", DataTypeVector(count, DT_INT64)},
                       {"cond", goes_on},
                       {"body", body_function},
                       {"parallel_iterations", loop.parallel_iterations}});
    Outputs last = OutputsOf(scope, node, count);
    if (last.empty()) return {};
    return {last.begin() + 2, last.begin() + 2 + loop.num_vars};
  }

  Outputs AddRows(const Scope& scope, const Statement& rows,
                  const Outputs& inputs) {
    const Output count = Next(scope, Modulo(scope, inputs[0], rows.number));
    const Outputs others = From(inputs, 1);
    const ops::TensorArrayOutputs array =
        ops::TensorArray(scope, ops::Cast(scope, count, DT_INT32), DT_INT64);
    const auto goes_on = [&](const Scope& s, const Outputs& v) {
      return ops::Less(s, v[0], count);
    };
    const ops::WhileLoopOptions options = {.parallel_iterations =
                                               rows.parallel_iterations};
    const Outputs written = ops::WhileLoop(
        scope, {Number(scope, 0), array.flow}, goes_on,
        [&](const Scope& s, const Outputs& v) {
          Outputs args = others;
          args.insert(args.begin(), v[0]);
          const Outputs row = Emit(s, rows.blocks[0], args);
          if (row.empty()) return Outputs();
          return Outputs{
              Next(s, v[0]),
              ops::TensorArrayWrite(
                  s, array.handle, ops::Cast(s, v[0], DT_INT32), row[0], v[1])};
        },
        options);
    if (!scope.ok()) return {};
    const Outputs read = ops::WhileLoop(
        scope, {Number(scope, 0), Number(scope, 0)}, goes_on,
        [&](const Scope& s, const Outputs& v) {
          const Output index =
              ops::Sub(s, ops::Sub(s, count, v[0]), Number(s, 1));
          const Output row =
              AsScalar(s, ops::TensorArrayRead(s, array.handle,
                                               ops::Cast(s, index, DT_INT32),
                                               written[1], DT_INT64));
          const Output sum = ops::Add(s, ops::Mul(s, v[1], Number(s, 3)), row);
          return Outputs{Next(s, v[0]), Modulo(s, sum, kModulus)};
        },
        options);
    return scope.ok() ? Outputs{read[1]} : Outputs();
  }

  Graph& library_;
  int num_functions_ = 0;
};

}  // namespace

std::vector<Output> AddProgram(const Scope& scope, const Block& block,
                               const std::vector<Output>& args) {
  return Emitter(scope.graph()).Emit(scope, block, args);
}

}  // namespace weft
