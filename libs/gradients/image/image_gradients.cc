// Gradients of ops on images. Formulas are TensorFlow's
// (python/ops/image_grad.py); second derivatives, which TensorFlow lacks, are
// Weft's.
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/gradients/math/broadcast_gradient.h"
#include "libs/gradients/registry/gradient_registry.h"
#include "libs/ops/array/array_ops.h"

namespace weft {
namespace {

using Gradients = std::vector<Gradient>;
using Result = absl::StatusOr<Gradients>;

AttrMap AttrsOf(const Node& node) {
  return {{"align_corners", *node.attr<bool>("align_corners")},
          {"half_pixel_centers", *node.attr<bool>("half_pixel_centers")}};
}

// Integer images have no gradient.
Result OfResizeBilinear(const Scope& scope, const Node& node,
                        const Gradients& grads) {
  const Output images = node.input(0);
  if (!IsFloatingType(images.dtype())) return Gradients(2);
  return Gradients{scope.AddOutput("ResizeBilinearGrad",
                                   {grads[0].dense, images}, AttrsOf(node)),
                   {}};
}

// Integer and 16-bit float images have no gradient.
Result OfResizeBicubic(const Scope& scope, const Node& node,
                       const Gradients& grads) {
  const Output images = node.input(0);
  if (images.dtype() != DT_FLOAT && images.dtype() != DT_DOUBLE) {
    return Gradients(2);
  }
  return Gradients{scope.AddOutput("ResizeBicubicGrad",
                                   {grads[0].dense, images}, AttrsOf(node)),
                   {}};
}

// TensorFlow has no gradient either, and returns the same error.
Result OfResizeArea(const Scope&, const Node& node, const Gradients&) {
  return absl::NotFoundError(
      absl::StrCat("No gradient defined for operation '", node.name(),
                   "' (op type: ResizeArea); ResizeBilinear has one"));
}

// Rows and columns.
Output SizeOf(const Scope& scope, const Output& images) {
  return ops::Slice(scope, ShapeOf(scope, images), {1}, {2});
}

Result OfResizeNearestNeighbor(const Scope& scope, const Node& node,
                               const Gradients& grads) {
  return Gradients{
      scope.AddOutput("ResizeNearestNeighborGrad",
                      {grads[0].dense, SizeOf(scope, node.input(0))},
                      AttrsOf(node)),
      {}};
}

// The gradient of `kOp`'s gradient, which is linear: `kOp` itself.
template <const char* kOp>
Result OfGradient(const Scope& scope, const Node& node,
                  const Gradients& grads) {
  return Gradients{
      scope.AddOutput(kOp, {grads[0].dense, SizeOf(scope, node.input(0))},
                      AttrsOf(node)),
      {}};
}

constexpr char kBilinear[] = "ResizeBilinear";
constexpr char kBicubic[] = "ResizeBicubic";
constexpr char kNearestNeighbor[] = "ResizeNearestNeighbor";

}  // namespace

void RegisterImageGradients(GradientRegistry& registry) {
  registry.Register("ResizeArea", OfResizeArea);
  registry.Register("ResizeBicubic", OfResizeBicubic);
  registry.Register("ResizeBicubicGrad", OfGradient<kBicubic>);
  registry.Register("ResizeBilinear", OfResizeBilinear);
  registry.Register("ResizeBilinearGrad", OfGradient<kBilinear>);
  registry.Register("ResizeNearestNeighbor", OfResizeNearestNeighbor);
  registry.Register("ResizeNearestNeighborGrad", OfGradient<kNearestNeighbor>);
}

}  // namespace weft
