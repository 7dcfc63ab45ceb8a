#include "libs/graph/inference_context.h"

#include <algorithm>

#include "libs/base/status.h"
#include "libs/graph/constant_evaluator.h"

namespace weft {

InferenceContext::InferenceContext(const OpDef& op, const AttrMap& attrs,
                                   absl::Span<const OutputTensor> inputs,
                                   absl::Span<const DataType> input_types,
                                   absl::Span<const DataType> output_types,
                                   ConstantEvaluator* evaluator)
    : op_(op),
      attrs_(attrs),
      inputs_(inputs),
      input_types_(input_types),
      output_types_(output_types),
      output_shapes_(output_types.size()),
      input_tensors_(inputs.size()),
      evaluator_(evaluator) {}

InferenceContext::~InferenceContext() = default;

ConstantEvaluator& InferenceContext::evaluator() {
  if (evaluator_ == nullptr) {
    own_evaluator_ = std::make_unique<ConstantEvaluator>();
    evaluator_ = own_evaluator_.get();
  }
  return *evaluator_;
}

const PartialShape& InferenceContext::input(int i) const {
  static const auto& unknown = *new PartialShape;
  const OutputTensor& from = inputs_[i];
  return from.node == nullptr ? unknown : from.node->output_shape(from.index);
}

const std::optional<Tensor>& InferenceContext::input_tensor(int i) {
  std::optional<std::optional<Tensor>>& cached = input_tensors_[i];
  if (!cached) cached = evaluator().Value(inputs_[i]);
  return *cached;
}

std::optional<int64_t> InferenceContext::input_scalar(int i) {
  return evaluator().Scalar(inputs_[i]);
}

PartialShape InferenceContext::input_as_shape(int i) {
  return evaluator()
      .ValueAsShape(inputs_[i])
      .value_or(PartialShape::UnknownRank());
}

absl::StatusOr<PartialShape> InferenceContext::InputWithRank(int i,
                                                             int rank) const {
  const PartialShape& shape = input(i);
  if (!shape.has_rank()) return PartialShape::OfRank(rank);
  if (shape.rank() != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("Shape must be rank ", rank, " but is rank ", shape.rank(),
                     " for input ", i));
  }
  return shape;
}

absl::StatusOr<PartialShape> InferenceContext::InputWithRankAtLeast(
    int i, int rank) const {
  const PartialShape& shape = input(i);
  if (shape.has_rank() && shape.rank() < rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("Shape must be at least rank ", rank, " but is rank ",
                     shape.rank(), " for input ", i));
  }
  return shape;
}

absl::StatusOr<int64_t> InferenceContext::MergeDims(int64_t a, int64_t b) {
  if (a == PartialShape::kUnknown) return b;
  if (b == PartialShape::kUnknown || a == b) return a;
  return absl::InvalidArgumentError(
      absl::StrCat("Dimensions must be equal, but are ", a, " and ", b));
}

namespace shapes {

absl::Status Unchanged(InferenceContext& c) {
  c.set_output(0, c.input(0));
  return absl::OkStatus();
}

absl::Status Scalar(InferenceContext& c) {
  for (int i = 0; i < c.num_outputs(); ++i) {
    c.set_output(i, PartialShape::Scalar());
  }
  return absl::OkStatus();
}

absl::Status Unknown(InferenceContext&) { return absl::OkStatus(); }

absl::Status NoOutputs(InferenceContext&) { return absl::OkStatus(); }

absl::Status BroadcastBinary(InferenceContext& c) {
  ASSIGN_OR_RETURN(PartialShape shape, Broadcast(c.input(0), c.input(1)));
  c.set_output(0, std::move(shape));
  return absl::OkStatus();
}

namespace {

// Returns the size of a dimension in the broadcast of `a` and `b`. If one size
// is unknown and the other is above 1, the unknown size must be 1 or the same.
// In either case the result has the known size.
absl::StatusOr<int64_t> BroadcastDim(int64_t a, int64_t b) {
  if (a == 1) return b;
  if (b == 1) return a;
  return InferenceContext::MergeDims(a, b);
}

}  // namespace

absl::StatusOr<PartialShape> Broadcast(const PartialShape& a,
                                       const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank()) return PartialShape::UnknownRank();
  const int rank = std::max(a.rank(), b.rank());
  PartialShape result = PartialShape::OfRank(rank);
  for (int i = 0; i < rank; ++i) {
    const int in_a = i - (rank - a.rank()), in_b = i - (rank - b.rank());
    ASSIGN_OR_RETURN(int64_t size, BroadcastDim(in_a < 0 ? 1 : a.dim(in_a),
                                                in_b < 0 ? 1 : b.dim(in_b)));
    result.set_dim(i, size);
  }
  return result;
}

}  // namespace shapes
}  // namespace weft
