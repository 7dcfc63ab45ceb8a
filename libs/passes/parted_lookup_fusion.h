// FusePartedLookups: lookups in a table of several parts, as embedding_lookup
// writes them for ids that were made unique, touch each id and each row once:
//
//   Unique, and the FloorMod, FloorDiv, Cast, Size, Range and both
//   DynamicPartitions that divide what it gives among parts of strategy "mod"
//                                              -> _UniquePartition
//   ParallelDynamicStitch of the parts' rows, and GatherV2 by the ids
//                                              -> _GatherStitched
//   the gradients of these two: UnsortedSegmentSum, and a GatherV2 for each
//   part                                       -> _SumToParts
//
// The second and third do not ask how ids are divided, only that each has one
// part. What the nodes give is the same to the last bit, and so are errors.
#ifndef WEFT_LIBS_PASSES_PARTED_LOOKUP_FUSION_H_
#define WEFT_LIBS_PASSES_PARTED_LOOKUP_FUSION_H_

#include "libs/passes/graph_rewrite.h"

namespace weft {

// REQUIRES: only FuseLookups and its like run after it, or have run before, for
// nodes get other outputs.
void FusePartedLookups(GraphRewrite& rewrite);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_PARTED_LOOKUP_FUSION_H_
