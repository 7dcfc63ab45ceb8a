// AttrValue is the value of a node's attribute, and AttrMap holds all
// attributes of a node. Kinds are those of TensorFlow's AttrValue message.
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
// Ordered, so that everything derived from a graph is deterministic.
using AttrMap = std::map<std::string, AttrValue, std::less<>>;

// A function of the library with its attrs.
struct NameAttrList {
  std::string name;
  std::shared_ptr<const AttrMap> attrs;
};

// In a node of a function's body: the value of the function's attr with that
// name, set by each call.
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

  // "int", "list(shape)", "func", ... as in OpDefs; "none" if not set,
  // "placeholder" in a function.
  absl::string_view KindName() const;
  // One line for display and errors; large tensors are shortened.
  std::string ToString() const;

  // About its size in memory, including the attrs of functions, and without the
  // elements of tensors. Functions in the attrs of functions may be shared:
  // counting stops beyond `limit`, or at a depth of 32, and then returns more
  // than `limit`.
  int64_t NumBytes(int64_t limit) const;

  // Tensors compare bit for bit.
  friend bool operator==(const AttrValue& a, const AttrValue& b);

 private:
  Value value_;
};

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_ATTR_VALUE_H_
