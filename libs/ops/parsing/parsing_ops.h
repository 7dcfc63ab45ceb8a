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

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_PARSING_PARSING_OPS_H_
