// Registration functions for the groups of the data family, one for each source
// file. Only RegisterDataOps calls them.
#ifndef WEFT_LIBS_OPS_DATA_OP_GROUPS_H_
#define WEFT_LIBS_OPS_DATA_OP_GROUPS_H_

#include "absl/strings/string_view.h"
#include "libs/graph/inference_context.h"
#include "libs/graph/op_def.h"

namespace weft {

// An op that creates a dataset: its output is a variant scalar.
OpDefBuilder Dataset(absl::string_view name, absl::string_view doc);

// The output, a dataset, is a scalar; inputs that are datasets are scalars.
absl::Status DatasetShape(InferenceContext& c);
// Like DatasetShape; also, `count` inputs are scalars, from number `first` on.
// A negative number is counted from the end.
ShapeFn DatasetShapeOf(int first, int count);

void RegisterIteratorOps(OpRegistry& registry);
void RegisterOlderDatasetOps(OpRegistry& registry);
void RegisterParallelDatasetOps(OpRegistry& registry);
void RegisterSourceDatasetOps(OpRegistry& registry);
void RegisterTransformationDatasetOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_DATA_OP_GROUPS_H_
