#include "libs/ops/io/io_ops.h"

namespace weft::ops {

Output ReadFile(const Scope& scope, const Input& filename) {
  return scope.AddOutput("ReadFile", {filename});
}

Operation WriteFile(const Scope& scope, const Input& filename,
                    const Input& contents) {
  return scope.AddNode("WriteFile", {filename, contents});
}

Output MatchingFiles(const Scope& scope, const Input& pattern) {
  return scope.AddOutput("MatchingFiles", {pattern});
}

}  // namespace weft::ops
