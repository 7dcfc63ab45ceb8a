// ScalarGraph computes scalar outputs of a graph within the test, in doubles.
// Tests of formulas then need no session, and no kernels.
//
//   ScalarGraph graph;
//   const Output rate = CosineDecay(graph.root(), 0.1, graph.Fed(5), 10);
//   EXPECT_NEAR(graph.ValueOf(rate), 0.05, kNear);
//
// A reduction of a scalar is the scalar itself. A reading of a variable has the
// value that the test gave to Set, whatever runs before.
//
// Threads: for tests on one thread.
#ifndef WEFT_LIBS_TRAIN_TESTING_SCALAR_GRAPH_H_
#define WEFT_LIBS_TRAIN_TESTING_SCALAR_GRAPH_H_

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/scope.h"
#include "libs/ops/state/variable.h"

namespace weft::train {

// Constants of a graph are floats.
inline constexpr double kNear = 1e-6;

class ScalarGraph {
 public:
  const Scope& root() const { return root_; }

  // Returns a placeholder with this value.
  Output Fed(double value, DataType dtype = DT_FLOAT) {
    const Output fed =
        ops::Placeholder(root_, dtype, {.shape = PartialShape::Scalar()});
    if (fed) values_[fed.node()] = value;
    return fed;
  }
  // Sets the value of a variable.
  void Set(const ops::Variable& variable, double value) {
    values_[variable.handle().node()] = value;
  }
  // Sets the value of a node with one output.
  void Set(const Output& output, double value) {
    values_[output.node()] = value;
  }

  // Returns NaN, and fails the test, for a node without a rule below.
  double ValueOf(const OutputTensor& output) const {
    if (output.node == nullptr) return Fail("a null output");
    const Node& node = *output.node;
    const auto known = values_.find(&node);
    if (known != values_.end()) return known->second;
    if (node.type() == "Const") return ConstantOf(node);
    const auto passed = PassedInputs().find(node.type());
    if (passed != PassedInputs().end()) {
      return ValueOf(node.input(passed->second));
    }
    const auto rule = Rules().find(node.type());
    if (rule == Rules().end()) return Fail(node.type() + " " + node.name());
    std::vector<double> inputs;
    for (const OutputTensor& input : node.inputs()) {
      inputs.push_back(ValueOf(input));
    }
    return rule->second(inputs);
  }
  double ValueOf(const Output& output) const {
    return ValueOf(output.output_tensor());
  }

 private:
  using Values = std::vector<double>;
  using Rule = std::function<double(const Values&)>;

  static double Fail(const std::string& what) {
    ADD_FAILURE() << "ScalarGraph cannot compute " << what;
    return std::numeric_limits<double>::quiet_NaN();
  }

  static double ConstantOf(const Node& node) {
    const auto* const value = node.attr<Tensor>("value");
    if (value == nullptr || value->num_elements() < 1) return Fail(node.name());
    switch (value->dtype()) {
      case DT_FLOAT:
        return value->flat<float>()[0];
      case DT_DOUBLE:
        return value->flat<double>()[0];
      case DT_INT32:
        return value->flat<int32_t>()[0];
      case DT_INT64:
        return static_cast<double>(value->flat<int64_t>()[0]);
      case DT_BOOL:
        return value->flat<bool>()[0] ? 1 : 0;
      default:
        return Fail(node.name());
    }
  }

  // The input that is the value of a node of this type.
  static const std::map<std::string, int>& PassedInputs() {
    static const auto* const inputs = new std::map<std::string, int>{
        {"Assign", 1},
        {"Cast", 0},
        {"Fill", 1},
        {"Identity", 0},
        {"Mean", 0},
        {"Pack", 0},
        {"PreventGradient", 0},
        {"ReadVariableOp", 0},
        {"StopGradient", 0},
        {"Sum", 0},
    };
    return *inputs;
  }

  static Rule Of(double (*function)(double)) {
    return [function](const Values& x) { return function(x.at(0)); };
  }

  static const std::map<std::string, Rule>& Rules() {
    using V = const Values&;
    static const auto* const rules = new std::map<std::string, Rule>{
        {"Abs", Of(std::abs)},
        {"Add", [](V x) { return x.at(0) + x.at(1); }},
        {"AddV2", [](V x) { return x.at(0) + x.at(1); }},
        {"AssignSub", [](V x) { return x.at(0) - x.at(1); }},
        {"Ceil", Of(std::ceil)},
        {"Cos", Of(std::cos)},
        {"DivNoNan", [](V x) { return x.at(1) == 0 ? 0 : x.at(0) / x.at(1); }},
        {"Equal", [](V x) { return x.at(0) == x.at(1) ? 1.0 : 0.0; }},
        {"Exp", Of(std::exp)},
        {"Floor", Of(std::floor)},
        {"Greater", [](V x) { return x.at(0) > x.at(1) ? 1.0 : 0.0; }},
        {"GreaterEqual", [](V x) { return x.at(0) >= x.at(1) ? 1.0 : 0.0; }},
        {"L2Loss", [](V x) { return x.at(0) * x.at(0) / 2; }},
        {"LessEqual", [](V x) { return x.at(0) <= x.at(1) ? 1.0 : 0.0; }},
        {"Log", Of(std::log)},
        {"Log1p", Of(std::log1p)},
        {"Maximum", [](V x) { return std::max(x.at(0), x.at(1)); }},
        {"Minimum", [](V x) { return std::min(x.at(0), x.at(1)); }},
        {"Mul", [](V x) { return x.at(0) * x.at(1); }},
        {"Neg", [](V x) { return -x.at(0); }},
        {"OnesLike", [](V) { return 1.0; }},
        {"Pow", [](V x) { return std::pow(x.at(0), x.at(1)); }},
        {"RealDiv", [](V x) { return x.at(0) / x.at(1); }},
        {"Relu", [](V x) { return std::max(x.at(0), 0.0); }},
        {"Rsqrt", [](V x) { return 1 / std::sqrt(x.at(0)); }},
        {"Select", [](V x) { return x.at(0) != 0 ? x.at(1) : x.at(2); }},
        {"SelectV2", [](V x) { return x.at(0) != 0 ? x.at(1) : x.at(2); }},
        {"Size", [](V) { return 1.0; }},
        {"Sqrt", Of(std::sqrt)},
        {"SquaredDifference",
         [](V x) { return (x.at(0) - x.at(1)) * (x.at(0) - x.at(1)); }},
        {"Sub", [](V x) { return x.at(0) - x.at(1); }},
        {"ZerosLike", [](V) { return 0.0; }},
    };
    return *rules;
  }

  const Scope root_ = Scope::Root();
  std::map<const Node*, double> values_;
};

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_TESTING_SCALAR_GRAPH_H_
