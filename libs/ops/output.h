// The arguments and results of op builders: Output is an output of a node,
// Operation is a node that is run for its side effects, Input is an argument.
//
// Threads: values; as for the scope of their graph.
#ifndef WEFT_LIBS_OPS_OUTPUT_H_
#define WEFT_LIBS_OPS_OUTPUT_H_

#include <initializer_list>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "libs/graph/graph.h"

namespace weft {

// The shape of null values; a constant.
inline const PartialShape& UnknownShape() {
  static const auto* const shape = new PartialShape();
  return *shape;
}
inline const std::string& NameOfNull() {
  static const auto* const name = new std::string("<none>");
  return *name;
}

// An output of a node. Null after an error.
class Output {
 public:
  Output() = default;
  Output(const Node* node, int index = 0) : node_(node), index_(index) {}
  Output(OutputTensor output) : node_(output.node), index_(output.index) {}

  const Node* node() const { return node_; }
  int index() const { return index_; }
  OutputTensor output_tensor() const { return {node_, index_}; }
  explicit operator bool() const { return node_ != nullptr; }
  // If null: "<none>", DT_INVALID and the unknown shape. The scope has the
  // error.
  std::string name() const { return TensorName(output_tensor()); }
  DataType dtype() const {
    return node_ == nullptr ? DT_INVALID : node_->output_type(index_);
  }
  const PartialShape& shape() const {
    return node_ == nullptr ? UnknownShape() : node_->output_shape(index_);
  }

  friend bool operator==(const Output&, const Output&) = default;

 private:
  const Node* node_ = nullptr;
  int index_ = 0;
};

// Output `index` of a result of AddNode; null after an error.
inline Output OutputOf(const Node* node, int index) {
  return node == nullptr ? Output() : Output(node, index);
}

// A node that is run for its side effects. Null after an error.
class Operation {
 public:
  Operation() = default;
  Operation(const Node* node) : node_(node) {}
  Operation(const Output& output) : node_(output.node()) {}
  const Node* node() const { return node_; }
  explicit operator bool() const { return node_ != nullptr; }
  // "<none>" if null.
  const std::string& name() const {
    return node_ == nullptr ? NameOfNull() : node_->name();
  }

 private:
  const Node* node_ = nullptr;
};

// An argument of a builder: an output, or a value that becomes a Const. A C++
// scalar or list takes the dtype that the op requires ("Add(scope, x, 1)" adds
// a float to a float).
class Input {
 public:
  Input(Output output) : output_(output) {}
  Input(Tensor value) : value_(std::move(value)) {}
  template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
  Input(T value) : value_(MakeScalar(value)), adapts_(true) {}
  Input(const char* value) : value_(Tensor::Scalar(std::string(value))) {}
  Input(std::string value) : value_(Tensor::Scalar(std::move(value))) {}
  template <typename T>
  Input(std::initializer_list<T> values)
      : value_(Tensor::Vector(values)), adapts_(std::is_arithmetic_v<T>) {}
  // Anything with `operator Output` through a member (Variable handles,
  // layers).
  template <
      typename T,
      typename = std::enable_if_t<std::is_convertible_v<const T&, Output> &&
                                  !std::is_same_v<T, Output>>,
      typename = void>
  Input(const T& value) : output_(static_cast<Output>(value)) {}

  const Output& output() const { return output_; }
  // Set if the argument is a value.
  const std::optional<Tensor>& value() const { return value_; }
  // Returns whether the value is a C++ scalar or list, which takes the dtype of
  // the other inputs.
  bool adapts() const { return adapts_; }

 private:
  template <typename T>
  static Tensor MakeScalar(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      return Tensor::Scalar(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      if constexpr (sizeof(T) == 4)
        return Tensor::Scalar(static_cast<float>(value));
      return Tensor::Scalar(static_cast<double>(value));
    } else if constexpr (sizeof(T) <= 4) {
      return Tensor::Scalar(static_cast<int32_t>(value));
    } else {
      return Tensor::Scalar(static_cast<int64_t>(value));
    }
  }

  Output output_;
  std::optional<Tensor> value_;
  bool adapts_ = false;
};

using InputList = std::vector<Input>;

}  // namespace weft

#endif  // WEFT_LIBS_OPS_OUTPUT_H_
