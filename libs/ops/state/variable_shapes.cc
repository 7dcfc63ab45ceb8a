#include "libs/ops/state/variable_shapes.h"

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// Returns whether the op forwards a handle, its first input.
bool PassesHandle(absl::string_view op) {
  return op == "Identity" || op == "Enter" || op == "Switch" || op == "Exit" ||
         op == "NextIteration";
}

// The VarHandleOp that created a handle; null if it is not visible.
const Node* HandleMaker(const InferenceContext& c, int i) {
  OutputTensor at = c.input_source(i);
  while (at.node != nullptr && PassesHandle(at.node->type())) {
    at = at.node->input(0);
  }
  if (at.node == nullptr || at.node->type() != "VarHandleOp") return nullptr;
  return at.node;
}

}  // namespace

PartialShape DeclaredShape(const InferenceContext& c, int i) {
  if (c.input_type(i) != DT_RESOURCE) return c.input(i);
  const Node* maker = HandleMaker(c, i);
  if (maker == nullptr) return PartialShape::UnknownRank();
  const PartialShape* shape = maker->attr<PartialShape>("shape");
  return shape == nullptr ? PartialShape::UnknownRank() : *shape;
}

DataType DeclaredType(const InferenceContext& c, int i) {
  const Node* maker = HandleMaker(c, i);
  if (maker == nullptr) return DT_INVALID;
  const DataType* dtype = maker->attr<DataType>("dtype");
  return dtype == nullptr ? DT_INVALID : *dtype;
}

absl::Status CheckDeclaredType(const InferenceContext& c, int i,
                               absl::string_view attr) {
  ASSIGN_OR_RETURN(DataType wanted, c.GetAttr<DataType>(attr));
  const DataType declared = DeclaredType(c, i);
  if (declared == DT_INVALID || declared == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Trying to read variable with wrong dtype. Expected ",
                   DataTypeName(declared), " got ", DataTypeName(wanted)));
}

absl::StatusOr<PartialShape> MergeInputShapes(const PartialShape& a,
                                              int input_a,
                                              const PartialShape& b,
                                              int input_b) {
  absl::StatusOr<PartialShape> merged = a.MergeWith(b);
  if (merged.ok()) return merged;
  return absl::InvalidArgumentError(absl::StrCat(
      "Shapes of inputs ", input_a, " and ", input_b,
      " must be equal, but are ", a.ToString(), " and ", b.ToString()));
}

PartialShape ConcatenateShapes(const PartialShape& a, const PartialShape& b,
                               int begin) {
  if (!a.has_rank() || !b.has_rank()) return PartialShape::UnknownRank();
  PartialShape result = a;
  for (int i = begin; i < b.rank(); ++i) result.AddDim(b.dim(i));
  return result;
}

absl::Status CheckScatterShapes(InferenceContext& c) {
  const PartialShape variable = DeclaredShape(c, 0);
  const PartialShape& updates = c.input(2);
  if (variable.has_rank() && variable.rank() < 1) {
    return absl::InvalidArgumentError(
        "Shape must be at least rank 1 but is rank 0 for input 0");
  }
  if (updates.has_rank() && updates.rank() == 0) return absl::OkStatus();
  const PartialShape wanted = ConcatenateShapes(c.input(1), variable, 1);
  return MergeInputShapes(wanted, 1, updates, 2).status();
}

}  // namespace weft
