#include <utility>

#include "libs/ops/parsing/parsing_ops.h"

namespace weft::ops {
namespace {

// Takes the outputs of a node list by list; all are null where it is.
class OutputReader {
 public:
  explicit OutputReader(const Node* node) : node_(node) {}
  OutputList Take(size_t count) {
    OutputList outputs(count);
    for (Output& output : outputs) {
      if (node_ != nullptr) output = Output(node_, next_++);
    }
    return outputs;
  }

 private:
  const Node* const node_;
  int next_ = 0;
};

void Append(InputList& inputs, const InputList& more) {
  inputs.insert(inputs.end(), more.begin(), more.end());
}

// `inputs` followed by the outputs that `values` are, and their types.
DataTypeVector AppendTyped(const Scope& scope, InputList& inputs,
                           const InputList& values) {
  DataTypeVector types;
  for (const Input& value : values) {
    // A name that the scope has is the node's own.
    const Output output = scope.WithName("").ToOutput(value);
    inputs.emplace_back(output);
    if (output) types.push_back(output.dtype());
  }
  return types;
}

int64_t Count(size_t size) { return static_cast<int64_t>(size); }

ParseExampleOutputs ReadOutputs(const Node* node, size_t sparse, size_t dense) {
  OutputReader reader(node);
  ParseExampleOutputs outputs;
  outputs.sparse_indices = reader.Take(sparse);
  outputs.sparse_values = reader.Take(sparse);
  outputs.sparse_shapes = reader.Take(sparse);
  outputs.dense_values = reader.Take(dense);
  return outputs;
}

}  // namespace

OutputList DecodeCSV(const Scope& scope, const Input& records,
                     const InputList& record_defaults,
                     const DecodeCsvAttrs& attrs) {
  InputList inputs = {records};
  DataTypeVector types = AppendTyped(scope, inputs, record_defaults);
  return OutputReader(scope.AddNode("DecodeCSV", inputs,
                                    {{"OUT_TYPE", std::move(types)},
                                     {"field_delim", attrs.field_delim},
                                     {"use_quote_delim", attrs.use_quote_delim},
                                     {"na_value", attrs.na_value},
                                     {"select_cols", attrs.select_cols}}))
      .Take(record_defaults.size());
}

ParseExampleOutputs ParseExample(
    const Scope& scope, const Input& serialized, const Input& names,
    const InputList& sparse_keys, const InputList& dense_keys,
    const InputList& dense_defaults, const DataTypeVector& sparse_types,
    const std::vector<PartialShape>& dense_shapes) {
  InputList inputs = {serialized, names};
  Append(inputs, sparse_keys);
  Append(inputs, dense_keys);
  DataTypeVector types = AppendTyped(scope, inputs, dense_defaults);
  const Node* node = scope.AddNode("ParseExample", inputs,
                                   {{"Nsparse", Count(sparse_keys.size())},
                                    {"Ndense", Count(dense_keys.size())},
                                    {"sparse_types", sparse_types},
                                    {"Tdense", std::move(types)},
                                    {"dense_shapes", dense_shapes}});
  return ReadOutputs(node, sparse_keys.size(), dense_defaults.size());
}

ParseExampleOutputs ParseSingleExample(const Scope& scope,
                                       const Input& serialized,
                                       const InputList& dense_defaults,
                                       const ParseSingleExampleAttrs& attrs) {
  InputList inputs = {serialized};
  DataTypeVector types = AppendTyped(scope, inputs, dense_defaults);
  const Node* node =
      scope.AddNode("ParseSingleExample", inputs,
                    {{"num_sparse", Count(attrs.sparse_types.size())},
                     {"sparse_keys", attrs.sparse_keys},
                     {"dense_keys", attrs.dense_keys},
                     {"sparse_types", attrs.sparse_types},
                     {"Tdense", std::move(types)},
                     {"dense_shapes", attrs.dense_shapes}});
  return ReadOutputs(node, attrs.sparse_types.size(), dense_defaults.size());
}

ParseExampleV2Outputs ParseExampleV2(
    const Scope& scope, const Input& serialized, const Input& names,
    const Input& sparse_keys, const Input& dense_keys, const Input& ragged_keys,
    const InputList& dense_defaults, const ParseExampleV2Attrs& attrs) {
  InputList inputs = {serialized, names, sparse_keys, dense_keys, ragged_keys};
  DataTypeVector types = AppendTyped(scope, inputs, dense_defaults);
  OutputReader reader(
      scope.AddNode("ParseExampleV2", inputs,
                    {{"Tdense", std::move(types)},
                     {"num_sparse", Count(attrs.sparse_types.size())},
                     {"sparse_types", attrs.sparse_types},
                     {"ragged_value_types", attrs.ragged_value_types},
                     {"ragged_split_types", attrs.ragged_split_types},
                     {"dense_shapes", attrs.dense_shapes}}));
  ParseExampleV2Outputs outputs;
  outputs.sparse_indices = reader.Take(attrs.sparse_types.size());
  outputs.sparse_values = reader.Take(attrs.sparse_types.size());
  outputs.sparse_shapes = reader.Take(attrs.sparse_types.size());
  outputs.dense_values = reader.Take(dense_defaults.size());
  outputs.ragged_values = reader.Take(attrs.ragged_value_types.size());
  outputs.ragged_row_splits = reader.Take(attrs.ragged_split_types.size());
  return outputs;
}

}  // namespace weft::ops
