// Builders of ops on images: tensors [batch, rows, columns, channels].
//
//   Output larger = ops::ResizeBilinear(root, images, {64, 64});
//
// `size` are the rows and columns of what becomes of each image, as int32.
// Errors stick to the scope (see libs/ops/scope.h); outputs are null then.
#ifndef WEFT_LIBS_OPS_IMAGE_IMAGE_OPS_H_
#define WEFT_LIBS_OPS_IMAGE_IMAGE_OPS_H_

#include "libs/ops/scope.h"

namespace weft::ops {

// At most one may be set.
struct ResizeAttrs {
  // Pixels in the corners stay in the corners.
  bool align_corners = false;
  // A pixel is where its middle is, not where its upper left corner is, as
  // tf.image of TensorFlow 2 has it.
  bool half_pixel_centers = false;
};

// Each pixel becomes the nearest one.
Output ResizeNearestNeighbor(const Scope& scope, const Input& images,
                             const Input& size, const ResizeAttrs& attrs = {});
// Between the four about it; float.
Output ResizeBilinear(const Scope& scope, const Input& images,
                      const Input& size, const ResizeAttrs& attrs = {});
// Between the sixteen about it; float.
Output ResizeBicubic(const Scope& scope, const Input& images, const Input& size,
                     const ResizeAttrs& attrs = {});
// The mean of all that it covers; float.
Output ResizeArea(const Scope& scope, const Input& images, const Input& size,
                  bool align_corners = false);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_IMAGE_IMAGE_OPS_H_
