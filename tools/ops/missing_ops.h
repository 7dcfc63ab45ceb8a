// Which ops of TensorFlow are not here, and why.
//
// Functions without state.
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

// Those of `facts` that `registry` does not have, by name. `facts` is a JSON
// object that has an entry for each op, whatever is in it. INVALID_ARGUMENT for
// what is none.
absl::StatusOr<std::vector<MissingOp>> FindMissingOps(
    absl::string_view facts, const OpRegistry& registry);

// How many there are, then a line each.
std::string MissingOpsAsText(const std::vector<MissingOp>& ops);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_OPS_MISSING_OPS_H_
