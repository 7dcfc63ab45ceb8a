// Ops on lookup tables, with handles of both kinds: resources (HashTableV2,
// ...) and references to two strings (HashTable, ... of old graphs).
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
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

absl::Status HandleShape(InferenceContext& c) {
  const bool is_reference = IsRefType(c.output_type(0));
  c.set_output(0,
               is_reference ? PartialShape::Vector(2) : PartialShape::Scalar());
  return absl::OkStatus();
}

// As many values as keys.
absl::Status InitializeShape(InferenceContext& c) {
  return c.input(1).MergeWith(c.input(2)).status();
}

// One op with either kind of handle.
class Family {
 public:
  Family(OpRegistry& registry, bool is_reference)
      : registry_(registry), is_reference_(is_reference) {}

  // Makes a table.
  OpDefBuilder Table(const char* name) const {
    OpDefBuilder builder(Name(name));
    builder.Output(absl::StrCat("table_", Handle()))
        .Attr("container: string = ''")
        .Attr("shared_name: string = ''")
        .Attr("use_node_name_sharing: bool = false")
        .Attr("key_dtype: type")
        .Attr("value_dtype: type")
        .Stateful()
        .Shape(HandleShape);
    return builder;
  }

  // Takes a table.
  OpDefBuilder Use(const char* name) const {
    OpDefBuilder builder(Name(name));
    builder.Input(absl::StrCat("table_", Handle()));
    if (!is_reference_) builder.Stateful();
    return builder;
  }

  void Add(const OpDefBuilder& builder) const { registry_.Add(builder); }

 private:
  std::string Name(const char* name) const {
    return absl::StrCat(name, is_reference_ ? "" : "V2");
  }
  const char* Handle() const {
    return is_reference_ ? "handle: Ref(string)" : "handle: resource";
  }

  OpRegistry& registry_;
  const bool is_reference_;
};

void AddTables(const Family& family) {
  family.Add(family.Table("HashTable").Doc("A table that is filled once."));
  family.Add(family.Table("MutableHashTable").Doc("A table that changes."));
}

// Sets entries to keys and values.
OpDefBuilder Fill(const Family& family, const char* name) {
  OpDefBuilder builder = family.Use(name);
  builder.Input("keys: Tin")
      .Input("values: Tout")
      .Attr("Tin: type")
      .Attr("Tout: type")
      .Shape(shapes::NoOutputs);
  return builder;
}

void AddFills(const Family& family) {
  family.Add(family.Use("InitializeTable")
                 .Input("keys: Tkey")
                 .Input("values: Tval")
                 .Attr("Tkey: type")
                 .Attr("Tval: type")
                 .Doc("Fills a table.")
                 .Shape(InitializeShape));
  family.Add(family.Use("InitializeTableFromTextFile")
                 .Input("filename: string")
                 .Attr("key_index: int >= -2")
                 .Attr("value_index: int >= -2")
                 .Attr("vocab_size: int >= -1 = -1")
                 .Attr("delimiter: string = '\\t'")
                 .Attr("offset: int = 0")
                 .Doc("Fills a table with the lines of a file.")
                 .Shape(shapes::NoOutputs));
  family.Add(
      Fill(family, "LookupTableImport").Doc("Replaces what a table holds."));
  family.Add(
      Fill(family, "LookupTableInsert").Doc("Sets the values of some keys."));
}

void AddReads(const Family& family) {
  family.Add(family.Use("LookupTableFind")
                 .Input("keys: Tin")
                 .Input("default_value: Tout")
                 .Output("values: Tout")
                 .Attr("Tin: type")
                 .Attr("Tout: type")
                 .Doc("The value of each key, or the default.")
                 .Shape(FindShape));
  family.Add(family.Use("LookupTableExport")
                 .Output("keys: Tkeys")
                 .Output("values: Tvalues")
                 .Attr("Tkeys: type")
                 .Attr("Tvalues: type")
                 .Doc("All keys and values of a table.")
                 .Shape(ExportShape));
  family.Add(family.Use("LookupTableSize")
                 .Output("size: int64")
                 .Doc("How many entries a table has.")
                 .Shape(shapes::Scalar));
}

}  // namespace

void RegisterLookupOps(OpRegistry& registry) {
  for (const bool is_reference : {true, false}) {
    const Family family(registry, is_reference);
    AddTables(family);
    AddFills(family);
    AddReads(family);
  }
  // There is none for references.
  const Family resources(registry, /*is_reference=*/false);
  resources.Add(resources.Use("LookupTableRemove")
                    .Input("keys: Tin")
                    .Attr("Tin: type")
                    .Doc("Forgets some keys.")
                    .Shape(shapes::NoOutputs));
}

}  // namespace weft
