// Views of the table of ops: text columns, Markdown, JSON.
//
// Stateless functions.
#ifndef WEFT_TOOLS_OPS_OP_VIEWS_H_
#define WEFT_TOOLS_OPS_OP_VIEWS_H_

#include <string>
#include <vector>

#include "tools/ops/op_table.h"

namespace weft::tools {

// One line per op.
std::string OpsAsText(const std::vector<OpRow>& rows);

// The number of ops of each kind, then a table.
std::string OpsAsMarkdown(const std::vector<OpRow>& rows);

// An array of objects. "cpu" and "gpu" are null without a kernel, otherwise the
// constrained attrs with their types. "gradient": "yes", "none by nature", ...
std::string OpsAsJson(const std::vector<OpRow>& rows);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_OPS_OP_VIEWS_H_
