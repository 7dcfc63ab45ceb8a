#include "libs/graph/import/attr_value_proto.h"

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/tensor_proto_convert.h"
#include "schemas/tf/attr_value.pb.h"

namespace weft {
namespace {

using ListProto = tf::AttrValue::ListValue;

absl::StatusOr<NameAttrList> FunctionFromProto(const tf::NameAttrList& proto,
                                               bool in_function) {
  auto attrs = std::make_shared<AttrMap>();
  for (const auto& [name, value] : proto.attr()) {
    ASSIGN_OR_RETURN((*attrs)[name],
                     AttrValueFromProto(value, "", in_function));
  }
  return NameAttrList{proto.name(), std::move(attrs)};
}

void FunctionToProto(const NameAttrList& function, tf::NameAttrList* proto) {
  proto->set_name(function.name);
  if (function.attrs == nullptr) return;
  for (const auto& [name, value] : *function.attrs) {
    AttrValueToProto(value, &(*proto->mutable_attr())[name]);
  }
}

absl::StatusOr<Tensor> TensorValue(const tf::TensorProto& proto) {
  return TensorFromProto(proto, HeapAllocator());
}

template <typename T, typename Values>
AttrValue Copied(const Values& values) {
  return std::vector<T>(values.begin(), values.end());
}

template <typename T, typename Values, typename Convert>
absl::StatusOr<AttrValue> Converted(const Values& values, Convert convert) {
  std::vector<T> result;
  for (const auto& value : values) {
    ASSIGN_OR_RETURN(T element, convert(value));
    result.push_back(std::move(element));
  }
  return AttrValue(std::move(result));
}

AttrValue TypesFromProto(const ListProto& list) {
  std::vector<DataType> types;
  for (const int type : list.type()) {
    types.push_back(static_cast<DataType>(type));
  }
  return types;
}

// Reads a list. Its values determine the type of the elements. Only an empty
// list gets its type from the OpDef.
absl::StatusOr<AttrValue> ListFromProto(const ListProto& list,
                                        absl::string_view type,
                                        bool in_function) {
  const auto is = [&](int size, absl::string_view kind) {
    return size > 0 || (list.ByteSizeLong() == 0 && type == kind);
  };
  if (is(list.i_size(), "list(int)")) return Copied<int64_t>(list.i());
  if (is(list.f_size(), "list(float)")) return Copied<float>(list.f());
  if (is(list.b_size(), "list(bool)")) return Copied<bool>(list.b());
  if (is(list.type_size(), "list(type)")) return TypesFromProto(list);
  if (is(list.shape_size(), "list(shape)")) {
    return Converted<PartialShape>(list.shape(), ShapeFromProto);
  }
  if (is(list.tensor_size(), "list(tensor)")) {
    return Converted<Tensor>(list.tensor(), TensorValue);
  }
  if (is(list.func_size(), "list(func)")) {
    return Converted<NameAttrList>(
        list.func(), [in_function](const tf::NameAttrList& function) {
          return FunctionFromProto(function, in_function);
        });
  }
  return Copied<std::string>(list.s());
}

// Writer has one overload for each alternative of AttrValue::Value, and writes
// the value to the message.
class Writer {
 public:
  explicit Writer(tf::AttrValue* proto) : proto_(proto) {}

  void operator()(std::monostate) {}
  void operator()(const std::string& v) { proto_->set_s(v); }
  void operator()(int64_t v) { proto_->set_i(v); }
  void operator()(float v) { proto_->set_f(v); }
  void operator()(bool v) { proto_->set_b(v); }
  void operator()(DataType v) {
    proto_->set_type(static_cast<tf::DataType>(v));
  }
  void operator()(const PartialShape& v) {
    ShapeToProto(v, proto_->mutable_shape());
  }
  void operator()(const Tensor& v) {
    TensorToProto(v, proto_->mutable_tensor());
  }
  void operator()(const NameAttrList& v) {
    FunctionToProto(v, proto_->mutable_func());
  }
  void operator()(const AttrPlaceholder& v) { proto_->set_placeholder(v.name); }
  template <typename T>
  void operator()(const std::vector<T>& values) {
    ListProto* list = proto_->mutable_list();
    for (const T& value : values) Add(value, list);
  }

 private:
  static void Add(const std::string& v, ListProto* list) { list->add_s(v); }
  static void Add(int64_t v, ListProto* list) { list->add_i(v); }
  static void Add(float v, ListProto* list) { list->add_f(v); }
  static void Add(bool v, ListProto* list) { list->add_b(v); }
  static void Add(DataType v, ListProto* list) {
    list->add_type(static_cast<tf::DataType>(v));
  }
  static void Add(const PartialShape& v, ListProto* list) {
    ShapeToProto(v, list->add_shape());
  }
  static void Add(const Tensor& v, ListProto* list) {
    TensorToProto(v, list->add_tensor());
  }
  static void Add(const NameAttrList& v, ListProto* list) {
    FunctionToProto(v, list->add_func());
  }

  tf::AttrValue* const proto_;
};

template <typename T>
absl::StatusOr<AttrValue> AsAttr(absl::StatusOr<T> value) {
  if (!value.ok()) return std::move(value).status();
  return AttrValue(*std::move(value));
}

}  // namespace

absl::StatusOr<AttrValue> AttrValueFromProto(const tf::AttrValue& proto,
                                             absl::string_view type,
                                             bool in_function) {
  switch (proto.value_case()) {
    case tf::AttrValue::kList:
      return ListFromProto(proto.list(), type, in_function);
    case tf::AttrValue::kS:
      return AttrValue(proto.s());
    case tf::AttrValue::kI:
      return AttrValue(int64_t{proto.i()});
    case tf::AttrValue::kF:
      return AttrValue(proto.f());
    case tf::AttrValue::kB:
      return AttrValue(proto.b());
    case tf::AttrValue::kType:
      return AttrValue(static_cast<DataType>(proto.type()));
    case tf::AttrValue::kShape:
      return AsAttr(ShapeFromProto(proto.shape()));
    case tf::AttrValue::kTensor:
      return AsAttr(TensorValue(proto.tensor()));
    case tf::AttrValue::kFunc:
      return AsAttr(FunctionFromProto(proto.func(), in_function));
    case tf::AttrValue::kPlaceholder:
      if (in_function) return AttrValue(AttrPlaceholder{proto.placeholder()});
      return absl::InvalidArgumentError(
          absl::StrCat("placeholder '", proto.placeholder(),
                       "' is only allowed inside a function"));
    case tf::AttrValue::VALUE_NOT_SET:
      return AttrValue();
  }
  return AttrValue();
}

void AttrValueToProto(const AttrValue& value, tf::AttrValue* proto) {
  proto->Clear();
  std::visit(Writer(proto), value.value());
}

}  // namespace weft
