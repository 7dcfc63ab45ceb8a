// Ops on lookup tables.
#include "libs/graph/inference_context.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

absl::Status FindShape(InferenceContext& c) {
  c.set_output(0, c.input(1));
  return absl::OkStatus();
}

absl::Status ExportShape(InferenceContext& c) {
  c.set_output(0, PartialShape::Vector(PartialShape::kUnknown));
  c.set_output(1, PartialShape::Vector(PartialShape::kUnknown));
  return absl::OkStatus();
}

}  // namespace

void RegisterLookupOps(OpRegistry& registry) {
  registry.Add(OpDefBuilder("HashTableV2")
                   .Output("table_handle: resource")
                   .Attr("container: string = ''")
                   .Attr("shared_name: string = ''")
                   .Attr("use_node_name_sharing: bool = false")
                   .Attr("key_dtype: type")
                   .Attr("value_dtype: type")
                   .Stateful()
                   .Doc("A table that is filled once.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("MutableHashTableV2")
                   .Output("table_handle: resource")
                   .Attr("container: string = ''")
                   .Attr("shared_name: string = ''")
                   .Attr("use_node_name_sharing: bool = false")
                   .Attr("key_dtype: type")
                   .Attr("value_dtype: type")
                   .Stateful()
                   .Doc("A table that changes.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("InitializeTableV2")
                   .Input("table_handle: resource")
                   .Input("keys: Tkey")
                   .Input("values: Tval")
                   .Attr("Tkey: type")
                   .Attr("Tval: type")
                   .Stateful()
                   .Doc("Fills a table.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("InitializeTableFromTextFileV2")
                   .Input("table_handle: resource")
                   .Input("filename: string")
                   .Attr("key_index: int >= -2")
                   .Attr("value_index: int >= -2")
                   .Attr("vocab_size: int >= -1 = -1")
                   .Attr("delimiter: string = '\\t'")
                   .Attr("offset: int = 0")
                   .Stateful()
                   .Doc("Fills a table with the lines of a file.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("LookupTableFindV2")
                   .Input("table_handle: resource")
                   .Input("keys: Tin")
                   .Input("default_value: Tout")
                   .Output("values: Tout")
                   .Attr("Tin: type")
                   .Attr("Tout: type")
                   .Stateful()
                   .Doc("The value of each key, or the default.")
                   .Shape(FindShape));
  registry.Add(OpDefBuilder("LookupTableImportV2")
                   .Input("table_handle: resource")
                   .Input("keys: Tin")
                   .Input("values: Tout")
                   .Attr("Tin: type")
                   .Attr("Tout: type")
                   .Stateful()
                   .Doc("Replaces what a table holds.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("LookupTableInsertV2")
                   .Input("table_handle: resource")
                   .Input("keys: Tin")
                   .Input("values: Tout")
                   .Attr("Tin: type")
                   .Attr("Tout: type")
                   .Stateful()
                   .Doc("Sets the values of some keys.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("LookupTableRemoveV2")
                   .Input("table_handle: resource")
                   .Input("keys: Tin")
                   .Attr("Tin: type")
                   .Stateful()
                   .Doc("Forgets some keys.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("LookupTableExportV2")
                   .Input("table_handle: resource")
                   .Output("keys: Tkeys")
                   .Output("values: Tvalues")
                   .Attr("Tkeys: type")
                   .Attr("Tvalues: type")
                   .Stateful()
                   .Doc("All keys and values of a table.")
                   .Shape(ExportShape));
  registry.Add(OpDefBuilder("LookupTableSizeV2")
                   .Input("table_handle: resource")
                   .Output("size: int64")
                   .Stateful()
                   .Doc("How many entries a table has.")
                   .Shape(shapes::Scalar));
}

}  // namespace weft
