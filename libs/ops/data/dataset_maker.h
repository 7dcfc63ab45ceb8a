// DatasetMaker: adds the node of a data set. Internal to libs/ops.
//
// Errors stick to the scope. Threads: as the scope's.
#ifndef WEFT_LIBS_OPS_DATA_DATASET_MAKER_H_
#define WEFT_LIBS_OPS_DATA_DATASET_MAKER_H_

#include <string>
#include <vector>

#include "libs/ops/data/dataset.h"

namespace weft::ops {

class DatasetMaker {
 public:
  // `scope`'s own name is the node's, or that of the op; what is made of it is
  // named by its ops.
  static Dataset Add(const Scope& scope, absl::string_view op,
                     const InputList& inputs, ElementSpec element,
                     AttrMap attrs = {});
  static Dataset Of(const Scope& scope, const Output& variant,
                    ElementSpec element);
  // A null one, with as many components as `element`: who takes one of them
  // reads the error of the scope, not memory.
  static Dataset Null(const Scope& scope, ElementSpec element);
  // Likewise, with the scope of another one, which may be null.
  static Dataset Null(const Dataset& other, ElementSpec element);
  // The element's types and shapes, as attrs of the names that the op has.
  static void AddElementAttrs(const Scope& scope, absl::string_view op,
                              const ElementSpec& element, AttrMap& attrs);
};

// Each component of a type and shape, without names.
ElementSpec SpecOf(const std::vector<FunctionArg>& results);
std::vector<FunctionArg> ArgsOf(const ElementSpec& element);
// INVALID_ARGUMENT unless there is none, or one for each.
absl::Status SetNames(const std::vector<std::string>& names,
                      ElementSpec& element);
// The components that a node gives; null ones after an error.
std::vector<Output> ComponentsOf(const Node* node, size_t count);
// The shape with a first dimension before it, or without its first.
PartialShape Batched(const PartialShape& shape, int64_t rows);
PartialShape RowOf(const PartialShape& shape);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_DATA_DATASET_MAKER_H_
