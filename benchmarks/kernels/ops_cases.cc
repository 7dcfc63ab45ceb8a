#include "benchmarks/kernels/ops_cases.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <random>
#include <utility>

#include "benchmarks/ops_cases_table.h"
#include "libs/ops/standard_ops.h"

namespace weft::benchmarks {
namespace {

using Json = nlohmann::json;

[[noreturn]] void Fail(const std::string& text) {
  std::fprintf(stderr, "ops_cases.json: %s\n", text.c_str());
  std::exit(1);
}

DataType TypeNamed(const std::string& name) {
  if (name == "float") return DT_FLOAT;
  if (name == "half") return DT_HALF;
  if (name == "bfloat16") return DT_BFLOAT16;
  if (name == "int32") return DT_INT32;
  if (name == "int64") return DT_INT64;
  Fail("no inputs of type " + name);
}

// Returns a tensor filled with the values that `next` returns, as doubles, one
// after the other.
template <typename Next>
Tensor Filled(DataType dtype, const TensorShape& shape, const Next& next) {
  Tensor tensor(dtype, shape);
  const auto fill = [&](auto elements) {
    for (auto& element : elements) {
      element = static_cast<std::decay_t<decltype(element)>>(next());
    }
  };
  if (dtype == DT_FLOAT) fill(tensor.mutable_flat<float>());
  if (dtype == DT_HALF) fill(tensor.mutable_flat<half>());
  if (dtype == DT_BFLOAT16) fill(tensor.mutable_flat<bfloat16>());
  if (dtype == DT_INT32) fill(tensor.mutable_flat<int32_t>());
  if (dtype == DT_INT64) fill(tensor.mutable_flat<int64_t>());
  return tensor;
}

OpCase::Argument MakeArgument(const Json& input, std::mt19937& random) {
  const DataType dtype = TypeNamed(input.at("dtype"));
  if (input.contains("value")) {
    return {Filled(dtype, {}, [&] { return input["value"].get<double>(); })};
  }
  if (input.contains("values")) {
    const auto values = input["values"].get<std::vector<double>>();
    size_t i = 0;
    return {Filled(dtype, {static_cast<int64_t>(values.size())},
                   [&] { return values[i++]; })};
  }
  const auto dims = input.at("shape").get<std::vector<int64_t>>();
  const TensorShape shape(dims);
  if (input.value("variable", false)) {
    return {Filled(dtype, shape, [] { return 1.0; }), true};
  }
  if (input.contains("below")) {
    const uint32_t below = input["below"];
    return {Filled(dtype, shape, [&] { return random() % below; })};
  }
  std::uniform_real_distribution<float> uniform(-1, 1);
  return {Filled(dtype, shape, [&] { return uniform(random); })};
}

AttrValue ReadAttr(const std::string& name, const Json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) return value.get<int64_t>();
  if (value.is_number()) return value.get<float>();
  if (value.is_string()) return value.get<std::string>();
  if (value.is_array()) return value.get<std::vector<int64_t>>();
  if (value.is_object()) return TypeNamed(value.at("type"));
  Fail("no attr " + name);
}

OpCase ReadCase(const Json& line) {
  OpCase result;
  result.name = line.at("name");
  result.op = line.at("op");
  result.repeat = line.at("repeat");
  const Json& inputs = line.at("inputs");
  result.inputs = inputs.dump();
  const OpDef* op = StandardOps()->Find(result.op);
  if (op == nullptr || op->inputs.size() != inputs.size()) {
    Fail("no op " + result.op + " with this number of inputs");
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_array()) continue;
    result.attrs[op->inputs[i].number_attr] =
        static_cast<int64_t>(inputs[i].size());
  }
  if (line.contains("attrs")) {
    for (const auto& [name, value] : line["attrs"].items()) {
      result.attrs[name] = ReadAttr(name, value);
    }
  }
  return result;
}

}  // namespace

std::vector<OpCase::Argument> OpCase::MakeInputs() const {
  std::mt19937 random(7);
  std::vector<Argument> arguments;
  for (const Json& input : Json::parse(inputs)) {
    if (!input.is_array()) {
      arguments.push_back(MakeArgument(input, random));
      continue;
    }
    for (const Json& one : input) {
      arguments.push_back(MakeArgument(one, random));
    }
  }
  return arguments;
}

std::vector<OpCase> ReadOpCases() {
  const Json table = Json::parse(kOpsCasesTable, nullptr, false);
  if (!table.is_array()) Fail("is not a list");
  std::vector<OpCase> cases;
  for (const Json& line : table) cases.push_back(ReadCase(line));
  return cases;
}

}  // namespace weft::benchmarks
