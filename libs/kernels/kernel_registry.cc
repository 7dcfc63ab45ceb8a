#include "libs/kernels/kernel_registry.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/graph/unknown_op.h"

namespace weft {
namespace {

bool Contains(const std::vector<DataType>& types, DataType type) {
  return std::find(types.begin(), types.end(), type) != types.end();
}

// A list of types matches if all its types do.
bool TypeMatches(const Node& node, const std::string& attr,
                 const std::vector<DataType>& allowed) {
  if (const DataType* type = node.attr<DataType>(attr)) {
    return Contains(allowed, RemoveRefType(*type));
  }
  const auto* list = node.attr<std::vector<DataType>>(attr);
  return list != nullptr &&
         std::all_of(list->begin(), list->end(), [&](DataType type) {
           return Contains(allowed, RemoveRefType(type));
         });
}

bool Matches(const KernelDef& def, const Node& node) {
  for (const auto& [attr, allowed] : def.types) {
    if (!TypeMatches(node, attr, allowed)) return false;
  }
  return true;
}

std::string EnumName(DataType type) {
  std::string name = DataTypeName(type);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  return absl::StrCat("DT_", name);
}

// The number of values of an argument of the node.
int64_t LengthOf(const ArgDef& arg, const Node& node) {
  if (!arg.number_attr.empty()) {
    const int64_t* number = node.attr<int64_t>(arg.number_attr);
    return number == nullptr ? 0 : *number;
  }
  if (arg.type_list_attr.empty()) return 1;
  const auto* types = node.attr<std::vector<DataType>>(arg.type_list_attr);
  return types == nullptr ? 0 : static_cast<int64_t>(types->size());
}

// The argument of value `i`; empty if there is none.
std::string ArgumentOf(const std::vector<ArgDef>& args, const Node& node,
                       int i) {
  int64_t end = 0;
  for (const ArgDef& arg : args) {
    end += LengthOf(arg, node);
    if (i < end) return arg.name;
  }
  return "";
}

bool IsOnHost(const KernelDef& def, DataType type,
              const std::vector<ArgDef>& args, const Node& node, int i) {
  if (DataTypeSize(RemoveRefType(type)) == 0) return true;  // not plain bytes
  const std::vector<std::string>& names = def.host_memory;
  if (names.empty()) return false;
  return names.front() == "*" ||
         std::find(names.begin(), names.end(), ArgumentOf(args, node, i)) !=
             names.end();
}

std::string Describe(const KernelDef& def) {
  std::string text = absl::StrCat("device='", def.device_type, "'");
  for (const auto& [attr, allowed] : def.types) {
    std::vector<std::string> names;
    for (DataType type : allowed) names.push_back(EnumName(type));
    absl::StrAppend(&text, "; ", attr, " in [", absl::StrJoin(names, ", "),
                    "]");
  }
  return text;
}

std::string RequestedTypes(const Node& node) {
  std::vector<std::string> texts;
  for (const auto& [name, value] : node.attrs()) {
    if (const auto* type = value.Get<DataType>()) {
      texts.push_back(absl::StrCat(name, "=", EnumName(*type)));
    } else if (value.Get<std::vector<DataType>>() != nullptr) {
      texts.push_back(absl::StrCat(name, "=", value.ToString()));
    }
  }
  return absl::StrJoin(texts, ", ");
}

}  // namespace

void KernelRegistry::Register(KernelDef def, KernelFactory factory) {
  const std::string op = def.op;
  by_op_[op].push_back(std::make_unique<Registration>(
      Registration{std::move(def), std::move(factory)}));
}

absl::Status KernelRegistry::NoKernel(const Node& node,
                                      absl::string_view device_type) const {
  std::string text =
      absl::StrCat("No registered '", node.type(), "' OpKernel for '",
                   device_type, "' devices compatible with node ", node.name());
  auto found = by_op_.find(node.type());
  if (found == by_op_.end()) {
    return absl::NotFoundError(
        absl::StrCat(text, ".  Registered:  <no registered kernels>"));
  }
  if (Has(node.type(), device_type)) {
    absl::StrAppend(&text,
                    " (OpKernel was found, but attributes didn't match) "
                    "Requested Attributes: ",
                    RequestedTypes(node));
  }
  absl::StrAppend(&text, ".  Registered:");
  for (const auto& registration : found->second) {
    absl::StrAppend(&text, "\n  ", Describe(registration->def));
  }
  return absl::NotFoundError(text);
}

absl::StatusOr<const KernelRegistry::Registration*> KernelRegistry::Find(
    const Node& node, absl::string_view device_type) const {
  // A kernel may rely on inputs that a node of an unknown op does not have.
  if (IsUnknown(node)) return NoKernel(node, device_type);
  const Registration* match = nullptr;
  auto found = by_op_.find(node.type());
  if (found == by_op_.end()) return NoKernel(node, device_type);
  for (const auto& registration : found->second) {
    if (registration->def.device_type != device_type) continue;
    if (!Matches(registration->def, node)) continue;
    if (match != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Multiple OpKernel registrations match node ", node.name(), " (",
          node.type(), "): '", Describe(match->def), "' and '",
          Describe(registration->def), "'"));
    }
    match = registration.get();
  }
  if (match == nullptr) return NoKernel(node, device_type);
  return match;
}

bool KernelRegistry::Has(absl::string_view op,
                         absl::string_view device_type) const {
  auto found = by_op_.find(op);
  if (found == by_op_.end()) return false;
  return std::any_of(found->second.begin(), found->second.end(),
                     [&](const auto& registration) {
                       return registration->def.device_type == device_type;
                     });
}

bool KernelRegistry::InputOnHost(const KernelDef& def, const Node& node,
                                 int i) {
  return IsOnHost(def, node.input_type(i), node.op().inputs, node, i);
}

bool KernelRegistry::OutputOnHost(const KernelDef& def, const Node& node,
                                  int i) {
  return IsOnHost(def, node.output_type(i), node.op().outputs, node, i);
}

std::vector<std::string> KernelRegistry::DeviceTypesFor(
    const Node& node) const {
  std::vector<std::string> types;
  auto found = by_op_.find(node.type());
  if (found == by_op_.end()) return types;
  for (const auto& registration : found->second) {
    if (!Matches(registration->def, node)) continue;
    types.push_back(registration->def.device_type);
  }
  std::sort(types.begin(), types.end());
  types.erase(std::unique(types.begin(), types.end()), types.end());
  return types;
}

std::vector<const KernelRegistry::Registration*> KernelRegistry::Registrations()
    const {
  std::vector<const Registration*> registrations;
  for (const auto& [op, of_op] : by_op_) {
    for (const auto& registration : of_op) {
      registrations.push_back(registration.get());
    }
  }
  std::stable_sort(registrations.begin(), registrations.end(),
                   [](const Registration* a, const Registration* b) {
                     return a->def.op < b->def.op;
                   });
  return registrations;
}

std::vector<const KernelDef*> KernelRegistry::List() const {
  std::vector<const KernelDef*> defs;
  for (const Registration* registration : Registrations()) {
    defs.push_back(&registration->def);
  }
  return defs;
}

}  // namespace weft
