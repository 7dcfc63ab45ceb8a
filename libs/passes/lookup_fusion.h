// FuseLookups: lookups of sparse ids in a table, as
// safe_embedding_lookup_sparse writes them, become a few nodes instead of
// dozens: for a model of many features the nodes cost more than what they
// compute.
//
//   SparseFillEmptyRows of what SparseRetain keeps, Unique and the numbers of
//   the rows                              -> _UniqueRowIds
//   SparseSegmentSum (Mean, SqrtN), and SelectV2 of zeros where rows are empty
//                                         -> _CombineRows
//   the gradients of these two            -> _CombineRowsGrad
//   Where of texts that are not empty, GatherNd and StringToHashBucketFast
//                                         -> _WhereHashed
//   SparseToDense of ids, OneHot of ones, and Sum along an example
//                                         -> _CountIds
//
// What the nodes give is the same to the last bit.
#ifndef WEFT_LIBS_PASSES_LOOKUP_FUSION_H_
#define WEFT_LIBS_PASSES_LOOKUP_FUSION_H_

#include "libs/passes/graph_rewrite.h"

namespace weft {

// REQUIRES: only fusions run after it, for nodes get other outputs.
void FuseLookups(GraphRewrite& rewrite);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_LOOKUP_FUSION_H_
