// Resampling holds, for each pixel of a resized row or column, the source
// pixels and their weights.
//
// The arithmetic is that of TensorFlow's kernels, in float, so that the same
// source pixels are used: tensorflow/core/util/image_resizer_state.h and
// tensorflow/core/kernels/image/resize_*_op.cc define positions and weights; R.
// Keys, "Cubic Convolution Interpolation for Digital Image Processing", 1981,
// the cubic weights.
//
// Values and pure functions. Results have the length of the resized row, which
// a program may choose freely, so the caller's HeapCharge counts it;
// RESOURCE_EXHAUSTED beyond the memory bound.
#ifndef WEFT_LIBS_KERNELS_IMAGE_RESAMPLING_H_
#define WEFT_LIBS_KERNELS_IMAGE_RESAMPLING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/tensor/heap_charge.h"

namespace weft {

// PixelScale maps target pixels to source positions: the distance between two
// of them, and the position of the first.
struct PixelScale {
  int64_t in = 0, out = 0;  // lengths, at least 1
  bool align_corners = false, half_pixel_centers = false;

  float scale() const;
  // The source position of pixel `i`, if pixel positions are pixel centers.
  float At(int64_t i) const;
};

// A source pixel and its weight.
struct PixelTap {
  int64_t at;
  float weight;
};

class Resampling {
 public:
  // Two taps per pixel, the lower first.
  static absl::StatusOr<Resampling> Bilinear(const PixelScale& scale,
                                             HeapCharge& charge);
  // Four taps per pixel, in order; some may be equal.
  static absl::StatusOr<Resampling> Bicubic(const PixelScale& scale,
                                            HeapCharge& charge);
  // All source pixels covered by a pixel; the weights add up to about scale().
  static absl::StatusOr<Resampling> Area(const PixelScale& scale,
                                         HeapCharge& charge);

  int64_t size() const { return static_cast<int64_t>(begin_.size()) - 1; }
  absl::Span<const PixelTap> taps(int64_t i) const {
    return absl::MakeSpan(taps_).subspan(begin_[i], begin_[i + 1] - begin_[i]);
  }

 private:
  Resampling() = default;
  // Allocates memory for `pixels` pixels with at most `taps` taps.
  static absl::StatusOr<Resampling> WithRoom(int64_t pixels, int64_t taps,
                                             HeapCharge& charge);
  void Add(int64_t at, float weight) { taps_.push_back({at, weight}); }
  void EndPixel() { begin_.push_back(taps_.size()); }

  std::vector<size_t> begin_;
  std::vector<PixelTap> taps_;
};

// The nearest source pixel of each pixel.
absl::StatusOr<std::vector<int64_t>> NearestPixels(const PixelScale& scale,
                                                   HeapCharge& charge);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_IMAGE_RESAMPLING_H_
