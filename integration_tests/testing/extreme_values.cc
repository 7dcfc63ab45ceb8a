#include "integration_tests/testing/extreme_values.h"

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "libs/tensor/data_type.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

// Removes all values except the first one, which then fills the whole shape.
template <typename Field>
void KeepOne(Field* field) {
  while (field->size() > 1) field->RemoveLast();
}

void KeepOneElement(tf::TensorProto* tensor) {
  for (auto* field : {tensor->mutable_int_val(), tensor->mutable_half_val()}) {
    KeepOne(field);
  }
  KeepOne(tensor->mutable_float_val());
  KeepOne(tensor->mutable_double_val());
  KeepOne(tensor->mutable_int64_val());
  KeepOne(tensor->mutable_uint32_val());
  KeepOne(tensor->mutable_uint64_val());
  KeepOne(tensor->mutable_bool_val());
  KeepOne(tensor->mutable_string_val());
  tensor->clear_scomplex_val();
  tensor->clear_dcomplex_val();
}

// Sets a shape with about a million elements, or with many rows but no
// elements.
void EnlargeShape(Choices& choices, tf::TensorProto* tensor) {
  const std::vector<int64_t> kShapes[] = {{1 << 20},
                                          {1024, 1024},
                                          {1, 1 << 20},
                                          {1 << 19, 2},
                                          {1 << 20, 1, 1},
                                          {8, 64, 64, 32},
                                          {int64_t{1} << 40, 0},
                                          {0, int64_t{1} << 40},
                                          {65536}};
  auto* shape = tensor->mutable_tensor_shape();
  shape->Clear();
  for (const int64_t size : choices.Of(kShapes)) {
    shape->add_dim()->set_size(size);
  }
  KeepOneElement(tensor);
}

void EnlargeText(Choices& choices, tf::TensorProto* tensor) {
  if (tensor->string_val_size() == 0) return;
  const size_t at = choices.Below(tensor->string_val_size());
  tensor->set_string_val(static_cast<int>(at),
                         std::string(size_t{1} << choices.Below(21), 'x'));
}

void ChangeInteger(Choices& choices, tf::TensorProto* tensor) {
  const int64_t value = ExtremeInteger(choices);
  if (tensor->int64_val_size() > 0) {
    const size_t at = choices.Below(tensor->int64_val_size());
    tensor->set_int64_val(static_cast<int>(at), value);
  } else if (tensor->int_val_size() > 0) {
    const size_t at = choices.Below(tensor->int_val_size());
    tensor->set_int_val(static_cast<int>(at),
                        static_cast<int32_t>(std::clamp<int64_t>(
                            value, std::numeric_limits<int32_t>::min(),
                            std::numeric_limits<int32_t>::max())));
  }
}

void MakeExtreme(Choices& choices, tf::TensorProto* tensor) {
  const auto dtype = static_cast<DataType>(tensor->dtype());
  if (dtype == DT_RESOURCE || dtype == DT_VARIANT) return;
  const bool is_index = dtype == DT_INT32 || dtype == DT_INT64;
  if (is_index && choices.Percent(40)) return ChangeInteger(choices, tensor);
  if (dtype == DT_STRING && choices.Percent(10)) EnlargeText(choices, tensor);
  if (choices.Percent(is_index ? 5 : 25)) EnlargeShape(choices, tensor);
}

// Returns whether the attr determines the number of inputs. Such attrs are not
// changed, because the graph would be rejected.
bool CountsInputs(const std::string& attr) {
  return attr == "N" || attr == "num" || attr == "num_split" || attr == "n";
}

}  // namespace

int64_t ExtremeInteger(Choices& choices) {
  constexpr int64_t kIntegers[] = {std::numeric_limits<int64_t>::max(),
                                   std::numeric_limits<int64_t>::min(),
                                   std::numeric_limits<int32_t>::max(),
                                   std::numeric_limits<int32_t>::min(),
                                   int64_t{1} << 62,
                                   int64_t{1} << 40,
                                   int64_t{1} << 33,
                                   int64_t{1} << 30,
                                   int64_t{1} << 24,
                                   1000000,
                                   65536,
                                   -1,
                                   0,
                                   1,
                                   2,
                                   100};
  return choices.Of(kIntegers);
}

void MakeExtreme(Choices& choices, tf::GraphDef* def) {
  for (tf::NodeDef& node : *def->mutable_node()) {
    // The names are sorted, because the order of a map differs between runs.
    std::vector<std::string> names;
    for (const auto& [name, value] : node.attr()) names.push_back(name);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      tf::AttrValue& value = (*node.mutable_attr())[name];
      if (value.has_tensor()) MakeExtreme(choices, value.mutable_tensor());
      const bool is_number = value.value_case() == tf::AttrValue::kI;
      if (is_number && !CountsInputs(name) && choices.Percent(20)) {
        value.set_i(ExtremeInteger(choices));
      }
    }
  }
}

}  // namespace weft
