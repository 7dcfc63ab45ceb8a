// InferenceContext is the view of a node for its shape function, while the node
// is added.
#ifndef WEFT_LIBS_GRAPH_INFERENCE_CONTEXT_H_
#define WEFT_LIBS_GRAPH_INFERENCE_CONTEXT_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/graph/graph.h"

namespace weft {

class ConstantEvaluator;  // libs/graph/constant_evaluator.h

// Lives on the stack of Graph::AddNode; not synchronized.
class InferenceContext {
 public:
  // `inputs` may contain null nodes (back edges): their shapes are unknown.
  InferenceContext(const OpDef& op, const AttrMap& attrs,
                   absl::Span<const OutputTensor> inputs,
                   absl::Span<const DataType> input_types,
                   absl::Span<const DataType> output_types,
                   ConstantEvaluator* evaluator = nullptr);
  ~InferenceContext();

  const OpDef& op() const { return op_; }
  int num_inputs() const { return static_cast<int>(inputs_.size()); }
  int num_outputs() const { return static_cast<int>(output_shapes_.size()); }
  DataType input_type(int i) const { return input_types_[i]; }
  DataType output_type(int i) const { return output_types_[i]; }
  const PartialShape& input(int i) const;
  // The source of the input: a resource's shape is known to the node that
  // created its handle. The node is null for a back edge.
  const OutputTensor& input_source(int i) const { return inputs_[i]; }

  // The value of an input if it is known while the graph is built.
  const std::optional<Tensor>& input_tensor(int i);
  // An integer scalar input, likewise.
  std::optional<int64_t> input_scalar(int i);
  // An input that contains a vector of sizes, each -1 if unknown; unknown rank
  // if nothing is known.
  PartialShape input_as_shape(int i);

  // A missing attr, or one of another kind, is a bug in the op's definition:
  // INTERNAL.
  template <typename T>
  absl::StatusOr<T> GetAttr(absl::string_view name) const {
    auto it = attrs_.find(name);
    const T* value =
        it == attrs_.end() ? nullptr : it->second.template Get<T>();
    if (value == nullptr) {
      return absl::InternalError(
          absl::StrCat("op ", op_.name, " has no such attr: ", name));
    }
    return *value;
  }

  void set_output(int i, PartialShape shape) {
    output_shapes_[i] = std::move(shape);
  }
  // Unknown until set.
  const std::vector<PartialShape>& output_shapes() const {
    return output_shapes_;
  }

  // The input's shape, if it can have that rank; otherwise an error "Shape must
  // be rank 2 but is rank 1 for input 0".
  absl::StatusOr<PartialShape> InputWithRank(int i, int rank) const;
  absl::StatusOr<PartialShape> InputWithRankAtLeast(int i, int rank) const;
  // If both sizes agree (or are unknown): their common value, otherwise an
  // error "Dimensions must be equal, but are 2 and 3".
  static absl::StatusOr<int64_t> MergeDims(int64_t a, int64_t b);

 private:
  ConstantEvaluator& evaluator();

  const OpDef& op_;
  const AttrMap& attrs_;
  absl::Span<const OutputTensor> inputs_;
  absl::Span<const DataType> input_types_;
  absl::Span<const DataType> output_types_;
  std::vector<PartialShape> output_shapes_;
  std::vector<std::optional<std::optional<Tensor>>> input_tensors_;
  // Shared with the enclosing evaluation; otherwise created on first use.
  ConstantEvaluator* evaluator_;
  std::unique_ptr<ConstantEvaluator> own_evaluator_;
};

// Shape functions shared by many ops.
namespace shapes {
absl::Status Unchanged(InferenceContext& c);  // output 0 = input 0
absl::Status Scalar(InferenceContext& c);     // every output is a scalar
absl::Status Unknown(InferenceContext& c);    // nothing is known
absl::Status NoOutputs(InferenceContext& c);
// Inputs 0 and 1, NumPy's rule.
absl::Status BroadcastBinary(InferenceContext& c);
// The broadcast of two shapes by NumPy's rule.
absl::StatusOr<PartialShape> Broadcast(const PartialShape& a,
                                       const PartialShape& b);
}  // namespace shapes

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_INFERENCE_CONTEXT_H_
