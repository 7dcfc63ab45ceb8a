#include "integration_tests/testing/extreme_graph.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/text_format.h"
#include "integration_tests/testing/choices.h"
#include "integration_tests/testing/extreme_values.h"
#include "integration_tests/testing/node_maker.h"
#include "libs/ops/standard_ops.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

using Names = std::vector<std::string>;

// Adds a few nodes of random ops.
void AddNodes(const OpRegistry& ops, Choices& choices, tf::GraphDef* def) {
  NodeMaker maker(ops, choices, *def);
  for (size_t i = 0, end = 1 + choices.Below(3); i < end; ++i) {
    maker.Add(*choices.Of(ops.List()));
  }
}

// Builder adds nodes to a GraphDef and names them by number.
class Builder {
 public:
  explicit Builder(tf::GraphDef* def) : def_(*def) {}

  // Adds a node. The pointer is valid until the next node is added.
  tf::NodeDef* Node(const std::string& op, const Names& inputs) {
    tf::NodeDef* node = def_.add_node();
    node->set_op(op);
    node->set_name(absl::StrCat(op, "_", def_.node_size()));
    for (const std::string& input : inputs) node->add_input(input);
    return node;
  }
  std::string Typed(const std::string& op, DataType type, const Names& inputs) {
    tf::NodeDef* node = Node(op, inputs);
    SetType(node, "T", type);
    return node->name();
  }
  std::string Integer(DataType type, int64_t value) {
    tf::TensorProto* tensor = nullptr;
    const std::string name = Const(type, &tensor);
    if (type == DT_INT64) tensor->add_int64_val(value);
    if (type == DT_INT32) tensor->add_int_val(static_cast<int32_t>(value));
    if (type == DT_BOOL) tensor->add_bool_val(value % 2 != 0);
    return name;
  }
  std::string Text(const std::string& text) {
    tf::TensorProto* tensor = nullptr;
    const std::string name = Const(DT_STRING, &tensor);
    tensor->add_string_val(text);
    return name;
  }
  // Adds a tensor whose elements are all `text`, or zeros for types other than
  // string.
  std::string Filled(DataType type, const std::vector<int64_t>& sizes,
                     const std::string& text) {
    tf::TensorProto* tensor = nullptr;
    const std::string name = Const(type, &tensor);
    for (const int64_t size : sizes) {
      tensor->mutable_tensor_shape()->add_dim()->set_size(size);
    }
    if (type == DT_STRING) tensor->add_string_val(text);
    return name;
  }
  // Adds a vector whose only element is `size`.
  std::string Size(DataType type, int64_t size) {
    const std::string name = Integer(type, size);
    tf::NodeDef& node = *def_.mutable_node(def_.node_size() - 1);
    tf::TensorProto* tensor = (*node.mutable_attr())["value"].mutable_tensor();
    tensor->mutable_tensor_shape()->add_dim()->set_size(1);
    return name;
  }
  // Adds a vector of `size` ones.
  std::string Floats(int64_t size) {
    tf::TensorProto* tensor = nullptr;
    const std::string name = Const(DT_FLOAT, &tensor);
    tensor->mutable_tensor_shape()->add_dim()->set_size(size);
    tensor->add_float_val(1);
    return name;
  }
  static void SetType(tf::NodeDef* node, const char* attr, DataType type) {
    (*node->mutable_attr())[attr].set_type(static_cast<tf::DataType>(type));
  }

 private:
  std::string Const(DataType type, tf::TensorProto** tensor) {
    tf::NodeDef* node = Node("Const", {});
    SetType(node, "dtype", type);
    *tensor = (*node->mutable_attr())["value"].mutable_tensor();
    (*tensor)->set_dtype(static_cast<tf::DataType>(type));
    (*tensor)->mutable_tensor_shape();
    return node->name();
  }

  tf::GraphDef& def_;
};

// A loop of Enter and Exit nodes whose state grows in each iteration.
class GrowingLoop {
 public:
  GrowingLoop(Choices& choices, tf::GraphDef* def)
      : choices_(choices), builder_(def), def_(*def) {}

  void Add() {
    const Growth growth = Choose();
    const std::string limit = Enter(
        builder_.Integer(DT_INT64, ExtremeInteger(choices_)), DT_INT64, true);
    const std::string one =
        Enter(builder_.Integer(DT_INT64, 1), DT_INT64, true);
    const std::string axis =
        Enter(builder_.Integer(DT_INT32, 0), DT_INT32, true);
    const Turn counter = Begin(builder_.Integer(DT_INT64, 0), DT_INT64);
    const Turn state = Begin(growth.state, growth.type);
    const std::string condition =
        builder_
            .Node("LoopCond",
                  {builder_.Typed("Less", DT_INT64, {counter.merge, limit})})
            ->name();
    const std::string i = Switched(counter, DT_INT64, condition);
    const std::string x = Switched(state, growth.type, condition);
    End(counter, builder_.Typed("AddV2", DT_INT64, {i, one}), DT_INT64);
    End(state, Grown(growth, x, axis), growth.type);
  }

