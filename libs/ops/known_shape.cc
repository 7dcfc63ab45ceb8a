#include "libs/ops/known_shape.h"

namespace weft {

PartialShape CommonShape(const PartialShape& a, const PartialShape& b) {
  if (!a.has_rank() || !b.has_rank() || a.rank() != b.rank()) {
    return PartialShape::UnknownRank();
  }
  PartialShape common = a;
  for (int i = 0; i < a.rank(); ++i) {
    if (a.dim(i) != b.dim(i)) common.set_dim(i, PartialShape::kUnknown);
  }
  return common;
}

bool KeepsInvariant(const PartialShape& shape, const PartialShape& invariant) {
  if (!invariant.has_rank()) return true;
  if (!shape.has_rank() || shape.rank() != invariant.rank()) return false;
  for (int i = 0; i < invariant.rank(); ++i) {
    const bool says = invariant.dim(i) != PartialShape::kUnknown;
    if (says && shape.dim(i) != invariant.dim(i)) return false;
  }
  return true;
}

}  // namespace weft
