// Builders of the ops that read and write whole files, under TensorFlow's
// names. Paths are those of the task where the op runs; "zmq://", "s3://" and
// "gs://" too.
//
// All add one node to `scope`; outputs are null after an error (see Scope).
#ifndef WEFT_LIBS_OPS_IO_IO_OPS_H_
#define WEFT_LIBS_OPS_IO_IO_OPS_H_

#include "libs/ops/scope.h"

namespace weft::ops {

Output ReadFile(const Scope& scope, const Input& filename);
// Makes folders that are missing.
Operation WriteFile(const Scope& scope, const Input& filename,
                    const Input& contents);
// A vector of paths, sorted. `pattern`: one, or a vector of them.
Output MatchingFiles(const Scope& scope, const Input& pattern);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_IO_IO_OPS_H_
