// SaveFromSnapshots: a SaveV2 that reads variables of its own device, for
// nobody else, becomes a _SaveVariables that takes the variables themselves, so
// that they need not be held while files are written.
#ifndef WEFT_LIBS_PASSES_VARIABLE_SAVING_H_
#define WEFT_LIBS_PASSES_VARIABLE_SAVING_H_

#include <string>

#include "libs/passes/graph_rewrite.h"

namespace weft {

// What each file holds stays the same, and so does what the SaveV2 waits for,
// its reads included: these happen where it begins, which is not before they
// could have. A read that somebody else takes or waits for stays, and so does
// one on another device or beside control flow. The attr
// `_max_bytes_per_second: int` of a SaveV2 goes with it.
// `_snapshot_groups: list(int)` says, for each tensor, which of
// them are to be of one moment: those with one number; without it each is
// alone.
//
// An IdentityN that nobody takes, with an attr `_marks: string`, becomes a
// _MarkVariables of its tensors, and a SaveV2 with `_saves_mark` and the same
// text saves what that has marked, in a step before, instead of its own.
// `scope` sets the marks of one session apart from those of others.
void SaveFromSnapshots(GraphRewrite& rewrite, const std::string& scope = "");

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_VARIABLE_SAVING_H_
