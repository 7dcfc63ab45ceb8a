#include "integration_tests/testing/node_maker.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "integration_tests/testing/random_values.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

constexpr int kMaxDepth = 3;

bool NamesType(const OpDef& op, const std::string& attr) {
  const auto names = [&](const ArgDef& arg) { return arg.type_attr == attr; };
  return std::any_of(op.inputs.begin(), op.inputs.end(), names) ||
         std::any_of(op.outputs.begin(), op.outputs.end(), names);
}

bool NamesNumber(const OpDef& op, const std::string& attr) {
  const auto names = [&](const ArgDef& arg) {
    return arg.number_attr == attr || arg.type_list_attr == attr;
  };
  return std::any_of(op.inputs.begin(), op.inputs.end(), names) ||
         std::any_of(op.outputs.begin(), op.outputs.end(), names);
}

// Returns an op whose handle is a valid input for the op `consumer`.
std::string HandleOpFor(const std::string& consumer, bool is_ref) {
  if (absl::StrContains(consumer, "Queue")) {
    return is_ref ? "FIFOQueue" : "FIFOQueueV2";
  }
  if (absl::StrContains(consumer, "LookupTable")) {
    return is_ref ? "HashTable" : "MutableHashTableV2";
  }
  if (absl::StrContains(consumer, "TensorArray")) return "TensorArrayV3";
  if (absl::StrContains(consumer, "Stack")) return is_ref ? "Stack" : "StackV2";
  if (absl::StrContains(consumer, "Accumulator")) {
    return absl::StrContains(consumer, "Sparse")
               ? "SparseConditionalAccumulator"
               : "ConditionalAccumulator";
  }
  return "VarHandleOp";
}

}  // namespace

NodeMaker::NodeMaker(const OpRegistry& ops, Choices& choices, tf::GraphDef& def)
    : ops_(ops),
      choices_(choices),
      def_(def),
      favourite_sizes_(RandomSizes(choices)) {}

std::string NodeMaker::NewName(const std::string& op) {
  for (int i = def_.node_size();; ++i) {
    // The names of ops may begin with "_", but those of nodes may not.
    std::string name = absl::StrCat(absl::StripPrefix(op, "_"), "_", i);
    const bool taken =
        std::any_of(def_.node().begin(), def_.node().end(),
                    [&](const tf::NodeDef& n) { return n.name() == name; });
    if (!taken) return name;
  }
}

DataType NodeMaker::RandomType(const AttrDef& attr) {
  constexpr DataType kUsual[] = {DT_FLOAT, DT_FLOAT,     DT_INT32,   DT_INT64,
                                 DT_BOOL,  DT_STRING,    DT_DOUBLE,  DT_UINT8,
                                 DT_HALF,  DT_COMPLEX64, DT_RESOURCE};
  const auto& allowed = attr.allowed_types;
  const auto is_allowed = [&](DataType dtype) {
    return allowed.empty() ||
           std::find(allowed.begin(), allowed.end(), dtype) != allowed.end();
  };
  if (!outputs_.empty() && choices_.Percent(60)) {
    const DataType dtype = RemoveRefType(choices_.Of(outputs_).dtype);
    if (is_allowed(dtype)) return dtype;
  }
  const DataType usual = choices_.Of(kUsual);
  if (is_allowed(usual)) return usual;
  return choices_.Of(allowed);
}

