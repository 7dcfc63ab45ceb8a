// The table of ops as text: columns for people, Markdown, JSON.
//
// Functions without state.
#ifndef WEFT_TOOLS_OPS_OP_VIEWS_H_
#define WEFT_TOOLS_OPS_OP_VIEWS_H_

#include <string>
#include <vector>

#include "tools/ops/op_table.h"

namespace weft::tools {

// One line an op.
std::string OpsAsText(const std::vector<OpRow>& rows);

// How many there are of each kind, then a table.
std::string OpsAsMarkdown(const std::vector<OpRow>& rows);

// An array of objects. "cpu" and "gpu": null where there is no kernel, else the
// attrs it asks about with the types it takes. "gradient": "yes", "none by
// nature", ...
std::string OpsAsJson(const std::vector<OpRow>& rows);

}  // namespace weft::tools

#endif  // WEFT_TOOLS_OPS_OP_VIEWS_H_
