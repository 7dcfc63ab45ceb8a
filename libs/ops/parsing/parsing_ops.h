// Builders of the ops that take records apart, one for each op, under
// TensorFlow's names: comma-separated values, and examples (tf.Example).
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
  std::string na_value;              // as good as an empty field
  std::vector<int64_t> select_cols;  // ascending; empty: all
};
// One output for each default, of its type and with the shape of `records`. A
// default is a scalar, or empty where the field is required.
OutputList DecodeCSV(const Scope& scope, const Input& records,
                     const InputList& record_defaults,
                     const DecodeCsvAttrs& attrs = {});

// One entry for each key. A sparse feature [n] is at (indices, values, shapes);
// a batch of them has the example's number as first coordinate.
struct ParseExampleOutputs {
  OutputList sparse_indices;
  OutputList sparse_values;
  OutputList sparse_shapes;
  OutputList dense_values;
};

// `names` is empty, or names the examples in errors. A dense feature has a
// default, of its type, which is empty where the feature is required, and a
// shape; with -1 as first size examples have as many values as they have, and
// the default, one value, fills up.
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

// A ragged feature is its values, and where each example's begin and end.
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

// The features of the context of sequences, or of their lists of steps. Of the
// keys of a kind each has a type, and a dense one a shape, that of one step.
struct SequenceFeatures {
  std::vector<std::string> sparse_keys, dense_keys, ragged_keys;
  DataTypeVector sparse_types;
  DataTypeVector dense_types;  // of lists; the context's are its defaults'
  DataTypeVector ragged_value_types, ragged_split_types;
  std::vector<PartialShape> dense_shapes;
};

// Of lists the dense values are filled up to the longest of the batch, and
// lengths say how many steps there were; ragged ones have splits of steps
// (inner) besides those of sequences (outer).
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

// `serialized` are tf.SequenceExamples: a vector, or a scalar for one alone.
// `missing_assumed_empty`: dense keys of lists that a sequence may lack.
ParseSequenceExampleOutputs ParseSequenceExampleV2(
    const Scope& scope, const Input& serialized, const Input& debug_name,
    const SequenceFeatures& context, const InputList& context_dense_defaults,
    const SequenceFeatures& feature_lists,
    const std::vector<std::string>& missing_assumed_empty = {});

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_PARSING_PARSING_OPS_H_