void NodeMaker::RandomAttr(const AttrDef& attr, DataType dtype,
                           tf::AttrValue* value) {
  absl::string_view type = attr.type;
  const bool is_list =
      absl::ConsumePrefix(&type, "list(") && absl::ConsumeSuffix(&type, ")");
  if (is_list) value->mutable_list();
  int count = is_list ? static_cast<int>(choices_.Below(5)) : 1;
  if (is_list && attr.minimum) {
    count = std::max(count, static_cast<int>(*attr.minimum));
  }
  auto* list = value->mutable_list();
  for (int i = 0; i < count; ++i) {
    if (type == "int") list->add_i(RandomInteger(choices_));
    if (type == "float") {
      list->add_f(static_cast<float>(RandomNumber(choices_)));
    }
    if (type == "bool") list->add_b(choices_.Percent(50));
    if (type == "type") {
      list->add_type(static_cast<tf::DataType>(RandomType(attr)));
    }
    if (type == "shape") RandomShape(choices_, list->add_shape());
    if (type == "string") {
      list->add_s(attr.allowed_strings.empty()
                      ? RandomText(choices_)
                      : choices_.Of(attr.allowed_strings));
    }
    if (type == "tensor") {
      RandomTensor(choices_, dtype, RandomSizes(choices_), list->add_tensor());
    }
  }
  if (is_list) return;
  const tf::AttrValue::ListValue one = *list;
  value->clear_value();
  if (one.i_size() > 0) {
    // Values below the minimum are tested elsewhere, because they would be
    // rejected at once.
    value->set_i(std::max(one.i(0), attr.minimum.value_or(one.i(0))));
  }
  if (one.f_size() > 0) value->set_f(one.f(0));
  if (one.b_size() > 0) value->set_b(one.b(0));
  if (one.type_size() > 0) value->set_type(one.type(0));
  if (one.shape_size() > 0) *value->mutable_shape() = one.shape(0);
  if (one.s_size() > 0) value->set_s(one.s(0));
  if (one.tensor_size() > 0) *value->mutable_tensor() = one.tensor(0);
}

NodeMaker::Attrs NodeMaker::RandomAttrs(const OpDef& op) {
  Attrs attrs;
  DataType dtype = DT_FLOAT;
  for (const AttrDef& attr : op.attrs) {
    const bool is_number = NamesNumber(op, attr.name);
    // Always sets the attrs that determine the number and types of inputs.
    if (attr.default_value && !is_number && !NamesType(op, attr.name) &&
        choices_.Percent(60)) {
      continue;
    }
    tf::AttrValue value;
    RandomAttr(attr, dtype, &value);
    if (is_number && value.value_case() == tf::AttrValue::kI) {
      value.set_i(std::max<int64_t>(attr.minimum.value_or(0), 1) +
                  static_cast<int64_t>(choices_.Below(3)));
    }
    if (value.value_case() == tf::AttrValue::VALUE_NOT_SET) continue;
    if (value.value_case() == tf::AttrValue::kType) {
      dtype = static_cast<DataType>(value.type());
    }
    attrs[attr.name] = std::move(value);
  }
  return attrs;
}

std::vector<DataType> NodeMaker::TypesOf(const ArgDef& arg, const OpDef& op,
                                         const Attrs& attrs) const {
  const auto find = [&](const std::string& name) -> const tf::AttrValue* {
    const auto it = attrs.find(name);
    return it == attrs.end() ? nullptr : &it->second;
  };
  std::vector<DataType> types;
  if (!arg.type_list_attr.empty()) {
    const tf::AttrValue* list = find(arg.type_list_attr);
    if (list == nullptr) return types;
    for (const int type : list->list().type()) {
      types.push_back(static_cast<DataType>(type));
    }
    return types;
  }
  DataType type = arg.type;
  if (!arg.type_attr.empty()) {
    const tf::AttrValue* value = find(arg.type_attr);
    const AttrDef* attr = op.FindAttr(arg.type_attr);
    if (value != nullptr) type = static_cast<DataType>(value->type());
    if (value == nullptr && attr != nullptr && attr->default_value) {
      const DataType* otherwise = attr->default_value->Get<DataType>();
      if (otherwise != nullptr) type = *otherwise;
    }
  }
  if (arg.is_ref) type = MakeRefType(type);
  const tf::AttrValue* number =
      arg.number_attr.empty() ? nullptr : find(arg.number_attr);
  const int64_t count = number == nullptr ? 1 : number->i();
  types.assign(std::clamp<int64_t>(count, 0, 8), type);
  return types;
}

std::string NodeMaker::NewLeaf(DataType dtype) {
  std::vector<int64_t> sizes = favourite_sizes_;
  if (choices_.Percent(60)) sizes = RandomSizes(choices_);
  // Values of these types are used for axes, sizes and counts.
  const bool is_index = dtype == DT_INT32 || dtype == DT_INT64;
  if (is_index && choices_.Percent(70)) {
    sizes.assign(choices_.Below(2), static_cast<int64_t>(choices_.Below(5)));
  }
  return NewLeaf(dtype, sizes);
}

