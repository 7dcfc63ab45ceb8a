// The data family is registered group by group, each in the file of its name;
// RegisterDataOps calls them all. Nobody else does.
#ifndef WEFT_LIBS_OPS_DATA_OP_GROUPS_H_
#define WEFT_LIBS_OPS_DATA_OP_GROUPS_H_

#include "absl/strings/string_view.h"
#include "libs/graph/inference_context.h"
#include "libs/graph/op_def.h"

namespace weft {

// An op that makes a data set: it has that output, which is a variant scalar.
OpDefBuilder Dataset(absl::string_view name, absl::string_view doc);

// A scalar, the data set; inputs of it are scalars.
absl::Status DatasetShape(InferenceContext& c);
// And `count` inputs are scalars, from number `first` on; one below zero is
// counted from behind the last input.
ShapeFn DatasetShapeOf(int first, int count);

void RegisterIteratorOps(OpRegistry& registry);
void RegisterOlderDatasetOps(OpRegistry& registry);
void RegisterParallelDatasetOps(OpRegistry& registry);
void RegisterSourceDatasetOps(OpRegistry& registry);
void RegisterTransformationDatasetOps(OpRegistry& registry);

}  // namespace weft

#endif  // WEFT_LIBS_OPS_DATA_OP_GROUPS_H_
