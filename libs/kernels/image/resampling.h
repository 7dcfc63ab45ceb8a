// Resampling: of which pixels of a row, or of a column, each pixel of one of
// another length is made.
//
// The arithmetic is that of TensorFlow's kernels, in float, so that the same
// pixels are met: tensorflow/core/util/image_resizer_state.h and
// tensorflow/core/kernels/image/resize_*_op.cc say where a pixel is and what it
// weighs; R. Keys, "Cubic Convolution Interpolation for Digital Image
// Processing", 1981, for the cubic weights.
//
// Values and pure functions. What they return is as long as the row that is
// made, which a program may choose freely, so the caller's HeapCharge counts
// it; RESOURCE_EXHAUSTED where there is no memory.
#ifndef WEFT_LIBS_KERNELS_IMAGE_RESAMPLING_H_
#define WEFT_LIBS_KERNELS_IMAGE_RESAMPLING_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/tensor/heap_charge.h"

namespace weft {

// How far apart the pixels of what is made are in what it is made of, and where
// the first of them is.
struct PixelScale {
  int64_t in = 0, out = 0;  // lengths, at least 1
  bool align_corners = false, half_pixel_centers = false;

  float scale() const;
  // Where pixel `i` is, of those that are counted from their middle.
  float At(int64_t i) const;
};

// A pixel and what it counts.
struct PixelTap {
  int64_t at;
  float weight;
};

class Resampling {
 public:
  // Two taps a pixel, the lower first.
  static absl::StatusOr<Resampling> Bilinear(const PixelScale& scale,
                                             HeapCharge& charge);
  // Four taps a pixel, in order; some may be the same.
  static absl::StatusOr<Resampling> Bicubic(const PixelScale& scale,
                                            HeapCharge& charge);
  // All that a pixel covers; the weights' sum is about scale().
  static absl::StatusOr<Resampling> Area(const PixelScale& scale,
                                         HeapCharge& charge);

  int64_t size() const { return static_cast<int64_t>(begin_.size()) - 1; }
  absl::Span<const PixelTap> taps(int64_t i) const {
    return absl::MakeSpan(taps_).subspan(begin_[i], begin_[i + 1] - begin_[i]);
  }

 private:
  Resampling() = default;
  // Of so many pixels, with at most `taps` taps.
  static absl::StatusOr<Resampling> WithRoom(int64_t pixels, int64_t taps,
                                             HeapCharge& charge);
  void Add(int64_t at, float weight) { taps_.push_back({at, weight}); }
  void EndPixel() { begin_.push_back(taps_.size()); }

  std::vector<size_t> begin_;
  std::vector<PixelTap> taps_;
};

// The nearest pixel for each.
absl::StatusOr<std::vector<int64_t>> NearestPixels(const PixelScale& scale,
                                                   HeapCharge& charge);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_IMAGE_RESAMPLING_H_