std::string NodeMaker::NewLeaf(DataType dtype,
                               const std::vector<int64_t>& sizes) {
  const bool is_fed = choices_.Percent(40);
  tf::NodeDef node;
  node.set_op(is_fed ? "Placeholder" : "Const");
  node.set_name(NewName(node.op()));
  (*node.mutable_attr())["dtype"].set_type(static_cast<tf::DataType>(dtype));
  RandomTensor(choices_, dtype, sizes,
               (*node.mutable_attr())[is_fed ? kFedValueAttr : "value"]
                   .mutable_tensor());
  *def_.add_node() = node;
  AddOutput({node.name(), dtype});
  return node.name();
}

// Returns the output of an Assign node, so that the variable has a value when
// it is used.
std::string NodeMaker::NewVariable(DataType dtype) {
  const std::string value = NewLeaf(RemoveRefType(dtype));
  tf::NodeDef variable;
  variable.set_op("VariableV2");
  variable.set_name(NewName("VariableV2"));
  auto& attrs = *variable.mutable_attr();
  attrs["dtype"].set_type(static_cast<tf::DataType>(RemoveRefType(dtype)));
  attrs["shape"].mutable_shape()->set_unknown_rank(true);
  *def_.add_node() = variable;
  tf::NodeDef assign;
  assign.set_op("Assign");
  assign.set_name(NewName("Assign"));
  assign.add_input(variable.name());
  assign.add_input(value);
  (*assign.mutable_attr())["T"].set_type(
      static_cast<tf::DataType>(RemoveRefType(dtype)));
  (*assign.mutable_attr())["validate_shape"].set_b(false);
  *def_.add_node() = assign;
  AddOutput({variable.name(), dtype});
  AddOutput({assign.name(), dtype});
  return assign.name();
}

std::string NodeMaker::NewHandle(const std::string& consumer, DataType dtype,
                                 int depth) {
  const OpDef* op = ops_.Find(HandleOpFor(consumer, dtype != DT_RESOURCE));
  if (op == nullptr || depth >= kMaxDepth) return NewLeaf(DT_STRING);
  return Add(*op, depth + 1);
}

std::string NodeMaker::Input(DataType dtype) {
  std::vector<const Output*> fitting;
  for (const Output& output : outputs_) {
    if (output.dtype == dtype || RemoveRefType(output.dtype) == dtype) {
      fitting.push_back(&output);
    }
  }
  if (!fitting.empty()) return choices_.Of(fitting)->name;
  return NewLeaf(RemoveRefType(dtype));
}

std::string NodeMaker::NewNode(const std::string& op, DataType dtype,
                               const std::vector<std::string>& inputs) {
  tf::NodeDef node;
  node.set_op(op);
  node.set_name(NewName(op));
  for (const std::string& input : inputs) node.add_input(input);
  (*node.mutable_attr())["T"].set_type(static_cast<tf::DataType>(dtype));
  if (op == "Conv2D") {
    auto& attrs = *node.mutable_attr();
    attrs["padding"].set_s("SAME");
    for (int i = 0; i < 4; ++i) attrs["strides"].mutable_list()->add_i(1);
  }
  *def_.add_node() = node;
  AddOutput({node.name(), dtype});
  return node.name();
}

std::string NodeMaker::NewProduct(DataType dtype, std::vector<int64_t>& sizes) {
  const auto size = [&] { return static_cast<int64_t>(1 + choices_.Below(4)); };
  const int64_t depth = size(), columns = size();
  if (choices_.Percent(25)) {
    sizes = {size(), size(), size(), columns};
    const std::string image =
        NewLeaf(dtype, {sizes[0], sizes[1], sizes[2], depth});
    const std::string filter = NewLeaf(dtype, {2, 2, depth, columns});
    return NewNode("Conv2D", dtype, {image, filter});
  }
  sizes = {size(), columns};
  const std::string a = NewLeaf(dtype, {sizes[0], depth});
  return NewNode("MatMul", dtype, {a, NewLeaf(dtype, {depth, columns})});
}

