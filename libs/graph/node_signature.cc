#include "libs/graph/node_signature.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/graph/unknown_op.h"

namespace weft {
namespace {

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

template <typename T>
const T* Find(const AttrMap& attrs, absl::string_view name) {
  auto it = attrs.find(name);
  return it == attrs.end() ? nullptr : it->second.Get<T>();
}

// Returns an empty list of the attr's type. In a GraphDef an empty list has no
// type.
AttrValue EmptyList(absl::string_view type) {
  if (type == "list(string)") return std::vector<std::string>();
  if (type == "list(int)") return std::vector<int64_t>();
  if (type == "list(float)") return std::vector<float>();
  if (type == "list(bool)") return std::vector<bool>();
  if (type == "list(type)") return std::vector<DataType>();
  if (type == "list(shape)") return std::vector<PartialShape>();
  if (type == "list(tensor)") return std::vector<Tensor>();
  return std::vector<NameAttrList>();
}

// Returns the number of elements of a list, or -1 for a value that is not a
// list.
template <typename T>
int64_t LengthOfList(const T&) {
  return -1;
}
template <typename T>
int64_t LengthOfList(const std::vector<T>& list) {
  return static_cast<int64_t>(list.size());
}
int64_t ListLength(const AttrValue& value) {
  return std::visit([](const auto& v) { return LengthOfList(v); },
                    value.value());
}

}  // namespace

int ArgLength(const ArgDef& arg, const AttrMap& attrs) {
  if (!arg.number_attr.empty()) {
    const int64_t* n = Find<int64_t>(attrs, arg.number_attr);
    return n == nullptr ? 0 : static_cast<int>(*n);
  }
  if (!arg.type_list_attr.empty()) {
    const auto* types = Find<std::vector<DataType>>(attrs, arg.type_list_attr);
    return types == nullptr ? 0 : static_cast<int>(types->size());
  }
  return 1;
}

namespace {

std::string SummarizeArg(const ArgDef& arg) {
  std::string type = !arg.type_list_attr.empty() ? arg.type_list_attr
                     : !arg.type_attr.empty()    ? arg.type_attr
                                                 : DataTypeName(arg.type);
  if (arg.is_ref) type = absl::StrCat("Ref(", type, ")");
  if (!arg.number_attr.empty()) type = absl::StrCat(arg.number_attr, "*", type);
  return absl::StrCat(arg.name, ":", type);
}

std::string SummarizeArgs(const std::vector<ArgDef>& args) {
  return absl::StrJoin(args, ", ", [](std::string* out, const ArgDef& arg) {
    absl::StrAppend(out, SummarizeArg(arg));
  });
}

}  // namespace

std::string SummarizeOp(const OpDef& op) {
  return absl::StrCat("Op<name=", op.name,
                      "; signature=", SummarizeArgs(op.inputs), " -> ",
                      SummarizeArgs(op.outputs), ">");
}

namespace {

// Returns the name of the attr that determines the number of tensors of `arg`,
// or "" if the argument is one tensor.
const std::string& LengthAttr(const ArgDef& arg) {
  return arg.number_attr.empty() ? arg.type_list_attr : arg.number_attr;
}

absl::Status MissingAttr(const OpDef& op, absl::string_view name) {
  return Invalid("NodeDef missing attr '", name, "' from ", SummarizeOp(op));
}

// The attr of a length that must be inferred because the attrs do not have it,
// and the number of arguments that have this length.
struct OpenLength {
  std::string attr;
  int shares = 0;
};

// Returns the only length that must be inferred from the number of inputs. A
// second missing length must have a default.
absl::StatusOr<OpenLength> FindOpenLength(const OpDef& op, AttrMap& attrs) {
  OpenLength open;
  for (const ArgDef& arg : op.inputs) {
    const std::string& name = LengthAttr(arg);
    if (name.empty() || attrs.contains(name)) continue;
    if (open.shares == 0 || open.attr == name) {
      open.attr = name;
      ++open.shares;
      continue;
    }
    const AttrDef* attr = op.FindAttr(name);
    if (!attr->default_value) return MissingAttr(op, name);
    attrs[name] = *attr->default_value;
  }
  return open;
}

// Resolver infers attrs and types of one new node from its inputs.
class Resolver {
 public:
  Resolver(const OpDef& op, const NodeSpec& spec) : op_(op), spec_(spec) {
    signature_.attrs = spec.attrs;
  }

  absl::StatusOr<NodeSignature> Resolve() {
    RETURN_IF_ERROR(InferFromInputs());
    RETURN_IF_ERROR(CompleteAttrs());
    RETURN_IF_ERROR(CheckUnknownAttrs());
    RETURN_IF_ERROR(Types(op_.inputs, &signature_.input_types));
    RETURN_IF_ERROR(Types(op_.outputs, &signature_.output_types));
    RETURN_IF_ERROR(CheckInputs());
    return std::move(signature_);
  }

