// InferenceContext is the view of a node that its shape function gets, while
// the node is being added to a graph.
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

// An InferenceContext lives on the stack of Graph::AddNode and is not
// synchronized.
class InferenceContext {
 public:
  // `inputs` may contain null nodes, which are back edges. Their shapes are
  // unknown.
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
  // Returns the tensor that the input comes from. A shape function needs it
  // because the shape of a resource is known only to the node that created the
  // resource's handle. The node is null for a back edge.
  const OutputTensor& input_source(int i) const { return inputs_[i]; }

  // Returns the value of input `i` if it is known while the graph is built.
  const std::optional<Tensor>& input_tensor(int i);
  // Returns the value of input `i`, an integer scalar, if it is known while the
  // graph is built.
  std::optional<int64_t> input_scalar(int i);
  // Returns the shape that input `i` contains as a vector of sizes, each -1 if
  // unknown. Returns a shape of unknown rank if nothing is known.
  PartialShape input_as_shape(int i);

  // Returns the value of an attr. INTERNAL if the attr is missing or has
  // another type, because this is a bug in the op's definition.
  template <typename T>
  absl::StatusOr<T> GetAttr(absl::string_view name) const {
    auto it = attrs_.find(name);
    const T* value =
        it == attrs_.end() ? nullptr : it->second.template Get<T>();
    if (value == nullptr) {
      return absl::InternalError(absl::StrCat(
          "op ", op_.name, " has no attr of this type with the name: ", name));
    }
    return *value;
  }

  void set_output(int i, PartialShape shape) {
    output_shapes_[i] = std::move(shape);
  }
  // Returns the shapes of the outputs, which are unknown until they are set.
  const std::vector<PartialShape>& output_shapes() const {
    return output_shapes_;
  }

  // Return the shape of input `i` if it can have the rank, or at least the
  // rank. Otherwise they return an error such as "Shape must be rank 2 but is
  // rank 1 for input 0".
  absl::StatusOr<PartialShape> InputWithRank(int i, int rank) const;
  absl::StatusOr<PartialShape> InputWithRankAtLeast(int i, int rank) const;
  // Returns the common value of both sizes if they agree or one is unknown.
  // Otherwise returns an error such as "Dimensions must be equal, but are 2 and
  // 3".
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
  // The evaluator of the enclosing evaluation, if there is one. Otherwise
  // own_evaluator_, which is created on first use.
  ConstantEvaluator* evaluator_;
  std::unique_ptr<ConstantEvaluator> own_evaluator_;
};

// Shape functions shared by many ops.
namespace shapes {
absl::Status Unchanged(InferenceContext& c);  // output 0 = input 0
absl::Status Scalar(InferenceContext& c);     // every output is a scalar
absl::Status Unknown(InferenceContext& c);    // nothing is known
absl::Status NoOutputs(InferenceContext& c);
// Sets output 0 to the broadcast of inputs 0 and 1 by NumPy's rule.
absl::Status BroadcastBinary(InferenceContext& c);
// Returns the broadcast of two shapes by NumPy's rule.
absl::StatusOr<PartialShape> Broadcast(const PartialShape& a,
                                       const PartialShape& b);
}  // namespace shapes

}  // namespace weft

#endif  // WEFT_LIBS_GRAPH_INFERENCE_CONTEXT_H_
