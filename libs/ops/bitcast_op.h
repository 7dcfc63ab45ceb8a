// Builder of the op that sees bits as another type, under TensorFlow's name.
// Adds one node to `scope`; null after an error (see Scope).
#ifndef WEFT_LIBS_OPS_BITCAST_OP_H_
#define WEFT_LIBS_OPS_BITCAST_OP_H_

#include "libs/ops/scope.h"

namespace weft::ops {

// The same memory. Of a type twice as large, two elements of the last dimension
// become one, and that dimension, which must be 2, goes; of one half as large,
// a dimension of 2 comes.
Output Bitcast(const Scope& scope, const Input& input, DataType type);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_BITCAST_OP_H_