 private:
  struct Growth {
    std::string op;
    DataType type;
    std::string state;
  };
  struct Turn {
    std::string merge;
    int merge_node = 0;
  };

  Growth Choose() {
    constexpr const char* kOps[] = {"ConcatV2", "Pack",   "ExpandDims",
                                    "AddV2",    "Square", "Diag"};
    if (choices_.Percent(25)) {
      return {"StringJoin", DT_STRING, builder_.Text("growing")};
    }
    if (choices_.Percent(25)) {
      return {"TensorListPushBack", DT_VARIANT, EmptyList()};
    }
    const int64_t size = int64_t{1} << choices_.Below(12);
    return {choices_.Of(kOps), DT_FLOAT, builder_.Floats(size)};
  }

  std::string EmptyList() {
    const std::string shape = builder_.Integer(DT_INT32, -1);
    const std::string size = builder_.Integer(DT_INT32, -1);
    tf::NodeDef* node = builder_.Node("EmptyTensorList", {shape, size});
    Builder::SetType(node, "element_dtype", DT_FLOAT);
    Builder::SetType(node, "shape_type", DT_INT32);
    return node->name();
  }

  std::string Pushed(const std::string& list) {
    const std::string element = Enter(
        builder_.Floats(int64_t{1} << choices_.Below(16)), DT_FLOAT, true);
    tf::NodeDef* node = builder_.Node("TensorListPushBack", {list, element});
    Builder::SetType(node, "element_dtype", DT_FLOAT);
    return node->name();
  }

  std::string Grown(const Growth& growth, const std::string& x,
                    const std::string& axis) {
    const std::string& op = growth.op;
    if (op == "TensorListPushBack") return Pushed(x);
    Names inputs = {x};
    if (op == "StringJoin" || op == "Pack" || op == "AddV2") inputs = {x, x};
    if (op == "ConcatV2") inputs = {x, x, axis};
    if (op == "ExpandDims") inputs = {x, axis};
    tf::NodeDef* node = builder_.Node(op, inputs);
    auto& attrs = *node->mutable_attr();
    if (op != "StringJoin") Builder::SetType(node, "T", growth.type);
    if (op == "StringJoin" || op == "Pack" || op == "ConcatV2") {
      attrs["N"].set_i(2);
    }
    return node->name();
  }

  std::string Enter(const std::string& value, DataType type, bool is_constant) {
    tf::NodeDef* node = builder_.Node("Enter", {value});
    Builder::SetType(node, "T", type);
    auto& attrs = *node->mutable_attr();
    attrs["frame_name"].set_s("loop");
    attrs["is_constant"].set_b(is_constant);
    attrs["parallel_iterations"].set_i(parallel_iterations_);
    return node->name();
  }

  // Begins a loop for `value`. End sets the second input of its Merge.
  Turn Begin(const std::string& value, DataType type) {
    const std::string entered = Enter(value, type, false);
    tf::NodeDef* node = builder_.Node("Merge", {entered, entered});
    Builder::SetType(node, "T", type);
    (*node->mutable_attr())["N"].set_i(2);
    return {node->name(), def_.node_size() - 1};
  }

  std::string Switched(const Turn& turn, DataType type,
                       const std::string& condition) {
    const std::string name =
        builder_.Typed("Switch", type, {turn.merge, condition});
    builder_.Typed("Exit", type, {name});
    return absl::StrCat(name, ":1");
  }

  void End(const Turn& turn, const std::string& value, DataType type) {
    const std::string next = builder_.Typed("NextIteration", type, {value});
    def_.mutable_node(turn.merge_node)->set_input(1, next);
  }

  Choices& choices_;
  Builder builder_;
  tf::GraphDef& def_;
  const int64_t parallel_iterations_ = choices_.Percent(50) ? 10 : 1;
};

// A source dataset with many transformations, and an op that requests elements.
class DatasetTower {
 public:
  DatasetTower(const OpRegistry& ops, Choices& choices, tf::GraphDef* def)
      : choices_(choices), builder_(def) {
    for (const OpDef* op : ops.List()) {
      if (IsTransformation(*op)) transformations_.push_back(op);
      if (IsEnd(*op)) ends_.push_back(op);
    }
  }

