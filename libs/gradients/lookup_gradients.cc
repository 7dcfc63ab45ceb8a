// What tables hold is data: they have no gradients.
#include <string>

#include "libs/gradients/gradient_registry.h"

namespace weft {

void RegisterLookupGradients(GradientRegistry& registry) {
  // The names of ops on references to tables are without a version.
  for (const std::string version : {"", "V2"}) {
    for (const char* op :
         {"HashTable", "MutableHashTable", "InitializeTable",
          "InitializeTableFromTextFile", "LookupTableFind", "LookupTableImport",
          "LookupTableInsert", "LookupTableExport", "LookupTableSize"}) {
      registry.RegisterNone(op + version);
    }
  }
  registry.RegisterNone("LookupTableRemoveV2");
}

}  // namespace weft
