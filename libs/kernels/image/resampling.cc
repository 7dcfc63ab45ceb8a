#include "libs/kernels/image/resampling.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "libs/base/status.h"

namespace weft {
namespace {

// Cubic weights are computed for distances that are multiples of this.
constexpr int64_t kStepsOfDistance = 1 << 10;

// Keys' weight at a distance of `steps` below 1, and at that distance plus 1.
float NearWeight(double a, int64_t steps) {
  const float x =
      static_cast<float>(static_cast<double>(steps) / kStepsOfDistance);
  return static_cast<float>(((a + 2) * x - (a + 3)) * x * x + 1);
}
float FarWeight(double a, int64_t steps) {
  const float x =
      static_cast<float>(static_cast<double>(steps) / kStepsOfDistance) + 1;
  return static_cast<float>(((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
}

// Each target pixel covers at most two source pixels in part, and others
// completely. Rounding may add one at the end.
int64_t TapsOfArea(const PixelScale& scale) { return scale.in + 3 * scale.out; }

}  // namespace

float PixelScale::scale() const {
  return align_corners && out > 1 && in > 1
             ? static_cast<float>(in - 1) / static_cast<float>(out - 1)
             : static_cast<float>(in) / static_cast<float>(out);
}

float PixelScale::At(int64_t i) const {
  const float x = static_cast<float>(i);
  return half_pixel_centers ? (x + 0.5f) * scale() - 0.5f : x * scale();
}

absl::StatusOr<Resampling> Resampling::WithRoom(int64_t pixels, int64_t taps,
                                                HeapCharge& charge) {
  RETURN_IF_ERROR(charge.AddObjects(pixels + 1, sizeof(size_t)));
  RETURN_IF_ERROR(charge.AddObjects(taps, sizeof(PixelTap)));
  Resampling result;
  result.begin_.reserve(pixels + 1);
  result.begin_.push_back(0);
  result.taps_.reserve(taps);
  return result;
}

absl::StatusOr<Resampling> Resampling::Bilinear(const PixelScale& scale,
                                                HeapCharge& charge) {
  ASSIGN_OR_RETURN(Resampling result,
                   WithRoom(scale.out, 2 * scale.out, charge));
  for (int64_t i = 0; i < scale.out; ++i) {
    const float at = scale.At(i), floor = std::floor(at);
    const float weight = at - floor;
    const int64_t last = scale.in - 1;
    // Rounding may give a position beyond the last pixel.
    result.Add(std::clamp<int64_t>(static_cast<int64_t>(floor), 0, last),
               1.0f - weight);
    result.Add(std::min(static_cast<int64_t>(std::ceil(at)), last), weight);
    result.EndPixel();
  }
  return result;
}

absl::StatusOr<Resampling> Resampling::Bicubic(const PixelScale& scale,
                                               HeapCharge& charge) {
  // With half-pixel centers, pixels outside the image have no weight; otherwise
  // the pixel at the border is used instead.
  const bool is_cut = scale.half_pixel_centers;
  const double a = is_cut ? -0.5 : -0.75;
  ASSIGN_OR_RETURN(Resampling result,
                   WithRoom(scale.out, 4 * scale.out, charge));
  for (int64_t i = 0; i < scale.out; ++i) {
    const float at = scale.At(i);
    const int64_t first = static_cast<int64_t>(std::floor(at)) - 1;
    const int64_t steps =
        std::lrint((at - static_cast<float>(first + 1)) * kStepsOfDistance);
    float weights[4] = {FarWeight(a, steps), NearWeight(a, steps),
                        NearWeight(a, kStepsOfDistance - steps),
                        FarWeight(a, kStepsOfDistance - steps)};
    float sum = 0;
    for (int64_t k = 0; k < 4; ++k) {
      const bool is_inside = first + k >= 0 && first + k < scale.in;
      if (is_cut && !is_inside) weights[k] = 0;
      sum += weights[k];
    }
    if (is_cut && std::abs(sum) >= 1000 * std::numeric_limits<float>::min()) {
      for (float& weight : weights) weight *= 1.0f / sum;
    }
    for (int64_t k = 0; k < 4; ++k) {
      result.Add(std::clamp<int64_t>(first + k, 0, scale.in - 1), weights[k]);
    }
    result.EndPixel();
  }
  return result;
}

absl::StatusOr<Resampling> Resampling::Area(const PixelScale& scale,
                                            HeapCharge& charge) {
  const float length = scale.scale();
  ASSIGN_OR_RETURN(Resampling result,
                   WithRoom(scale.out, TapsOfArea(scale), charge));
  for (int64_t i = 0; i < scale.out; ++i) {
    const float begin = static_cast<float>(i) * length;
    const float end = static_cast<float>(i + 1) * length;
    const int64_t last = static_cast<int64_t>(std::ceil(end));
    for (int64_t k = static_cast<int64_t>(std::floor(begin)); k < last; ++k) {
      const float from = static_cast<float>(k);
      const float to = static_cast<float>(k + 1);
      const bool begins = from<begin, ends = to> end;
      const float weight =
          begins ? (ends ? length : to - begin) : (ends ? end - from : 1.0f);
      result.Add(std::clamp<int64_t>(k, 0, scale.in - 1), weight);
    }
    result.EndPixel();
  }
  return result;
}

absl::StatusOr<std::vector<int64_t>> NearestPixels(const PixelScale& scale,
                                                   HeapCharge& charge) {
  RETURN_IF_ERROR(charge.AddObjects(scale.out, sizeof(int64_t)));
  std::vector<int64_t> result(scale.out);
  for (int64_t i = 0; i < scale.out; ++i) {
    const float x =
        static_cast<float>(i) + (scale.half_pixel_centers ? 0.5f : 0);
    const float at = x * scale.scale();
    const float nearest = scale.align_corners ? std::round(at) : std::floor(at);
    result[i] =
        std::clamp<int64_t>(static_cast<int64_t>(nearest), 0, scale.in - 1);
  }
  return result;
}

}  // namespace weft
