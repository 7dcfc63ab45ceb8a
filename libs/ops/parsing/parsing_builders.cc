#include <algorithm>
#include <utility>

#include "libs/ops/parsing/parsing_ops.h"

namespace weft::ops {
namespace {

// Reads the outputs of a node list by list; all are null if the node is.
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

// Appends `values` to `inputs` as outputs, and returns their types.
DataTypeVector AppendTyped(const Scope& scope, InputList& inputs,
                           const InputList& values) {
  DataTypeVector types;
  for (const Input& value : values) {
    // The scope's name is reserved for the node.
    const Output output = scope.WithName("").ToOutput(value);
    inputs.emplace_back(output);
    if (output) types.push_back(output.dtype());
  }
  return types;
}

int64_t Count(size_t size) { return static_cast<int64_t>(size); }

// A bool for each key.
Tensor AreAmong(const std::vector<std::string>& keys,
                const std::vector<std::string>& some) {
  Tensor are(DT_BOOL, {Count(keys.size())});
  bool* out = are.mutable_flat<bool>().data();
  for (const std::string& key : keys) {
    *out++ = std::find(some.begin(), some.end(), key) != some.end();
  }
  return are;
}

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

ParseSequenceExampleOutputs ParseSequenceExampleV2(
    const Scope& scope, const Input& serialized, const Input& debug_name,
    const SequenceFeatures& context, const InputList& context_dense_defaults,
    const SequenceFeatures& feature_lists,
    const std::vector<std::string>& missing_assumed_empty) {
  InputList inputs = {serialized, debug_name};
  for (const SequenceFeatures* part : {&context, &feature_lists}) {
    for (const auto* keys :
         {&part->sparse_keys, &part->dense_keys, &part->ragged_keys}) {
      inputs.emplace_back(Tensor::Vector<std::string>(*keys));
    }
  }
  inputs.emplace_back(
      AreAmong(feature_lists.dense_keys, missing_assumed_empty));
  DataTypeVector types = AppendTyped(scope, inputs, context_dense_defaults);
  const size_t context_ragged = context.ragged_value_types.size();
  const size_t sparse = feature_lists.sparse_types.size();
  const size_t dense = feature_lists.dense_types.size();
  const size_t ragged = feature_lists.ragged_value_types.size();
  OutputReader reader(scope.AddNode(
      "ParseSequenceExampleV2", inputs,
      {{"Ncontext_sparse", Count(context.sparse_types.size())},
       {"Tcontext_dense", std::move(types)},
       {"context_sparse_types", context.sparse_types},
       {"context_ragged_value_types", context.ragged_value_types},
       {"context_ragged_split_types", context.ragged_split_types},
       {"context_dense_shapes", context.dense_shapes},
       {"Nfeature_list_sparse", Count(sparse)},
       {"Nfeature_list_dense", Count(dense)},
       {"feature_list_dense_types", feature_lists.dense_types},
       {"feature_list_sparse_types", feature_lists.sparse_types},
       {"feature_list_ragged_value_types", feature_lists.ragged_value_types},
       {"feature_list_ragged_split_types", feature_lists.ragged_split_types},
       {"feature_list_dense_shapes", feature_lists.dense_shapes}}));
  ParseSequenceExampleOutputs outputs;
  outputs.context_sparse_indices = reader.Take(context.sparse_types.size());
  outputs.context_sparse_values = reader.Take(context.sparse_types.size());
  outputs.context_sparse_shapes = reader.Take(context.sparse_types.size());
  outputs.context_dense_values = reader.Take(context_dense_defaults.size());
  outputs.context_ragged_values = reader.Take(context_ragged);
  outputs.context_ragged_row_splits = reader.Take(context_ragged);
  outputs.feature_list_sparse_indices = reader.Take(sparse);
  outputs.feature_list_sparse_values = reader.Take(sparse);
  outputs.feature_list_sparse_shapes = reader.Take(sparse);
  outputs.feature_list_dense_values = reader.Take(dense);
  outputs.feature_list_dense_lengths = reader.Take(dense);
  outputs.feature_list_ragged_values = reader.Take(ragged);
  outputs.feature_list_ragged_outer_splits = reader.Take(ragged);
  outputs.feature_list_ragged_inner_splits = reader.Take(ragged);
  return outputs;
}

}  // namespace weft::ops
