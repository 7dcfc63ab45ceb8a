#include "libs/ops/resource/lookup_ops.h"

namespace weft::ops {
namespace {

AttrMap AttrsOf(DataType key_dtype, DataType value_dtype,
                const HashTableAttrs& attrs) {
  AttrMap map = {{"key_dtype", key_dtype},
                 {"value_dtype", value_dtype},
                 {"shared_name", attrs.shared_name},
                 {"use_node_name_sharing", attrs.use_node_name_sharing}};
  if (!attrs.container.empty()) map["container"] = attrs.container;
  return map;
}

}  // namespace

Output HashTable(const Scope& scope, DataType key_dtype, DataType value_dtype,
                 const HashTableAttrs& attrs) {
  return scope.AddOutput("HashTableV2", {},
                         AttrsOf(key_dtype, value_dtype, attrs));
}

Output MutableHashTable(const Scope& scope, DataType key_dtype,
                        DataType value_dtype, const HashTableAttrs& attrs) {
  return scope.AddOutput("MutableHashTableV2", {},
                         AttrsOf(key_dtype, value_dtype, attrs));
}

Operation InitializeTable(const Scope& scope, const Input& table_handle,
                          const Input& keys, const Input& values) {
  return scope.AddNode("InitializeTableV2", {table_handle, keys, values});
}

Operation InitializeTableFromTextFile(const Scope& scope,
                                      const Input& table_handle,
                                      const Input& filename,
                                      const TextFileTable& attrs) {
  return scope.AddNode("InitializeTableFromTextFileV2",
                       {table_handle, filename},
                       {{"key_index", attrs.key_index},
                        {"value_index", attrs.value_index},
                        {"vocab_size", attrs.vocab_size},
                        {"delimiter", attrs.delimiter},
                        {"offset", attrs.offset}});
}

Output LookupTableFind(const Scope& scope, const Input& table_handle,
                       const Input& keys, const Input& default_value) {
  return scope.AddOutput("LookupTableFindV2",
                         {table_handle, keys, default_value});
}

Operation LookupTableImport(const Scope& scope, const Input& table_handle,
                            const Input& keys, const Input& values) {
  return scope.AddNode("LookupTableImportV2", {table_handle, keys, values});
}

Operation LookupTableInsert(const Scope& scope, const Input& table_handle,
                            const Input& keys, const Input& values) {
  return scope.AddNode("LookupTableInsertV2", {table_handle, keys, values});
}

Operation LookupTableRemove(const Scope& scope, const Input& table_handle,
                            const Input& keys) {
  return scope.AddNode("LookupTableRemoveV2", {table_handle, keys});
}

LookupTableExportOutputs LookupTableExport(const Scope& scope,
                                           const Input& table_handle,
                                           DataType key_dtype,
                                           DataType value_dtype) {
  const Node* node =
      scope.AddNode("LookupTableExportV2", {table_handle},
                    {{"Tkeys", key_dtype}, {"Tvalues", value_dtype}});
  if (node == nullptr) return {};
  return {Output(node, 0), Output(node, 1)};
}

Output LookupTableSize(const Scope& scope, const Input& table_handle) {
  return scope.AddOutput("LookupTableSizeV2", {table_handle});
}

}  // namespace weft::ops
