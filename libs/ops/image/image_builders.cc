#include "libs/ops/image/image_ops.h"

namespace weft::ops {
namespace {

AttrMap AttrsOf(const ResizeAttrs& attrs) {
  return {{"align_corners", attrs.align_corners},
          {"half_pixel_centers", attrs.half_pixel_centers}};
}

}  // namespace

Output ResizeNearestNeighbor(const Scope& scope, const Input& images,
                             const Input& size, const ResizeAttrs& attrs) {
  return scope.AddOutput("ResizeNearestNeighbor", {images, size},
                         AttrsOf(attrs));
}

Output ResizeBilinear(const Scope& scope, const Input& images,
                      const Input& size, const ResizeAttrs& attrs) {
  return scope.AddOutput("ResizeBilinear", {images, size}, AttrsOf(attrs));
}

Output ResizeBicubic(const Scope& scope, const Input& images, const Input& size,
                     const ResizeAttrs& attrs) {
  return scope.AddOutput("ResizeBicubic", {images, size}, AttrsOf(attrs));
}

Output ResizeArea(const Scope& scope, const Input& images, const Input& size,
                  bool align_corners) {
  return scope.AddOutput("ResizeArea", {images, size},
                         {{"align_corners", align_corners}});
}

}  // namespace weft::ops
