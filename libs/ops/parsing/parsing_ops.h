// Builders of the ops that parse records, one for each op, with TensorFlow's
// names: comma-separated values, and examples (tf.Example).
//
// All add one node to `scope`; outputs are null after an error (see Scope).
#ifndef WEFT_LIBS_OPS_PARSING_PARSING_OPS_H_
#define WEFT_LIBS_OPS_PARSING_PARSING_OPS_H_

#include <string>
#include <vector>

#include "libs/ops/scope.h"

namespace weft::ops {

using OutputList = std::vector<Output>;

struct DecodeCsvAttrs {
  std::string field_delim = ",";
  bool use_quote_delim = true;       // whether a field may be in quotes
  std::string na_value;              // treated like an empty field
  std::vector<int64_t> select_cols;  // ascending; empty: all
};
// Returns one output for each default, of its type and with the shape of
// `records`. A default is a scalar, or empty if the field is required.
OutputList DecodeCSV(const Scope& scope, const Input& records,
                     const InputList& record_defaults,
                     const DecodeCsvAttrs& attrs = {});

// One entry for each key. A sparse feature [n] is at (indices, values, shapes);
// in a batch, the first coordinate is the example's number.
struct ParseExampleOutputs {
  OutputList sparse_indices;
  OutputList sparse_values;
  OutputList sparse_shapes;
  OutputList dense_values;
};

// `names` is empty, or names the examples in errors. A dense feature has a
// shape and a default of its type, which is empty if the feature is required.
// If the first size is -1, the number of values varies between examples, and
// the default, one value, pads the shorter ones.
ParseExampleOutputs ParseExample(const Scope& scope, const Input& serialized,
                                 const Input& names,
                                 const InputList& sparse_keys,
                                 const InputList& dense_keys,
                                 const InputList& dense_defaults,
                                 const DataTypeVector& sparse_types,
                                 const std::vector<PartialShape>& dense_shapes);

struct ParseSingleExampleAttrs {
  std::vector<std::string> sparse_keys;
  std::vector<std::string> dense_keys;
  DataTypeVector sparse_types;
  std::vector<PartialShape> dense_shapes;
};
ParseExampleOutputs ParseSingleExample(const Scope& scope,
                                       const Input& serialized,
                                       const InputList& dense_defaults,
                                       const ParseSingleExampleAttrs& attrs);

// A ragged feature consists of its values and the row splits of the examples.
struct ParseExampleV2Outputs {
  OutputList sparse_indices;
  OutputList sparse_values;
  OutputList sparse_shapes;
  OutputList dense_values;
  OutputList ragged_values;
  OutputList ragged_row_splits;
};
struct ParseExampleV2Attrs {
  DataTypeVector sparse_types;
  DataTypeVector ragged_value_types;
  DataTypeVector ragged_split_types;
  std::vector<PartialShape> dense_shapes;
};
// `serialized` is a vector, or a scalar for one example; keys are vectors.
ParseExampleV2Outputs ParseExampleV2(
    const Scope& scope, const Input& serialized, const Input& names,
    const Input& sparse_keys, const Input& dense_keys, const Input& ragged_keys,
    const InputList& dense_defaults, const ParseExampleV2Attrs& attrs);

// The features of the context of sequences, or of their lists of steps. Each
// key of a kind has a type, and a dense key also the shape of one step.
struct SequenceFeatures {
  std::vector<std::string> sparse_keys, dense_keys, ragged_keys;
  DataTypeVector sparse_types;
  DataTypeVector dense_types;  // for lists; the context uses its defaults
  DataTypeVector ragged_value_types, ragged_split_types;
  std::vector<PartialShape> dense_shapes;
};

// The outputs of a ParseSequenceExampleV2. Dense lists are padded to the
// longest of the batch, and lengths holds their numbers of steps. Ragged lists
// have splits of steps (inner) and of sequences (outer).
struct ParseSequenceExampleOutputs {
  OutputList context_sparse_indices;
  OutputList context_sparse_values;
  OutputList context_sparse_shapes;
  OutputList context_dense_values;
  OutputList context_ragged_values;
  OutputList context_ragged_row_splits;
  OutputList feature_list_sparse_indices;
  OutputList feature_list_sparse_values;
  OutputList feature_list_sparse_shapes;
  OutputList feature_list_dense_values;
  OutputList feature_list_dense_lengths;
  OutputList feature_list_ragged_values;
  OutputList feature_list_ragged_outer_splits;
  OutputList feature_list_ragged_inner_splits;
};

// `serialized` are tf.SequenceExamples: a vector, or a scalar for a single one.
// `missing_assumed_empty`: keys of dense lists that a sequence may lack.
ParseSequenceExampleOutputs ParseSequenceExampleV2(
    const Scope& scope, const Input& serialized, const Input& debug_name,
    const SequenceFeatures& context, const InputList& context_dense_defaults,
    const SequenceFeatures& feature_lists,
    const std::vector<std::string>& missing_assumed_empty = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_PARSING_PARSING_OPS_H_