  void Add() {
    std::string data = Source();
    const size_t height = choices_.Percent(80) ? 1 + choices_.Below(5)
                                               : size_t{1} << choices_.Below(8);
    const OpDef* same = choices_.Of(transformations_);
    const bool is_uniform = choices_.Percent(40);
    for (size_t i = 0; i < height; ++i) {
      data = On(is_uniform ? *same : *choices_.Of(transformations_), data);
    }
    if (choices_.Percent(60)) return Iterate(data);
    On(*choices_.Of(ends_), data);
  }

 private:
  // Returns whether SetAttrs can set all attrs of `op` for a dataset of
  // numbers.
  static bool TakesDataset(const OpDef& op) {
    constexpr const char* kTypes[] = {"int", "type", "list(type)",
                                      "list(shape)"};
    return absl::StrContains(op.name, "Dataset") &&
           !absl::StrContains(op.name, "Sparse") && !op.inputs.empty() &&
           op.inputs[0].type == DT_VARIANT &&
           absl::c_all_of(op.attrs, [&](const AttrDef& attr) {
             return attr.default_value ||
                    absl::c_linear_search(kTypes, attr.type);
           });
  }
  static bool IsTransformation(const OpDef& op) {
    return TakesDataset(op) && op.outputs.size() == 1 &&
           op.outputs[0].type == DT_VARIANT;
  }
  static bool IsEnd(const OpDef& op) {
    return TakesDataset(op) && !IsTransformation(op);
  }

  std::string Source() {
    const std::string from = builder_.Integer(DT_INT64, 0);
    const std::string to = builder_.Integer(DT_INT64, ExtremeInteger(choices_));
    const std::string step = builder_.Integer(DT_INT64, 1);
    tf::NodeDef* node = builder_.Node("RangeDataset", {from, to, step});
    SetElements(node);
    return node->name();
  }

  // Adds an iterator that requests the first element.
  void Iterate(const std::string& data) {
    tf::NodeDef* node = builder_.Node("Iterator", {});
    SetElements(node);
    (*node->mutable_attr())["container"].set_s("");
    (*node->mutable_attr())["shared_name"].set_s("");
    const std::string iterator = node->name();
    const std::string made =
        builder_.Node("MakeIterator", {data, iterator})->name();
    SetElements(
        builder_.Node("IteratorGetNext", {iterator, absl::StrCat("^", made)}));
  }

  static void SetElements(tf::NodeDef* node) {
    auto& attrs = *node->mutable_attr();
    attrs["output_types"].mutable_list()->add_type(tf::DT_INT64);
    attrs["output_shapes"].mutable_list()->add_shape()->set_unknown_rank(true);
  }

  std::string On(const OpDef& op, const std::string& data) {
    Names inputs;
    for (const ArgDef& arg : op.inputs) {
      const DataType type = arg.type == DT_INVALID ? DT_INT64 : arg.type;
      if (type == DT_VARIANT) {
        inputs.push_back(data);
        if (!arg.number_attr.empty()) inputs.push_back(data);
      } else if (type == DT_STRING) {
        inputs.push_back(builder_.Text(""));
      } else {
        inputs.push_back(builder_.Integer(type, ExtremeInteger(choices_)));
      }
    }
    tf::NodeDef* node = builder_.Node(op.name, inputs);
    SetAttrs(op, node);
    return node->name();
  }

  static void SetAttrs(const OpDef& op, tf::NodeDef* node) {
    for (const AttrDef& attr : op.attrs) {
      if (attr.default_value) continue;
      auto& value = (*node->mutable_attr())[attr.name];
      if (attr.type == "int") value.set_i(2);
      if (attr.type == "type") value.set_type(tf::DT_INT64);
      if (attr.type == "list(type)")
        value.mutable_list()->add_type(tf::DT_INT64);
      if (attr.type == "list(shape)") {
        value.mutable_list()->add_shape()->set_unknown_rank(true);
      }
    }
  }

  Choices& choices_;
  Builder builder_;
  std::vector<const OpDef*> transformations_, ends_;
};

// Adds an op on strings or sparse tensors that gets the same tensor at many
// inputs. Its outputs may be much larger than its inputs.
class SharedInputs {
 public:
  SharedInputs(const OpRegistry& ops, Choices& choices, tf::GraphDef* def)
      : choices_(choices), builder_(def) {
    for (const OpDef* op : ops.List()) {
      if (IsCandidate(*op)) ops_.push_back(op);
    }
  }

  void Add() {
    const OpDef& op = *choices_.Of(ops_);
    Names inputs;
    for (const ArgDef& arg : op.inputs) {
      inputs.insert(inputs.end(), IsList(arg) ? copies_ : 1, Input(op, arg));
    }
    tf::NodeDef* node = builder_.Node(op.name, inputs);
    for (const AttrDef& attr : op.attrs) SetAttr(op, attr, node);
  }

