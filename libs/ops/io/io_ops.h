// Builders of the ops that read and write whole files, with TensorFlow's names.
// Paths are those of the task that runs the op; "zmq://", "s3://" and "gs://"
// are supported too.
//
// All add one node to `scope`; outputs are null after an error (see Scope).
#ifndef WEFT_LIBS_OPS_IO_IO_OPS_H_
#define WEFT_LIBS_OPS_IO_IO_OPS_H_

#include "libs/ops/scope.h"

namespace weft::ops {

Output ReadFile(const Scope& scope, const Input& filename);
// Creates missing directories.
Operation WriteFile(const Scope& scope, const Input& filename,
                    const Input& contents);
// A sorted vector of paths. `pattern` is a scalar or a vector.
Output MatchingFiles(const Scope& scope, const Input& pattern);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_IO_IO_OPS_H_
