// What tables hold is data: they have no gradients.
#include "libs/gradients/gradient_registry.h"

namespace weft {

void RegisterLookupGradients(GradientRegistry& registry) {
  for (const char* op :
       {"HashTableV2", "MutableHashTableV2", "InitializeTableV2",
        "InitializeTableFromTextFileV2", "LookupTableFindV2",
        "LookupTableImportV2", "LookupTableInsertV2", "LookupTableRemoveV2",
        "LookupTableExportV2", "LookupTableSizeV2"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
