#include "libs/graph/op_def.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "absl/strings/str_cat.h"
#include "libs/base/fnv1a.h"
#include "libs/base/status.h"
#include "libs/graph/spec_parser.h"

namespace weft {

const AttrDef* OpDef::FindAttr(absl::string_view attr_name) const {
  for (const AttrDef& attr : attrs) {
    if (attr.name == attr_name) return &attr;
  }
  return nullptr;
}

OpDefBuilder::OpDefBuilder(absl::string_view name) : name_(name) {}

OpDefBuilder& OpDefBuilder::Input(absl::string_view spec) {
  inputs_.emplace_back(spec);
  return *this;
}
OpDefBuilder& OpDefBuilder::Output(absl::string_view spec) {
  outputs_.emplace_back(spec);
  return *this;
}
OpDefBuilder& OpDefBuilder::Attr(absl::string_view spec) {
  attrs_.emplace_back(spec);
  return *this;
}
OpDefBuilder& OpDefBuilder::Doc(absl::string_view summary) {
  def_.summary = std::string(summary);
  return *this;
}
OpDefBuilder& OpDefBuilder::Stateful() {
  def_.is_stateful = true;
  return *this;
}
OpDefBuilder& OpDefBuilder::Commutative() {
  def_.is_commutative = true;
  return *this;
}
OpDefBuilder& OpDefBuilder::Aggregate() {
  def_.is_aggregate = true;
  return *this;
}
OpDefBuilder& OpDefBuilder::AllowsUninitializedInput() {
  def_.allows_uninitialized_input = true;
  return *this;
}
OpDefBuilder& OpDefBuilder::Shape(ShapeFn fn) {
  def_.shape_fn = std::move(fn);
  return *this;
}
OpDefBuilder& OpDefBuilder::Value(ValueFn fn) {
  def_.value_fn = std::move(fn);
  return *this;
}

absl::StatusOr<OpDef> OpDefBuilder::Build() const {
  OpDef def = def_;
  def.name = name_;
  def.attrs.reserve(attrs_.size());
  for (const std::string& spec : attrs_) {
    ASSIGN_OR_RETURN(AttrDef attr, ParseAttrSpec(spec));
    if (def.FindAttr(attr.name) != nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("attr '", attr.name, "' is declared twice"));
    }
    def.attrs.push_back(std::move(attr));
  }
  def.inputs.reserve(inputs_.size());
  for (const std::string& spec : inputs_) {
    ASSIGN_OR_RETURN(ArgDef arg, ParseArgSpec(spec, def.attrs));
    def.inputs.push_back(std::move(arg));
  }
  def.outputs.reserve(outputs_.size());
  for (const std::string& spec : outputs_) {
    ASSIGN_OR_RETURN(ArgDef arg, ParseArgSpec(spec, def.attrs));
    def.outputs.push_back(std::move(arg));
  }
  if (!def.shape_fn) {
    return absl::InvalidArgumentError("the op has no shape function");
  }
  return def;
}

namespace {

[[noreturn]] void DieOfBadOp(absl::string_view why) {
  std::fprintf(stderr, "bad op definition: %.*s\n",
               static_cast<int>(why.size()), why.data());
  std::abort();
}

std::string Signature(const ArgDef& arg) {
  return absl::StrCat(arg.name, ":", static_cast<int>(arg.type), ":",
                      arg.type_attr, ":", arg.number_attr, ":",
                      arg.type_list_attr, ":", arg.is_ref, ";");
}

std::string Signature(const AttrDef& attr) {
  std::string result =
      absl::StrCat(attr.name, ":", attr.type, ":",
                   attr.default_value ? attr.default_value->ToString() : "",
                   ":", attr.minimum ? absl::StrCat(*attr.minimum) : "", ":");
  for (DataType type : attr.allowed_types) {
    absl::StrAppend(&result, static_cast<int>(type), ",");
  }
  for (const std::string& value : attr.allowed_strings) {
    absl::StrAppend(&result, "'", value, "',");
  }
  return result + ";";
}

std::string Signature(const OpDef& op) {
  std::string result = absl::StrCat(op.name, "(");
  for (const ArgDef& arg : op.inputs) result += Signature(arg);
  result += ")->(";
  for (const ArgDef& arg : op.outputs) result += Signature(arg);
  result += ")[";
  for (const AttrDef& attr : op.attrs) result += Signature(attr);
  return absl::StrCat(result, "]", op.is_stateful, "\n");
}

}  // namespace

void OpRegistry::Add(const OpDefBuilder& builder) {
  absl::StatusOr<OpDef> def = builder.Build();
  if (!def.ok()) DieOfBadOp(Annotate(def.status(), builder.name()).ToString());
  auto owned = std::make_unique<const OpDef>(*std::move(def));
  std::string name = owned->name;
  if (!ops_.emplace(name, std::move(owned)).second) {
    DieOfBadOp(absl::StrCat("op '", name, "' is defined twice"));
  }
}

const OpDef* OpRegistry::Find(absl::string_view name) const {
  auto it = ops_.find(name);
  return it == ops_.end() ? nullptr : it->second.get();
}

std::vector<const OpDef*> OpRegistry::List() const {
  std::vector<const OpDef*> result;
  for (const auto& [name, op] : ops_) result.push_back(op.get());
  std::sort(result.begin(), result.end(),
            [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  return result;
}

uint64_t OpRegistry::Fingerprint() const {
  uint64_t hash = kFnv1aOffset;
  for (const OpDef* op : List()) hash = ExtendFnv1a(hash, Signature(*op));
  return hash;
}

}  // namespace weft