 private:
  static bool IsList(const ArgDef& arg) {
    return !arg.number_attr.empty() || !arg.type_list_attr.empty();
  }
  static bool IsCandidate(const OpDef& op) {
    const auto has_strings = [&](const ArgDef& arg) {
      return TypeOf(op, arg) == DT_STRING;
    };
    const auto is_value = [&](const ArgDef& arg) {
      const DataType type = TypeOf(op, arg);
      return !arg.is_ref && type != DT_RESOURCE && type != DT_VARIANT;
    };
    const auto is_plain = [](const AttrDef& attr) {
      return attr.default_value || attr.type != "tensor";
    };
    return absl::c_any_of(op.inputs, IsList) &&
           absl::c_all_of(op.inputs, is_value) &&
           absl::c_all_of(op.attrs, is_plain) &&
           (absl::StrContains(op.name, "Sparse") ||
            absl::c_any_of(op.inputs, has_strings));
  }

  // Returns DT_STRING if the attr allows it, or else the first allowed type.
  static DataType TypeOf(const AttrDef& attr) {
    const auto& allowed = attr.allowed_types;
    const bool has_strings =
        allowed.empty() || absl::c_linear_search(allowed, DT_STRING);
    return has_strings ? DT_STRING : allowed[0];
  }
  static DataType TypeOf(const OpDef& op, const ArgDef& arg) {
    const std::string& name =
        arg.type_attr.empty() ? arg.type_list_attr : arg.type_attr;
    return name.empty() ? arg.type : TypeOf(*op.FindAttr(name));
  }

  // Adds an input of the op. All elements of a sparse tensor have the same
  // position, the first one.
  std::string Input(const OpDef& op, const ArgDef& arg) {
    const DataType type = TypeOf(op, arg);
    if (absl::StrContains(arg.name, "shape")) {
      return builder_.Size(type, count_);
    }
    if (absl::StrContains(arg.name, "indices")) {
      return builder_.Filled(type, {count_, 1}, "");
    }
    const bool is_many = type == DT_STRING || IsList(arg) ||
                         absl::StrContains(arg.name, "values");
    if (!is_many) return builder_.Filled(type, {}, "");
    if (absl::StrContains(arg.name, "dense")) {
      return builder_.Filled(type, {1, count_}, text_);
    }
    return builder_.Filled(type, {count_}, text_);
  }

  void SetAttr(const OpDef& op, const AttrDef& attr, tf::NodeDef* node) {
    const auto is_named = [&](std::string ArgDef::*name) {
      return absl::c_any_of(
          op.inputs, [&](const ArgDef& arg) { return arg.*name == attr.name; });
    };
    const auto type = static_cast<tf::DataType>(
        attr.type == "type" || attr.type == "list(type)" ? TypeOf(attr)
                                                         : DT_INVALID);
    tf::AttrValue value;
    if (is_named(&ArgDef::number_attr)) {
      value.set_i(copies_);
    } else if (is_named(&ArgDef::type_list_attr)) {
      for (int64_t i = 0; i < copies_; ++i) {
        value.mutable_list()->add_type(type);
      }
    } else if (attr.type == "type") {
      value.set_type(type);
    } else if (attr.default_value) {
      return;
    } else if (attr.type == "int") {
      value.set_i(attr.minimum.value_or(-1));
    } else if (attr.type == "bool") {
      value.set_b(choices_.Percent(50));
    } else if (attr.type == "shape") {
      value.mutable_shape()->set_unknown_rank(true);
    } else if (attr.type == "string") {
      value.set_s(attr.allowed_strings.empty() ? "" : attr.allowed_strings[0]);
    } else {
      value.mutable_list();
    }
    (*node->mutable_attr())[attr.name] = value;
  }

  // Returns a serialized Summary with `count` empty values.
  static std::string EmptyValues(size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text.append("\n\0", 2);
    return text;
  }

  Choices& choices_;
  Builder builder_;
  std::vector<const OpDef*> ops_;
  const int64_t copies_ = int64_t{1} << choices_.Below(9);
  const int64_t count_ = int64_t{1} << choices_.Below(13);
  const std::string text_ = EmptyValues(size_t{1} << choices_.Below(11));
};

}  // namespace

std::string ExtremeGraph(uint64_t seed) {
  const std::shared_ptr<const OpRegistry> ops = StandardOps();
  Choices choices(seed);
  tf::GraphDef def;
  const size_t kind = choices.Below(100);
  if (kind < 15) {
    GrowingLoop(choices, &def).Add();
  } else if (kind < 35) {
    DatasetTower(*ops, choices, &def).Add();
  } else if (kind < 45) {
    SharedInputs(*ops, choices, &def).Add();
  } else {
    AddNodes(*ops, choices, &def);
    MakeExtreme(choices, &def);
  }
  std::string text;
  google::protobuf::TextFormat::PrintToString(def, &text);
  return text;
}

}  // namespace weft