 private:
  AttrMap& attrs() { return signature_.attrs; }

  absl::Status InferFromInputs() {
    ASSIGN_OR_RETURN(
        const std::vector<int> lengths,
        InputLengths(op_, attrs(), static_cast<int>(spec_.inputs.size())));
    size_t next = 0;
    for (size_t i = 0; i < lengths.size(); ++i) {
      const auto count = static_cast<size_t>(lengths[i]);
      if (next + count > spec_.inputs.size()) break;  // CheckInputs reports it
      const ArgDef& arg = op_.inputs[i];
      if (!arg.number_attr.empty()) {
        attrs().emplace(arg.number_attr, int64_t{lengths[i]});
      }
      InferTypes(arg, absl::MakeSpan(spec_.inputs).subspan(next, count));
      next += count;
    }
    return absl::OkStatus();
  }

  void InferTypes(const ArgDef& arg, absl::Span<const OutputTensor> inputs) {
    if (!arg.type_list_attr.empty()) {
      if (attrs().contains(arg.type_list_attr)) return;
      std::vector<DataType> types;
      for (const OutputTensor& input : inputs) types.push_back(BaseType(input));
      attrs()[arg.type_list_attr] = std::move(types);
    } else if (!arg.type_attr.empty() && !attrs().contains(arg.type_attr)) {
      for (const OutputTensor& input : inputs) {
        if (input.node == nullptr) continue;
        attrs()[arg.type_attr] = BaseType(input);
        return;
      }
    }
  }

  static DataType BaseType(const OutputTensor& input) {
    if (input.node == nullptr) return DT_INVALID;
    return RemoveRefType(input.node->output_type(input.index));
  }

  absl::Status CompleteAttrs() {
    for (const AttrDef& def : op_.attrs) {
      auto it = attrs().find(def.name);
      if (it == attrs().end() || !it->second.IsSet()) {
        if (!def.default_value) return MissingAttr(op_, def.name);
        attrs()[def.name] = *def.default_value;
        continue;
      }
      RETURN_IF_ERROR(CheckAttr(def, it->second));
    }
    return absl::OkStatus();
  }

  absl::Status CheckAttr(const AttrDef& def, AttrValue& value) {
    if (value.KindName() != def.type) {
      if (!absl::StartsWith(def.type, "list(") || ListLength(value) != 0) {
        return Invalid("AttrValue had value with type '", value.KindName(),
                       "' when '", def.type, "' expected\n\t for attr '",
                       def.name, "'");
      }
      value = EmptyList(def.type);
    }
    RETURN_IF_ERROR(CheckMinimum(def, value));
    RETURN_IF_ERROR(CheckTypes(def, value));
    return CheckStrings(def, value);
  }

  static absl::Status CheckMinimum(const AttrDef& def, const AttrValue& value) {
    // A negative number of tensors is invalid, whatever minimum the op has.
    if (const int64_t* number = value.Get<int64_t>()) {
      if (def.minimum && *number < *def.minimum) {
        return Invalid("Value for attr '", def.name, "' of ", *number,
                       " must be at least minimum ", *def.minimum);
      }
    } else if (def.minimum && ListLength(value) < *def.minimum) {
      return Invalid("Length for attr '", def.name, "' of ", ListLength(value),
                     " must be at least minimum ", *def.minimum);
    }
    return absl::OkStatus();
  }

  static absl::Status CheckType(const AttrDef& def, DataType type) {
    if (def.allowed_types.empty()) {
      if (type != DT_INVALID) return absl::OkStatus();
      return Invalid("Value for attr '", def.name, "' is not a valid type");
    }
    if (std::count(def.allowed_types.begin(), def.allowed_types.end(), type)) {
      return absl::OkStatus();
    }
    return Invalid("Value for attr '", def.name, "' of ", DataTypeName(type),
                   " is not in the list of allowed values: ",
                   absl::StrJoin(def.allowed_types, ", ",
                                 [](std::string* out, DataType allowed) {
                                   out->append(DataTypeName(allowed));
                                 }));
  }

  static absl::Status CheckTypes(const AttrDef& def, const AttrValue& value) {
    if (const DataType* type = value.Get<DataType>()) {
      return CheckType(def, *type);
    }
    if (const auto* types = value.Get<std::vector<DataType>>()) {
      for (DataType type : *types) RETURN_IF_ERROR(CheckType(def, type));
    }
    return absl::OkStatus();
  }

  static absl::Status CheckString(const AttrDef& def,
                                  const std::string& value) {
    const auto& allowed = def.allowed_strings;
    if (allowed.empty() ||
        std::count(allowed.begin(), allowed.end(), value) != 0) {
      return absl::OkStatus();
    }
    return Invalid("Value for attr '", def.name, "' of \"", value,
                   "\" is not in the list of allowed values: \"",
                   absl::StrJoin(allowed, "\", \""), "\"");
  }

