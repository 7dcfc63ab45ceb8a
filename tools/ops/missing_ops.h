// MissingOp lists a TensorFlow op that Weft lacks, and the reason.
//
// Stateless functions.
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
  std::string family;  // empty where nobody has written down a reason
  std::string reason;
};

// Returns the ops of `facts` that `registry` does not have, by name. `facts` is
// a JSON object with an entry for each op, whose value is ignored.
// INVALID_ARGUMENT for other text.
absl::StatusOr<std::vector<MissingOp>> FindMissingOps(
    absl::string_view facts, const OpRegistry& registry);

// The count, then a line for each.
std::string MissingOpsAsText(const std::vector<MissingOp>& ops);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_OPS_MISSING_OPS_H_
