// Access to the elements of tensors in the form in which tables store them: as
// strings, or as numbers with the bits of the element. So a few map types serve
// all data types.
#ifndef WEFT_LIBS_RESOURCE_TABLE_ELEMENTS_H_
#define WEFT_LIBS_RESOURCE_TABLE_ELEMENTS_H_

#include <cstdint>
#include <cstring>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor.h"

namespace weft::tables {

// Number is the representation of a number in a table. It has the bits of a
// float, double or bool, and is an integer of any size converted to int64,
// which keeps the order of integers.
using Number = int64_t;

// Elements gives read access to the elements of a tensor, as strings or
// Numbers.
template <typename T>
class Elements;

template <>
class Elements<std::string> {
 public:
  explicit Elements(const Tensor& tensor)
      : values_(tensor.flat<std::string>()) {}
  size_t size() const { return values_.size(); }
  const std::string& operator[](size_t i) const { return values_[i]; }

 private:
  const absl::Span<const std::string> values_;
};

template <>
class Elements<Number> {
 public:
  explicit Elements(const Tensor& tensor)
      : bytes_(DataTypeSize(tensor.dtype())),
        count_(static_cast<size_t>(tensor.num_elements())),
        data_(static_cast<const char*>(tensor.data())) {}
  size_t size() const { return count_; }
  Number operator[](size_t i) const {
    switch (bytes_) {
      case 1:
        return Load<int8_t>(i);
      case 4:
        return Load<int32_t>(i);
      default:
        return Load<int64_t>(i);
    }
  }

 private:
  template <typename T>
  Number Load(size_t i) const {
    T value;
    std::memcpy(&value, data_ + i * sizeof(T), sizeof(T));
    return value;
  }

  const size_t bytes_, count_;
  const char* const data_;
};

// Charges the bytes of a value that the caller copies next. Numbers need no
// charge.
inline absl::Status Charge(HeapCharge& charge, const std::string& value) {
  return charge.AddStrings(1, value.size());
}
inline absl::Status Charge(HeapCharge&, Number) { return absl::OkStatus(); }

// MutableElements gives write access to the elements of a tensor.
template <typename T>
class MutableElements;

template <>
class MutableElements<std::string> {
 public:
  explicit MutableElements(Tensor& tensor)
      : values_(tensor.mutable_flat<std::string>()) {}
  void Set(size_t i, const std::string& value) { values_[i] = value; }

 private:
  const absl::Span<std::string> values_;
};

template <>
class MutableElements<Number> {
 public:
  explicit MutableElements(Tensor& tensor)
      : bytes_(DataTypeSize(tensor.dtype())),
        data_(static_cast<char*>(tensor.mutable_data())) {}
  void Set(size_t i, Number value) {
    switch (bytes_) {
      case 1:
        return Store(i, static_cast<int8_t>(value));
      case 4:
        return Store(i, static_cast<int32_t>(value));
      default:
        return Store(i, value);
    }
  }

 private:
  template <typename T>
  void Store(size_t i, T value) {
    std::memcpy(data_ + i * sizeof(T), &value, sizeof(T));
  }

  const size_t bytes_;
  char* const data_;
};

}  // namespace weft::tables

#endif  // WEFT_LIBS_RESOURCE_TABLE_ELEMENTS_H_
