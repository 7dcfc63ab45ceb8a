// Views of the table of ops as text columns, as Markdown and as JSON.
//
// Threads: the functions have no state.
#ifndef WEFT_TOOLS_OPS_OP_VIEWS_H_
#define WEFT_TOOLS_OPS_OP_VIEWS_H_

#include <string>
#include <vector>

#include "tools/ops/op_table.h"

namespace weft::tools {

// Returns one line per op.
std::string OpsAsText(const std::vector<OpRow>& rows);

// Returns the number of ops of each kind, and then a table.
std::string OpsAsMarkdown(const std::vector<OpRow>& rows);

// Returns an array of objects. "cpu" and "gpu" are null if there is no kernel,
// or else map the constrained attrs to their types. "gradient" is "yes" or
// "none by nature", for example.
std::string OpsAsJson(const std::vector<OpRow>& rows);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_OPS_OP_VIEWS_H_
