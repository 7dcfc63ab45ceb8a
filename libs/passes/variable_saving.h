// SaveFromSnapshots: a SaveV2 that reads variables of its own device, as their
// only consumer, becomes a _SaveVariables that takes the variables themselves,
// so that they need not be locked while files are written.
#ifndef WEFT_LIBS_PASSES_VARIABLE_SAVING_H_
#define WEFT_LIBS_PASSES_VARIABLE_SAVING_H_

#include <string>

#include "libs/passes/graph_rewrite.h"

namespace weft {

// The contents of each file stay the same, and so do the control inputs of the
// SaveV2, including those of its reads: the reads happen when it begins, which
// is not before they could have. A read with other consumers or control outputs
// stays, and so does one on another device or next to control flow. The attr
// `_max_bytes_per_second: int` of a SaveV2 is kept. `_snapshot_groups:
// list(int)` contains, for each tensor, the number of its group; tensors of one
// group are captured at the same time. Without it each is its own group.
//
// An IdentityN without consumers and with an attr `_marks: string` becomes a
// _MarkVariables of its tensors, and a SaveV2 with `_saves_mark` and the same
// text saves what that has marked in an earlier step, instead of its own
// inputs. `scope` separates the marks of one session from those of others.
void SaveFromSnapshots(GraphRewrite& rewrite, const std::string& scope = "");

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_VARIABLE_SAVING_H_
