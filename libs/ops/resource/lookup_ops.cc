// Ops on lookup tables, for both kinds of handles: resources (HashTableV2, ...)
// and references to two strings (HashTable, ... in old graphs).
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"
#include "libs/graph/inference_context.h"
#include "libs/ops/resource/handle_family.h"
#include "libs/ops/resource/op_groups.h"

namespace weft {
namespace {

// Returns whether the table at input 0 is known to have scalar keys and values.
bool IsOfScalars(InferenceContext& c) {
  const Node* maker = c.input_source(0).node;
  if (maker == nullptr) return false;
  const absl::string_view op = maker->type();
  return absl::StrContains(op, "HashTable") &&
         !absl::StrContains(op, "OfTensors") && !absl::StrContains(op, "Dense");
}

absl::Status FindShape(InferenceContext& c) {
  if (IsOfScalars(c)) c.set_output(0, c.input(1));
  return absl::OkStatus();
}

// A dense table exports matrices of both; a table of tensors exports a matrix
// of values.
absl::Status ExportShape(InferenceContext& c) {
  if (!IsOfScalars(c)) return absl::OkStatus();
  c.set_output(0, PartialShape::Vector(PartialShape::kUnknown));
  c.set_output(1, PartialShape::Vector(PartialShape::kUnknown));
  return absl::OkStatus();
}

// The special keys are scalars or vectors of the same shape.
absl::Status DenseTableShape(InferenceContext& c) {
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.input(i).has_rank() && c.input(i).rank() > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("Shape must be at most rank 1 but is rank ",
                       c.input(i).rank(), " for input ", i));
    }
  }
  const bool is_resource = c.output_type(0) == DT_RESOURCE;
  c.set_output(0,
               is_resource ? PartialShape::Scalar() : PartialShape::Vector(2));
  return absl::OkStatus();
}

// Equally many keys and values.
absl::Status InitializeShape(InferenceContext& c) {
  return c.input(1).MergeWith(c.input(2)).status();
}

// An op that creates a table.
OpDefBuilder Table(const HandleFamily& family, const HandleOpNames& names) {
  OpDefBuilder builder = family.Maker(names, "table_handle");
  builder.Attr("container: string = ''")
      .Attr("shared_name: string = ''")
      .Attr("use_node_name_sharing: bool = false")
      .Attr("key_dtype: type")
      .Attr("value_dtype: type");
  return builder;
}

// An op that uses a table.
OpDefBuilder Use(const HandleFamily& family, const HandleOpNames& names) {
  return family.User(names, "table_handle");
}

void AddTables(const HandleFamily& family) {
  family.Add(Table(family, {"HashTable", "HashTableV2"})
                 .Doc("A table that is initialized once."));
  family.Add(Table(family, {"MutableHashTable", "MutableHashTableV2"})
                 .Doc("A mutable table."));
  family.Add(Table(family,
                   {"MutableHashTableOfTensors", "MutableHashTableOfTensorsV2"})
                 .Attr("value_shape: shape = {  }")
                 .Doc("A mutable table with vectors as values."));
  // TensorFlow's first version lacks the deleted_key, which its kernel
  // requires: no graph can run it.
  if (!family.is_resource()) return;
  family.Add(Table(family, {.of_resource = "MutableDenseHashTableV2"})
                 .Input("empty_key: key_dtype")
                 .Input("deleted_key: key_dtype")
                 .Attr("value_shape: shape = {  }")
                 .Attr("initial_num_buckets: int = 131072")
                 .Attr("max_load_factor: float = 0.8")
                 .Doc("A mutable table in two arrays; two keys mark empty and "
                      "deleted entries.")
                 .Shape(DenseTableShape));
}

// An op that sets entries to keys and values.
OpDefBuilder Fill(const HandleFamily& family, const HandleOpNames& names) {
  OpDefBuilder builder = Use(family, names);
  builder.Input("keys: Tin")
      .Input("values: Tout")
      .Attr("Tin: type")
      .Attr("Tout: type")
      .Shape(shapes::NoOutputs);
  return builder;
}

void AddFills(const HandleFamily& family) {
  family.Add(Use(family, {"InitializeTable", "InitializeTableV2"})
                 .Input("keys: Tkey")
                 .Input("values: Tval")
                 .Attr("Tkey: type")
                 .Attr("Tval: type")
                 .Doc("Initializes a table.")
                 .Shape(InitializeShape));
  family.Add(Use(family, {"InitializeTableFromTextFile",
                          "InitializeTableFromTextFileV2"})
                 .Input("filename: string")
                 .Attr("key_index: int >= -2")
                 .Attr("value_index: int >= -2")
                 .Attr("vocab_size: int >= -1 = -1")
                 .Attr("delimiter: string = '\\t'")
                 .Attr("offset: int = 0")
                 .Doc("Initializes a table from the lines of a file.")
                 .Shape(shapes::NoOutputs));
  family.Add(Fill(family, {"LookupTableImport", "LookupTableImportV2"})
                 .Doc("Replaces the contents of a table."));
  family.Add(Fill(family, {"LookupTableInsert", "LookupTableInsertV2"})
                 .Doc("Inserts or updates entries."));
}

void AddReads(const HandleFamily& family) {
  family.Add(Use(family, {"LookupTableFind", "LookupTableFindV2"})
                 .Input("keys: Tin")
                 .Input("default_value: Tout")
                 .Output("values: Tout")
                 .Attr("Tin: type")
                 .Attr("Tout: type")
                 .Doc("Returns the value of each key, or the default.")
                 .Shape(FindShape));
  family.Add(Use(family, {"LookupTableExport", "LookupTableExportV2"})
                 .Output("keys: Tkeys")
                 .Output("values: Tvalues")
                 .Attr("Tkeys: type")
                 .Attr("Tvalues: type")
                 .Doc("Returns all keys and values of a table.")
                 .Shape(ExportShape));
  family.Add(Use(family, {"LookupTableSize", "LookupTableSizeV2"})
                 .Output("size: int64")
                 .Doc("Returns the number of entries of a table.")
                 .Shape(shapes::Scalar));
}

void AddRemove(const HandleFamily& family) {
  family.Add(Use(family, {.of_resource = "LookupTableRemoveV2"})
                 .Input("keys: Tin")
                 .Attr("Tin: type")
                 .Doc("Removes some keys.")
                 .Shape(shapes::NoOutputs));
}

}  // namespace

void RegisterLookupOps(OpRegistry& registry) {
  for (const HandleFamily& family :
       HandleFamily::ReferencesAndResources(registry)) {
    AddTables(family);
    AddFills(family);
    AddReads(family);
    // There is no such op for references.
    if (family.is_resource()) AddRemove(family);
  }
}

}  // namespace weft
