// Helpers of the dataset ops (tf.data).
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/data/op_groups.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

absl::Status CheckScalar(InferenceContext& c, int i) {
  return c.InputWithRank(i, 0).status();
}

// A variant in a list may hold anything; an argument declared as a variant is a
// dataset.
absl::Status CheckDatasets(InferenceContext& c) {
  int i = 0;
  for (const ArgDef& arg : c.op().inputs) {
    if (arg.type != DT_VARIANT) break;
    int count = 1;
    if (!arg.number_attr.empty()) {
      ASSIGN_OR_RETURN(const int64_t n, c.GetAttr<int64_t>(arg.number_attr));
      count = static_cast<int>(n);
    }
    for (; count > 0; --count) RETURN_IF_ERROR(CheckScalar(c, i++));
  }
  return absl::OkStatus();
}

}  // namespace

OpDefBuilder Dataset(absl::string_view name, absl::string_view doc) {
  OpDefBuilder builder(name);
  builder.Output("handle: variant").Doc(doc);
  return builder;
}

absl::Status DatasetShape(InferenceContext& c) {
  RETURN_IF_ERROR(CheckDatasets(c));
  return shapes::Scalar(c);
}

ShapeFn DatasetShapeOf(int first, int count) {
  return [first, count](InferenceContext& c) -> absl::Status {
    const int begin = first < 0 ? c.num_inputs() + first : first;
    for (int i = begin; i < begin + count; ++i) {
      RETURN_IF_ERROR(CheckScalar(c, i));
    }
    return DatasetShape(c);
  };
}

void RegisterDataOps(OpRegistry& registry) {
  RegisterSourceDatasetOps(registry);
  RegisterTransformationDatasetOps(registry);
  RegisterOlderDatasetOps(registry);
  RegisterParallelDatasetOps(registry);
  RegisterIteratorOps(registry);
}

}  // namespace weft