std::string NodeMaker::NewFunction(DataType dtype,
                                   const std::vector<int64_t>& sizes,
                                   const std::string& x,
                                   const std::string& before) {
  constexpr const char* kUnary[] = {"Relu", "Tanh",   "Sigmoid", "Exp", "Neg",
                                    "Elu",  "Square", "Relu6",   "Abs", "Sqrt"};
  constexpr const char* kBinary[] = {"AddV2",   "Mul",      "Sub",
                                     "RealDiv", "ReluGrad", "TanhGrad",
                                     "Maximum", "EluGrad",  "SigmoidGrad"};
  if (choices_.Percent(40)) return NewNode(choices_.Of(kUnary), dtype, {x});
  std::string y = before;
  const size_t kind = choices_.Below(100);
  if (kind < 40) y = NewLeaf(dtype, sizes);
  if (kind >= 40 && kind < 52) y = NewLeaf(dtype, {});
  if (kind >= 52 && kind < 60) y = NewLeaf(dtype, {sizes.back()});
  // The shape of this operand may not fit.
  if (kind >= 60 && kind < 70) y = Input(dtype);
  const bool is_first = choices_.Percent(60);
  return NewNode(choices_.Of(kBinary), dtype,
                 is_first ? std::vector<std::string>{x, y}
                          : std::vector<std::string>{y, x});
}

void NodeMaker::AddChain() {
  constexpr DataType kTypes[] = {DT_FLOAT, DT_FLOAT, DT_DOUBLE, DT_HALF};
  const DataType dtype = choices_.Of(kTypes);
  std::vector<int64_t> sizes = {static_cast<int64_t>(1 + choices_.Below(4)),
                                static_cast<int64_t>(1 + choices_.Below(5))};
  std::string x;
  if (choices_.Percent(50)) {
    x = NewProduct(dtype, sizes);
  } else {
    x = choices_.Percent(70) ? NewLeaf(dtype, sizes) : Input(dtype);
  }
  if (choices_.Percent(60)) {
    const bool fits = choices_.Percent(90);
    x = NewNode("BiasAdd", dtype,
                {x, NewLeaf(dtype, {sizes.back() + (fits ? 0 : 1)})});
  }
  std::string before = x;
  for (size_t i = 0, end = choices_.Below(5); i < end; ++i) {
    const std::string next = NewFunction(dtype, sizes, x, before);
    before = x;
    x = next;
  }
}

std::string NodeMaker::InputFor(const OpDef& consumer, DataType dtype,
                                int depth) {
  std::vector<const Output*> fitting;
  for (const Output& output : outputs_) {
    if (output.dtype == dtype) fitting.push_back(&output);
  }
  if (!fitting.empty() && choices_.Percent(60)) {
    return choices_.Of(fitting)->name;
  }
  const bool is_handle =
      dtype == DT_RESOURCE || dtype == MakeRefType(DT_STRING);
  if (is_handle) return NewHandle(consumer.name, dtype, depth);
  if (IsRefType(dtype)) return NewVariable(dtype);
  return NewLeaf(dtype);
}

void NodeMaker::AddInputs(const OpDef& op, const Attrs& attrs, int depth,
                          tf::NodeDef* node) {
  for (const ArgDef& arg : op.inputs) {
    for (const DataType type : TypesOf(arg, op, attrs)) {
      node->add_input(InputFor(op, type, depth));
    }
  }
}

void NodeMaker::AddOutputs(const OpDef& op, const Attrs& attrs,
                           const std::string& name) {
  int index = 0;
  for (const ArgDef& arg : op.outputs) {
    for (const DataType type : TypesOf(arg, op, attrs)) {
      AddOutput({index == 0 ? name : absl::StrCat(name, ":", index), type});
      ++index;
    }
  }
}

std::string NodeMaker::Add(const OpDef& op, int depth) {
  const Attrs attrs = RandomAttrs(op);
  tf::NodeDef node;
  node.set_op(op.name);
  AddInputs(op, attrs, depth, &node);
  node.set_name(NewName(op.name));
  for (const auto& [name, value] : attrs) (*node.mutable_attr())[name] = value;
  *def_.add_node() = node;
  AddOutputs(op, attrs, node.name());
  return node.name();
}

}  // namespace weft
