// Parsers of OpDefBuilder's specifications, which use the notation of
// TensorFlow's REGISTER_OP:
//
//   argument   "x: T"  "values: N * T"  "ref: Ref(T)"  "axis: int32"
//   attribute  "T: {float, double} = DT_FLOAT"  "N: int >= 2"
//              "mode: {'a', 'b'} = 'a'"  "shape: shape = { unknown_rank: true
//              }"  "color: tensor = { dtype: DT_UINT8 tensor_shape: { dim {
//              size: 1 } } int_val: 7 }"
//
// Stateless, hence thread-safe. Errors are INVALID_ARGUMENT and quote the
// specification.
#ifndef WEFT_LIBS_GRAPH_SPEC_PARSER_H_
#define WEFT_LIBS_GRAPH_SPEC_PARSER_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/graph/op_def.h"

namespace weft {

absl::StatusOr<AttrDef> ParseAttrSpec(absl::string_view spec);

// Parses the specification of an input or output argument. `attrs` are the op's
// attributes, which determine whether "T" is one type or a list of types.
absl::StatusOr<ArgDef> ParseArgSpec(absl::string_view spec,
                                    const std::vector<AttrDef>& attrs);

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_SPEC_PARSER_H_
