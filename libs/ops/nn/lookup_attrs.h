// Attrs by which an embedding lookup tells the node that makes its ids unique
// which table they are of, so that this node refuses ids that the table has no
// row for. Only lookups in tables of several parts have them: there no later
// node knows an id, only its part and its row in that part. TensorFlow ignores
// them, as all attrs whose names begin with "_".
#ifndef WEFT_LIBS_OPS_NN_LOOKUP_ATTRS_H_
#define WEFT_LIBS_OPS_NN_LOOKUP_ATTRS_H_

namespace weft {

inline constexpr char kLookupTableAttr[] = "_lookup_table";  // string: its name
inline constexpr char kLookupRowsAttr[] = "_lookup_rows";    // int, all parts

}  // namespace weft

#endif  // WEFT_LIBS_OPS_NN_LOOKUP_ATTRS_H_