  static absl::Status CheckStrings(const AttrDef& def, const AttrValue& value) {
    if (const auto* one = value.Get<std::string>()) {
      return CheckString(def, *one);
    }
    if (const auto* list = value.Get<std::vector<std::string>>()) {
      for (const std::string& one : *list) {
        RETURN_IF_ERROR(CheckString(def, one));
      }
    }
    return absl::OkStatus();
  }

  absl::Status CheckUnknownAttrs() {
    for (const auto& [name, value] : attrs()) {
      if (absl::StartsWith(name, "_") || op_.FindAttr(name) != nullptr) {
        continue;
      }
      return Invalid("NodeDef mentions attr '", name, "' not in ",
                     SummarizeOp(op_));
    }
    return absl::OkStatus();
  }

  // REQUIRES: attrs() is complete.
  absl::Status Types(const std::vector<ArgDef>& args, DataTypeVector* types) {
    for (const ArgDef& arg : args) {
      if (!arg.number_attr.empty()) {
        const int64_t n = *Find<int64_t>(attrs(), arg.number_attr);
        if (n < 0 || n > kMaxTensors) {
          return Invalid("Value for attr '", arg.number_attr, "' of ", n,
                         " must be between 0 and ", kMaxTensors);
        }
      }
      const int count = ArgLength(arg, attrs());
      if (static_cast<int64_t>(types->size()) + count > kMaxTensors) {
        return Invalid("its attrs ask for more than ", kMaxTensors,
                       " inputs or outputs");
      }
      for (int i = 0; i < count; ++i) types->push_back(TypeOf(arg, i));
    }
    return absl::OkStatus();
  }

  DataType TypeOf(const ArgDef& arg, int i) {
    DataType type = arg.type;
    if (!arg.type_list_attr.empty()) {
      type = (*Find<std::vector<DataType>>(attrs(), arg.type_list_attr))[i];
    } else if (!arg.type_attr.empty()) {
      type = *Find<DataType>(attrs(), arg.type_attr);
    }
    return arg.is_ref ? MakeRefType(type) : type;
  }

  absl::Status CheckInputs() {
    const DataTypeVector& expected = signature_.input_types;
    if (expected.size() != spec_.inputs.size()) {
      return Invalid("NodeDef expected inputs '",
                     absl::StrJoin(expected, ", ",
                                   [](std::string* out, DataType type) {
                                     out->append(DataTypeName(type));
                                   }),
                     "' do not match ", spec_.inputs.size(),
                     " inputs specified; ", SummarizeOp(op_));
    }
    for (size_t i = 0; i < expected.size(); ++i) {
      const OutputTensor& input = spec_.inputs[i];
      if (input.node == nullptr || IsOfUnknown(input)) continue;
      const DataType given = input.node->output_type(input.index);
      // A reference may be passed where a value is expected; then its value is
      // read.
      if (given == expected[i] || RemoveRefType(given) == expected[i]) continue;
      return Invalid("Input ", i, " of node ", spec_.name, " was passed ",
                     DataTypeName(given), " from ", TensorName(input),
                     " incompatible with expected ", DataTypeName(expected[i]),
                     ".");
    }
    return absl::OkStatus();
  }

  // The maximum number of tensors of one argument list, far above any real
  // graph. It limits the memory that a hostile attr can request.
  static constexpr int64_t kMaxTensors = 1 << 20;

  const OpDef& op_;
  const NodeSpec& spec_;
  NodeSignature signature_;
};

}  // namespace

absl::StatusOr<NodeSignature> ResolveSignature(const OpDef& op,
                                               const NodeSpec& spec) {
  return Resolver(op, spec).Resolve();
}

absl::StatusOr<std::vector<int>> InputLengths(const OpDef& op,
                                              const AttrMap& attrs,
                                              int num_inputs) {
  AttrMap known = attrs;
  ASSIGN_OR_RETURN(const OpenLength open, FindOpenLength(op, known));
  std::vector<int> lengths;
  int64_t rest = num_inputs;
  for (const ArgDef& arg : op.inputs) {
    const bool is_open = open.shares > 0 && LengthAttr(arg) == open.attr;
    lengths.push_back(is_open ? 0 : std::max(0, ArgLength(arg, known)));
    rest -= lengths.back();
  }
  if (open.shares == 0) return lengths;
  if (rest < 0 || rest % open.shares != 0) {
    return Invalid("can't divide ", num_inputs,
                   " inputs among the arguments of ", SummarizeOp(op));
  }
  for (size_t i = 0; i < lengths.size(); ++i) {
    if (LengthAttr(op.inputs[i]) == open.attr) {
      lengths[i] = static_cast<int>(rest / open.shares);
    }
  }
  return lengths;
}

}  // namespace weft
