// IsVariableCollection returns which collections hold VariableDefs in a
// MetaGraphDef; other collections hold names. Used by the export and import of
// MetaGraphDefs.
#ifndef WEFT_LIBS_TRAIN_SAVING_VARIABLE_COLLECTIONS_H_
#define WEFT_LIBS_TRAIN_SAVING_VARIABLE_COLLECTIONS_H_

#include "absl/strings/string_view.h"
#include "libs/ops/scope.h"

namespace weft::train {

// The collections for which TensorFlow registers VariableDef.
inline bool IsVariableCollection(absl::string_view name) {
  return name == collection::kGlobalVariables ||
         name == collection::kLocalVariables ||
         name == collection::kTrainableVariables ||
         name == collection::kModelVariables ||
         name == collection::kGlobalStep || name == "metric_variables" ||
         name == "moving_average_variables";
}

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SAVING_VARIABLE_COLLECTIONS_H_
