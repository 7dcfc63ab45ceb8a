// Builders of ops on images: tensors [batch, rows, columns, channels].
//
//   Output larger = ops::ResizeBilinear(root, images, {64, 64});
//
// `size` holds the rows and columns of the resized images, as int32. Errors
// stick to the scope (see libs/ops/scope.h); outputs are then null.
#ifndef WEFT_LIBS_OPS_IMAGE_IMAGE_OPS_H_
#define WEFT_LIBS_OPS_IMAGE_IMAGE_OPS_H_

#include "libs/ops/scope.h"

namespace weft::ops {

// Options of resize ops. At most one may be set.
struct ResizeAttrs {
  // Corner pixels stay in the corners.
  bool align_corners = false;
  // Pixel positions are pixel centers, not upper left corners, as in tf.image
  // of TensorFlow 2.
  bool half_pixel_centers = false;
};

// Takes the nearest pixel.
Output ResizeNearestNeighbor(const Scope& scope, const Input& images,
                             const Input& size, const ResizeAttrs& attrs = {});
// Interpolates between four pixels; float.
Output ResizeBilinear(const Scope& scope, const Input& images,
                      const Input& size, const ResizeAttrs& attrs = {});
// Interpolates between sixteen pixels; float.
Output ResizeBicubic(const Scope& scope, const Input& images, const Input& size,
                     const ResizeAttrs& attrs = {});
// The mean of the covered area; float.
Output ResizeArea(const Scope& scope, const Input& images, const Input& size,
                  bool align_corners = false);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_IMAGE_IMAGE_OPS_H_
