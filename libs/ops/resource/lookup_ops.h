// Builders of ops on lookup tables, with TensorFlow's names.
//
// All add one node to `scope`; outputs are null after an error (see Scope).
#ifndef WEFT_LIBS_OPS_RESOURCE_LOOKUP_OPS_H_
#define WEFT_LIBS_OPS_RESOURCE_LOOKUP_OPS_H_

#include <string>

#include "libs/ops/scope.h"

namespace weft::ops {

struct HashTableAttrs {
  std::string container;    // empty: the scope's
  std::string shared_name;  // empty: not shared
  bool use_node_name_sharing = false;
};
// Initialized once, by InitializeTable.
Output HashTable(const Scope& scope, DataType key_dtype, DataType value_dtype,
                 const HashTableAttrs& attrs = {});
Output MutableHashTable(const Scope& scope, DataType key_dtype,
                        DataType value_dtype, const HashTableAttrs& attrs = {});

Operation InitializeTable(const Scope& scope, const Input& table_handle,
                          const Input& keys, const Input& values);
// TensorFlow's collection of constants with the names of files that the graph
// reads.
inline constexpr absl::string_view kAssetFilepaths = "asset_filepaths";

// The fields of a line that hold the key and the value; -2: the whole line, -1:
// its number.
struct TextFileTable {
  int64_t key_index = -2;
  int64_t value_index = -1;
  int64_t vocab_size = -1;  // -1: all lines
  std::string delimiter = "\t";
  int64_t offset = 0;  // added to line numbers
};
Operation InitializeTableFromTextFile(const Scope& scope,
                                      const Input& table_handle,
                                      const Input& filename,
                                      const TextFileTable& attrs = {});

// The result has the type of `default_value`.
Output LookupTableFind(const Scope& scope, const Input& table_handle,
                       const Input& keys, const Input& default_value);
Operation LookupTableImport(const Scope& scope, const Input& table_handle,
                            const Input& keys, const Input& values);
Operation LookupTableInsert(const Scope& scope, const Input& table_handle,
                            const Input& keys, const Input& values);
Operation LookupTableRemove(const Scope& scope, const Input& table_handle,
                            const Input& keys);
struct LookupTableExportOutputs {
  Output keys;
  Output values;
};
LookupTableExportOutputs LookupTableExport(const Scope& scope,
                                           const Input& table_handle,
                                           DataType key_dtype,
                                           DataType value_dtype);
Output LookupTableSize(const Scope& scope, const Input& table_handle);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_RESOURCE_LOOKUP_OPS_H_
