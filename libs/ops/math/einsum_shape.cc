// The shape function of Einsum.
#include <map>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/math/einsum_equation.h"
#include "libs/ops/math/math_shapes.h"

namespace weft::math_shapes {
namespace {

// The known sizes of a result's dimensions.
struct EinsumSizes {
  std::map<char, int64_t> labels;
  PartialShape broadcast = PartialShape::Scalar();
};

absl::Status MergeLabel(char label, int64_t size, EinsumSizes& sizes) {
  int64_t& known =
      sizes.labels.try_emplace(label, PartialShape::kUnknown).first->second;
  ASSIGN_OR_RETURN(known, InferenceContext::MergeDims(known, size));
  return absl::OkStatus();
}

// An operand of unknown rank: the sizes of its labels are unknown.
absl::Status AddUnknown(absl::string_view subscript, EinsumSizes& sizes) {
  for (const char label : subscript) {
    if (label == EinsumEquation::kEllipsis) {
      sizes.broadcast = PartialShape::UnknownRank();
    } else {
      RETURN_IF_ERROR(MergeLabel(label, PartialShape::kUnknown, sizes));
    }
  }
  return absl::OkStatus();
}

absl::Status AddOperand(absl::string_view subscript, int input,
                        const PartialShape& shape, EinsumSizes& sizes) {
  if (!shape.has_rank()) return AddUnknown(subscript, sizes);
  ASSIGN_OR_RETURN(const int ellipsis,
                   EllipsisDims(subscript, input, shape.rank()));
  PartialShape broadcast = PartialShape::Scalar();
  int dim = 0;
  for (const char label : subscript) {
    if (label == EinsumEquation::kEllipsis) {
      for (int i = 0; i < ellipsis; ++i) broadcast.AddDim(shape.dim(dim++));
    } else {
      RETURN_IF_ERROR(MergeLabel(label, shape.dim(dim++), sizes));
    }
  }
  if (!sizes.broadcast.has_rank()) return absl::OkStatus();
  ASSIGN_OR_RETURN(sizes.broadcast,
                   shapes::Broadcast(sizes.broadcast, broadcast));
  return absl::OkStatus();
}

PartialShape ResultOf(absl::string_view subscript, const EinsumSizes& sizes) {
  PartialShape result = PartialShape::Scalar();
  for (const char label : subscript) {
    if (label != EinsumEquation::kEllipsis) {
      result.AddDim(sizes.labels.at(label));
      continue;
    }
    if (!sizes.broadcast.has_rank()) return PartialShape::UnknownRank();
    for (int i = 0; i < sizes.broadcast.rank(); ++i) {
      result.AddDim(sizes.broadcast.dim(i));
    }
  }
  return result;
}

}  // namespace

absl::Status Einsum(InferenceContext& c) {
  ASSIGN_OR_RETURN(const std::string text, c.GetAttr<std::string>("equation"));
  ASSIGN_OR_RETURN(const EinsumEquation equation, ParseEinsum(text));
  const int operands = static_cast<int>(equation.inputs.size());
  if (c.num_inputs() != operands) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected ", operands, " inputs for equation ", text,
                     " but got: ", c.num_inputs()));
  }
  EinsumSizes sizes;
  for (int i = 0; i < operands; ++i) {
    RETURN_IF_ERROR(AddOperand(equation.inputs[i], i, c.input(i), sizes));
  }
  RETURN_IF_ERROR(CheckEinsumOutput(
      equation, sizes.broadcast.has_rank() ? sizes.broadcast.rank() : 0));
  c.set_output(0, ResultOf(equation.output, sizes));
  return absl::OkStatus();
}

}  // namespace weft::math_shapes
