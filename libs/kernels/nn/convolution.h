// Convolution: the checked sizes of Conv2D and of its gradients.
#ifndef WEFT_LIBS_KERNELS_NN_CONVOLUTION_H_
#define WEFT_LIBS_KERNELS_NN_CONVOLUTION_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "libs/kernels/nn/windows.h"
#include "libs/tensor/shape.h"

namespace weft {

// What is to be computed of one.
enum class ConvolutionPass { kForward, kInput, kFilter };

// A checked convolution. Where the filter is less deep than the image, the
// channels are in groups, each with filters of its own.
struct Convolution {
  int64_t batch = 0, channels = 0, filters = 0;
  int64_t groups = 1, depth = 0;  // of a group, in channels
  WindowDim rows, columns;

  int64_t windows() const { return rows.out * columns.out; }
  // Numbers that one window takes of one group.
  int64_t taps() const { return rows.size * columns.size * depth; }
  int64_t filters_of_group() const { return filters / groups; }
  // Numbers of one image, and of what becomes of it.
  int64_t image_size() const { return rows.in * columns.in * channels; }
  int64_t output_size() const { return windows() * filters; }
  // Of all images.
  int64_t all_windows() const { return batch * windows(); }
  // How many to lay out at a time: as many as stay in the second-level cache of
  // each thread, but enough for a matrix product that is worth its own copies;
  // no more than fit a bound on memory, but one at least.
  int64_t windows_at_a_time(int64_t threads) const;
  TensorShape output_shape() const {
    return {batch, rows.out, columns.out, filters};
  }

  // Whether each image has one window, which is all of it: the product of two
  // matrices.
  bool is_product() const {
    return groups == 1 && rows.is_whole() && columns.is_whole();
  }
  // The same sums over the same numbers in memory, with windows beside each
  // other rather than below: columns that one window takes whole become
  // channels, and the rows of images that are one column wide become their
  // columns, for which loops are best, unless they are dilated.
  Convolution Flattened() const;
  // The convolution of the output's gradient with the filter turned around,
  // which gives the image's. REQUIRES: one group, strides of 1.
  Convolution Reversed() const;

  // Of an image [batch, rows, columns, channels] and a filter [rows, columns,
  // depth, filters]. INVALID_ARGUMENT where they do not fit each other.
  static absl::StatusOr<Convolution> Of(const WindowAttrs& attrs,
                                        const TensorShape& image,
                                        const TensorShape& filter);

  friend bool operator==(const Convolution&, const Convolution&) = default;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_NN_CONVOLUTION_H_
