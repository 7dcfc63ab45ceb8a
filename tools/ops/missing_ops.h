// MissingOp is a TensorFlow op that Weft lacks, with the reason.
//
// Threads: the functions have no state.
#ifndef WEFT_TOOLS_OPS_MISSING_OPS_H_
#define WEFT_TOOLS_OPS_MISSING_OPS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/graph/op_def.h"

namespace weft::tools {

struct MissingOp {
  std::string name;
  std::string family;  // empty if no reason is recorded
  std::string reason;
};

// Returns the ops in `facts` that `registry` lacks, sorted by name. `facts` is
// a JSON object with an entry for each op; the values are ignored. Returns
// INVALID_ARGUMENT for other text.
absl::StatusOr<std::vector<MissingOp>> FindMissingOps(
    absl::string_view facts, const OpRegistry& registry);

// Returns a line with the count, and then a line for each op.
std::string MissingOpsAsText(const std::vector<MissingOp>& ops);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_OPS_MISSING_OPS_H_
