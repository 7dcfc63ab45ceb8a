#include "integration_tests/testing/random_values.h"

#include <limits>

#include "schemas/tf/tensor.pb.h"

namespace weft {
namespace {

constexpr int64_t kMaxElements = 64;

// Adds a value to the field if `at` is negative, or else changes value `at`.
template <typename Field, typename Value>
void Put(Field* field, int at, Value value) {
  if (at < 0) {
    *field->Add() = value;
  } else if (field->size() > 0) {
    (*field)[at % field->size()] = value;
  }
}

void PutText(Choices& choices, int at, tf::TensorProto* tensor) {
  if (at < 0) {
    tensor->add_string_val(RandomText(choices));
  } else if (tensor->string_val_size() > 0) {
    tensor->set_string_val(at % tensor->string_val_size(), RandomText(choices));
  }
}

void PutElement(Choices& choices, int at, tf::TensorProto* tensor) {
  switch (static_cast<DataType>(tensor->dtype())) {
    case DT_FLOAT:
      return Put(tensor->mutable_float_val(), at,
                 static_cast<float>(RandomNumber(choices)));
    case DT_DOUBLE:
      return Put(tensor->mutable_double_val(), at, RandomNumber(choices));
    case DT_INT64:
      return Put(tensor->mutable_int64_val(), at, RandomInteger(choices));
    case DT_UINT32:
      return Put(tensor->mutable_uint32_val(), at,
                 static_cast<uint32_t>(RandomInteger(choices)));
    case DT_UINT64:
      return Put(tensor->mutable_uint64_val(), at,
                 static_cast<uint64_t>(RandomInteger(choices)));
    case DT_BOOL:
      return Put(tensor->mutable_bool_val(), at, choices.Percent(50));
    case DT_STRING:
      return PutText(choices, at, tensor);
    case DT_HALF:
    case DT_BFLOAT16:
      return Put(tensor->mutable_half_val(), at,
                 static_cast<int>(choices.Below(65536)));
    case DT_COMPLEX64:
      Put(tensor->mutable_scomplex_val(), at, 1.0f);
      return Put(tensor->mutable_scomplex_val(), at,
                 static_cast<float>(RandomNumber(choices)));
    case DT_COMPLEX128:
      Put(tensor->mutable_dcomplex_val(), at, 1.0);
      return Put(tensor->mutable_dcomplex_val(), at, RandomNumber(choices));
    default:
      return Put(tensor->mutable_int_val(), at,
                 static_cast<int>(RandomInteger(choices)));
  }
}

}  // namespace

int64_t RandomInteger(Choices& choices) {
  constexpr int64_t kLimits[] = {std::numeric_limits<int64_t>::max(),
                                 std::numeric_limits<int64_t>::min(),
                                 std::numeric_limits<int32_t>::max(),
                                 std::numeric_limits<int32_t>::min(),
                                 int64_t{1} << 31,
                                 int64_t{1} << 32,
                                 int64_t{1} << 40,
                                 int64_t{1} << 62,
                                 -(int64_t{1} << 40),
                                 -65536,
                                 65536,
                                 1000000,
                                 255,
                                 -128,
                                 127,
                                 64};
  if (choices.Percent(12)) return choices.Of(kLimits);
  if (choices.Percent(15)) return -1 - static_cast<int64_t>(choices.Below(4));
  return static_cast<int64_t>(choices.Below(choices.Percent(80) ? 4 : 12));
}

double RandomNumber(Choices& choices) {
  constexpr double kLimits[] = {std::numeric_limits<double>::infinity(),
                                -std::numeric_limits<double>::infinity(),
                                std::numeric_limits<double>::quiet_NaN(),
                                std::numeric_limits<double>::max(),
                                std::numeric_limits<double>::denorm_min(),
                                1e300,
                                -1e30,
                                1e20,
                                -0.0,
                                4294967296.0};
  if (choices.Percent(15)) return choices.Of(kLimits);
  return (static_cast<double>(choices.Below(33)) - 16) / 4;
}

std::string RandomText(Choices& choices) {
  const std::string kTexts[] = {"",
                                "a",
                                "1",
                                "-12.5",
                                "b c d",
                                "abc,d",
                                "nan",
                                "1e99",
                                "9999999999999999999999",
                                "\xc3\xa9\xff",
                                std::string("\0x", 2),
                                std::string(100, 'x'),
                                "SAME",
                                "%d",
                                "^"};
  return choices.Of(kTexts);
}

std::vector<int64_t> RandomSizes(Choices& choices) {
  constexpr size_t kRanks[] = {0, 0, 1, 1, 1, 2, 2, 2, 3, 4, 4, 5, 9};
  std::vector<int64_t> sizes(choices.Of(kRanks));
  const bool even = choices.Percent(50);
  int64_t count = 1;
  for (int64_t& size : sizes) {
    size = even ? 2 : static_cast<int64_t>(choices.Below(5));
    if (choices.Percent(70) && size == 0) size = 1;
    if (size * count > kMaxElements) size = 1;
    count *= size;
  }
  // Sometimes a shape has no elements, but many rows.
  if (sizes.size() >= 2 && choices.Percent(5)) {
    const size_t at = choices.Below(sizes.size());
    sizes[at] = 0;
    sizes[(at + 1) % sizes.size()] = int64_t{1} << 40;
  }
  return sizes;
}

void RandomShape(Choices& choices, tf::TensorShapeProto* shape) {
  shape->Clear();
  if (choices.Percent(10)) return shape->set_unknown_rank(true);
  for (int64_t size : RandomSizes(choices)) {
    if (choices.Percent(15)) size = -1;
    if (choices.Percent(4)) size = RandomInteger(choices);
    shape->add_dim()->set_size(size);
  }
}

void RandomTensor(Choices& choices, DataType dtype,
                  const std::vector<int64_t>& sizes, tf::TensorProto* tensor) {
  tensor->Clear();
  tensor->set_dtype(static_cast<tf::DataType>(dtype));
  tensor->mutable_tensor_shape();
  int64_t count = 1;
  for (const int64_t size : sizes) {
    tensor->mutable_tensor_shape()->add_dim()->set_size(size);
    count *= size;
  }
  // If there is only one value, the tensor repeats it for all elements.
  if (choices.Percent(30)) count = count < 1 ? count : 1;
  for (int64_t i = 0; i < count; ++i) PutElement(choices, -1, tensor);
}

void ChangeElement(Choices& choices, tf::TensorProto* tensor) {
  PutElement(choices, static_cast<int>(choices.Below(kMaxElements)), tensor);
}

}  // namespace weft
