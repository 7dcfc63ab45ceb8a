// IsVariableCollection returns whether a collection holds VariableDefs in a
// MetaGraphDef. Other collections hold names. The export and import of
// MetaGraphDefs use the function.
#ifndef WEFT_LIBS_TRAIN_SAVING_VARIABLE_COLLECTIONS_H_
#define WEFT_LIBS_TRAIN_SAVING_VARIABLE_COLLECTIONS_H_

#include "absl/strings/string_view.h"
#include "libs/ops/scope.h"

namespace weft::train {

// Returns true for the collections for which TensorFlow registers VariableDef.
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
