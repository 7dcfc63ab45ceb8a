// FuseLookups fuses embedding lookups of sparse ids, as written by
// safe_embedding_lookup_sparse, into a few nodes instead of dozens: in a model
// of many features the overhead of nodes exceeds the computation.
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
// The outputs are the same to the last bit.
#ifndef WEFT_LIBS_PASSES_LOOKUP_FUSION_H_
#define WEFT_LIBS_PASSES_LOOKUP_FUSION_H_

#include "libs/passes/graph_rewrite.h"

namespace weft {

// REQUIRES: only fusions run after it, because nodes get other outputs.
void FuseLookups(GraphRewrite& rewrite);

}  // namespace weft

#endif  // WEFT_LIBS_PASSES_LOOKUP_FUSION_H_
