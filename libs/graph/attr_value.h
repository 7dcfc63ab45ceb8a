// AttrValue is the value of a node's attribute, and AttrMap holds all
// attributes of a node. The kinds of values are those of TensorFlow's AttrValue
// message.
#ifndef WEFT_LIBS_GRAPH_ATTR_VALUE_H_
#define WEFT_LIBS_GRAPH_ATTR_VALUE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "libs/tensor/data_type.h"
#include "libs/tensor/shape.h"
#include "libs/tensor/tensor.h"

namespace weft {

class AttrValue;
// An ordered map, so that everything derived from a graph is deterministic.
using AttrMap = std::map<std::string, AttrValue, std::less<>>;

// Names a function of the library, together with the attrs of its call.
struct NameAttrList {
  std::string name;
  std::shared_ptr<const AttrMap> attrs;
};

// AttrPlaceholder stands in a node of a function's body for the value of one of
// the function's attrs, which each call sets. `name` names that attr.
struct AttrPlaceholder {
  std::string name;
  friend bool operator==(const AttrPlaceholder&,
                         const AttrPlaceholder&) = default;
};

class AttrValue {
 public:
  using Value =
      std::variant<std::monostate, std::string, int64_t, float, bool, DataType,
                   PartialShape, Tensor, NameAttrList, std::vector<std::string>,
                   std::vector<int64_t>, std::vector<float>, std::vector<bool>,
                   std::vector<DataType>, std::vector<PartialShape>,
                   std::vector<Tensor>, std::vector<NameAttrList>,
                   AttrPlaceholder>;

  AttrValue() = default;                                      // not set
  AttrValue(std::string v) : value_(std::move(v)) {}          // NOLINT
  AttrValue(const char* v) : value_(std::string(v)) {}        // NOLINT
  AttrValue(absl::string_view v) : value_(std::string(v)) {}  // NOLINT
  AttrValue(int v) : value_(int64_t{v}) {}                    // NOLINT
  AttrValue(int64_t v) : value_(v) {}                         // NOLINT
  AttrValue(float v) : value_(v) {}                           // NOLINT
  AttrValue(bool v) : value_(v) {}                            // NOLINT
  AttrValue(DataType v) : value_(v) {}                        // NOLINT
  AttrValue(PartialShape v) : value_(std::move(v)) {}         // NOLINT
  AttrValue(TensorShape v) : value_(PartialShape(v)) {}       // NOLINT
  AttrValue(Tensor v) : value_(std::move(v)) {}               // NOLINT
  AttrValue(NameAttrList v) : value_(std::move(v)) {}         // NOLINT
  AttrValue(AttrPlaceholder v) : value_(std::move(v)) {}      // NOLINT
  template <typename T>
  AttrValue(std::vector<T> v) : value_(std::move(v)) {}  // NOLINT

  bool IsSet() const { return value_.index() != 0; }
  // Returns null if the attribute is of another kind.
  template <typename T>
  const T* Get() const {
    return std::get_if<T>(&value_);
  }
  const Value& value() const { return value_; }

  // Returns the kind in the notation of an OpDef, such as "int", "list(shape)"
  // or "func". Returns "none" if the value is not set, and "placeholder" for an
  // AttrPlaceholder.
  absl::string_view KindName() const;
  // Returns one line for display and errors; large tensors are shortened.
  std::string ToString() const;

  // Returns the approximate size of the value in memory. It includes the attrs
  // of functions but not the elements of tensors. Functions nested in attrs may
  // be shared, so counting stops beyond `limit` bytes or at a depth of 32, and
  // the result is then above `limit`.
  int64_t NumBytes(int64_t limit) const;

  // Compares kind and value; tensors compare bit for bit.
  friend bool operator==(const AttrValue& a, const AttrValue& b);

 private:
  Value value_;
};

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_ATTR_VALUE_H_
