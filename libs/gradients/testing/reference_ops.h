// The reference ops compute ops on doubles in the most direct way, so that
// tests of this module need no kernels. For tests only.
#ifndef WEFT_LIBS_GRADIENTS_TESTING_REFERENCE_OPS_H_
#define WEFT_LIBS_GRADIENTS_TESTING_REFERENCE_OPS_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "libs/graph/graph.h"
#include "libs/tensor/shape.h"

namespace weft {

// A tensor of any real, integer or bool type.
struct ReferenceValue {
  TensorShape shape;
  std::vector<double> at;  // row-major
  bool is_dead = false;    // of a branch that is not taken
};
using ReferenceValues = std::vector<ReferenceValue>;

// Returns the outputs of the node. The inputs are not dead.
using ReferenceOp =
    std::function<ReferenceValues(const Node&, const ReferenceValues&)>;
using ReferenceOps = std::map<std::string, ReferenceOp, std::less<>>;

// One function for each file.
void AddReferenceMathOps(ReferenceOps& ops);
void AddReferenceMatrixOps(ReferenceOps& ops);
void AddReferenceArrayOps(ReferenceOps& ops);
void AddReferenceIndexOps(ReferenceOps& ops);

// ---- Common parts of the ops ----

TensorShape ReferenceShape(const std::vector<int64_t>& dims);
std::vector<int64_t> DimsOf(const TensorShape& shape);
// Zeros.
ReferenceValue NewReference(const TensorShape& shape);
ReferenceValue ReferenceVector(const std::vector<int64_t>& values);
ReferenceValue ReferenceScalar(double value);
// The value as integers: of shapes, axes and indices.
std::vector<int64_t> Integers(const ReferenceValue& value);

// The number of elements in dimensions [begin, end).
int64_t SizeOf(const TensorShape& shape, int begin, int end);
// Counts negative axes from the end.
int Axis(double axis, int rank);
// The position of each dimension for element `i`.
std::vector<int64_t> PlaceOf(const TensorShape& shape, int64_t i);
int64_t IndexOf(const TensorShape& shape, const std::vector<int64_t>& place);

TensorShape BroadcastShape(const TensorShape& a, const TensorShape& b);
ReferenceValue BroadcastReference(const ReferenceValue& x,
                                  const TensorShape& shape);

}  // namespace weft

#endif  // WEFT_LIBS_GRADIENTS_TESTING_REFERENCE_OPS_H_
