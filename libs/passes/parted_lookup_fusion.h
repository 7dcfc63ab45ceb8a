// FusePartedLookups fuses lookups in a partitioned table, as written by
// embedding_lookup for unique ids, so that each id and each row is accessed
// once:
//
//   Unique, and the FloorMod, FloorDiv, Cast, Size, Range and both
//   DynamicPartitions that divide what it gives among parts of strategy "mod"
//                                              -> _UniquePartition
//   ParallelDynamicStitch of the parts' rows, and GatherV2 by the ids
//                                              -> _GatherStitched
//   the gradients of these two: UnsortedSegmentSum, and a GatherV2 for each
//   part                                       -> _SumToParts
//
// The second and third work for any partition strategy that assigns each id to
// one part. The outputs are the same to the last bit, and so are errors.
#ifndef WEFT_LIBS_PASSES_PARTED_LOOKUP_FUSION_H_
#define WEFT_LIBS_PASSES_PARTED_LOOKUP_FUSION_H_

#include "libs/passes/graph_rewrite.h"

namespace weft {

// REQUIRES: only FuseLookups and similar fusions run after it, or have run
// before, because nodes get other outputs.
void FusePartedLookups(GraphRewrite& rewrite);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_PARTED_LOOKUP_FUSION_H_
