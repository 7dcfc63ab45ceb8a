// FuseCsv: the columns of a DecodeCSV that a Pack joins, all of them and in
// order, become one tensor at once: _DecodeCSVAndPack, whose elements are the
// same. Rows that are decoded one by one would be dozens of scalars else. The
// Pack's axis is the first or the last one; where it is neither 0 nor -1, the
// rank of the records has to be certain, as that of a reader's blocks is.
//
// An error of a record names the node of the DecodeCSV as before, though it is
// of another op.
#ifndef WEFT_LIBS_PASSES_CSV_FUSION_H_
#define WEFT_LIBS_PASSES_CSV_FUSION_H_

#include "libs/passes/graph_rewrite.h"

namespace weft {

// Of nodes that are placed on a CPU, and of those that are not placed, which
// are bodies of functions, where `unplaced_too`. REQUIRES: only fusions run
// after it, for nodes get other outputs.
void FuseCsv(GraphRewrite& rewrite, bool unplaced_too = false);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_CSV_FUSION_H_
