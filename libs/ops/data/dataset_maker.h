// DatasetMaker adds the nodes of datasets. Internal to libs/ops.
//
// Errors stick to the scope. Threads: as for the scope.
#ifndef WEFT_LIBS_OPS_DATA_DATASET_MAKER_H_
#define WEFT_LIBS_OPS_DATA_DATASET_MAKER_H_

#include <string>
#include <vector>

#include "libs/ops/data/dataset.h"

namespace weft::ops {

class DatasetMaker {
 public:
  // The node is named by `scope`'s own name or by its op; derived nodes are
  // named by their ops.
  static Dataset Add(const Scope& scope, absl::string_view op,
                     const InputList& inputs, ElementSpec element,
                     AttrMap attrs = {});
  static Dataset Of(const Scope& scope, const Output& variant,
                    ElementSpec element);
  // A null dataset with as many components as `element`, so that access to a
  // component after an error is safe.
  static Dataset Null(const Scope& scope, ElementSpec element);
  // Like Null, with the scope of another dataset, which may be null.
  static Dataset Null(const Dataset& other, ElementSpec element);
  // Sets the element's types and shapes in the attrs that the op has.
  static void AddElementAttrs(const Scope& scope, absl::string_view op,
                              const ElementSpec& element, AttrMap& attrs);
};

// Components of these types and shapes, without names.
ElementSpec SpecOf(const std::vector<FunctionArg>& results);
std::vector<FunctionArg> ArgsOf(const ElementSpec& element);
// Returns INVALID_ARGUMENT unless there is no name, or one for each component.
absl::Status SetNames(const std::vector<std::string>& names,
                      ElementSpec& element);
// The components that a node outputs; null ones after an error.
std::vector<Output> ComponentsOf(const Node* node, size_t count);
// The shape with an added first dimension, or without its first dimension.
PartialShape Batched(const PartialShape& shape, int64_t rows);
PartialShape RowOf(const PartialShape& shape);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_DATA_DATASET_MAKER_H_
