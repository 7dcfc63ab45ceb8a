// FuseCsv: all columns of a DecodeCSV that one Pack joins, in order, become one
// tensor: _DecodeCSVAndPack, with the same elements. Otherwise rows decoded one
// by one would be dozens of scalars. The Pack's axis is the first or the last
// one; if it is neither 0 nor -1, the rank of the records must be certain, as
// for a reader's blocks.
//
// An error of a record names the DecodeCSV node as before, though its op is
// different.
#ifndef WEFT_LIBS_PASSES_CSV_FUSION_H_
#define WEFT_LIBS_PASSES_CSV_FUSION_H_

#include "libs/passes/graph_rewrite.h"

namespace weft {

// For nodes placed on a CPU and, if `unplaced_too`, for unplaced ones, in
// function bodies. REQUIRES: only fusions run after it, because nodes get other
// outputs.
void FuseCsv(GraphRewrite& rewrite, bool unplaced_too = false);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_CSV_FUSION_H_
