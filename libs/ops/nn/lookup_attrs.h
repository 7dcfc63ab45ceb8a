// Attrs that an embedding lookup sets on the node that makes its ids unique.
// They describe the table, so that the node can reject ids out of range. Only
// lookups in tables of several parts set them: later nodes do not know an id,
// only its part and its row in that part. TensorFlow ignores them, like all
// attrs whose names begin with "_".
#ifndef WEFT_LIBS_OPS_NN_LOOKUP_ATTRS_H_
#define WEFT_LIBS_OPS_NN_LOOKUP_ATTRS_H_

namespace weft {

inline constexpr char kLookupTableAttr[] = "_lookup_table";  // string: its name
inline constexpr char kLookupRowsAttr[] = "_lookup_rows";    // int, all parts

}  // namespace weft

#endif  // WEFT_LIBS_OPS_NN_LOOKUP_ATTRS_H_
