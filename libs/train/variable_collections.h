// Which collections hold VariableDefs in a MetaGraphDef; of the others, that
// of their values goes by name. Used by what exports and imports MetaGraphDefs.
#ifndef WEFT_LIBS_TRAIN_VARIABLE_COLLECTIONS_H_
#define WEFT_LIBS_TRAIN_VARIABLE_COLLECTIONS_H_

#include "absl/strings/string_view.h"
#include "libs/ops/scope.h"

namespace weft::train {

// TensorFlow's, by the types it registers for them.
inline bool IsVariableCollection(absl::string_view name) {
  return name == collection::kGlobalVariables ||
         name == collection::kLocalVariables ||
         name == collection::kTrainableVariables ||
         name == collection::kModelVariables ||
         name == collection::kGlobalStep || name == "metric_variables" ||
         name == "moving_average_variables";
}

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_VARIABLE_COLLECTIONS_H_
