// What tables hold is data: they have no gradients.
#include "libs/gradients/gradient_registry.h"

namespace weft {

void RegisterLookupGradients(GradientRegistry& registry) {
  for (const char* op :
       {"HashTable", "HashTableV2", "MutableHashTable", "MutableHashTableV2",
        "InitializeTable", "InitializeTableV2", "InitializeTableFromTextFile",
        "InitializeTableFromTextFileV2", "LookupTableFind", "LookupTableFindV2",
        "LookupTableImport", "LookupTableImportV2", "LookupTableInsert",
        "LookupTableInsertV2", "LookupTableExport", "LookupTableExportV2",
        "LookupTableSize", "LookupTableSizeV2", "LookupTableRemoveV2"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
