// Convolution holds the checked sizes of a Conv2D or of its gradients.
#ifndef WEFT_LIBS_KERNELS_NN_CONVOLUTION_H_
#define WEFT_LIBS_KERNELS_NN_CONVOLUTION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "libs/kernels/nn/windows.h"
#include "libs/tensor/shape.h"

namespace weft {

// The result to compute: the output, or a gradient.
enum class ConvolutionPass { kForward, kInput, kFilter };

// A checked convolution. If the filter's depth is less than the image's, the
// channels are divided into groups with separate filters.
struct Convolution {
  int64_t batch = 0, channels = 0, filters = 0;
  int64_t groups = 1, depth = 0;  // depth: channels per group
  WindowDim rows, columns;

  int64_t windows() const { return rows.out * columns.out; }
  // The number of elements of one window in one group.
  int64_t taps() const { return rows.size * columns.size * depth; }
  int64_t filters_of_group() const { return filters / groups; }
  // The number of elements of one image, and of its output.
  int64_t image_size() const { return rows.in * columns.in * channels; }
  int64_t output_size() const { return windows() * filters; }
  // The number of windows in all images.
  int64_t all_windows() const { return batch * windows(); }
  // The number of windows to lay out at a time: as many as fit into the
  // second-level cache of each thread, but enough for an efficient matrix
  // product; limited by a memory bound, but at least one.
  int64_t windows_at_a_time(int64_t threads) const;
  TensorShape output_shape() const {
    return {batch, rows.out, columns.out, filters};
  }

  // Returns whether each image has a single window that covers it: then the
  // convolution is a matrix product.
  bool is_product() const {
    return groups == 1 && rows.is_whole() && columns.is_whole();
  }
  // Returns an equivalent convolution over the same memory with windows side by
  // side instead of below each other: columns that a window covers completely
  // become channels, and the rows of images that are one column wide become
  // columns, for which loops are fastest, unless they are dilated.
  Convolution Flattened() const;
  // The convolution of the output's gradient with the reversed filter, which
  // computes the image's gradient. REQUIRES: one group, strides of 1.
  Convolution Reversed() const;

  // Returns the convolution of an image [batch, rows, columns, channels] with a
  // filter [rows, columns, depth, filters]; INVALID_ARGUMENT if they do not
  // fit.
  static absl::StatusOr<Convolution> Of(const WindowAttrs& attrs,
                                        const TensorShape& image,
                                        const TensorShape& filter);

  friend bool operator==(const Convolution&, const Convolution&) = default;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_CONVOLUTION_H_
