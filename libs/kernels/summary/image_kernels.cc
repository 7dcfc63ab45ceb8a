// ImageSummary.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "libs/kernels/common/number_types.h"
#include "libs/kernels/summary/png.h"
#include "libs/kernels/summary/summary_kernels.h"
#include "libs/kernels/summary/summary_output.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

using Pixels = std::vector<uint8_t>;

// The type for computation: as in TensorFlow, except float for half.
template <typename T>
using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;

// The conversion of an image's numbers to bytes.
template <typename C>
struct Scaling {
  C scale = 0;
  C offset = 0;
};

template <typename T>
bool IsFinite(absl::Span<const T> pixel) {
  return std::all_of(pixel.begin(), pixel.end(), [](T value) {
    return std::isfinite(static_cast<Computed<T>>(value));
  });
}

// TensorFlow's conversion: the largest value becomes 255; or, if there are
// negative ones, 0 becomes 128, and the largest absolute value is 127 away from
// it. Non-finite pixels are ignored.
template <typename T, typename C = Computed<T>>
Scaling<C> ScalingOf(absl::Span<const T> image, size_t channels) {
  constexpr C kZeroThreshold = static_cast<C>(1e-6);
  C least = std::numeric_limits<C>::infinity();
  C largest = -least;
  for (size_t i = 0; i < image.size(); i += channels) {
    const absl::Span<const T> pixel = image.subspan(i, channels);
    if (!IsFinite(pixel)) continue;
    for (const T value : pixel) {
      least = std::min(least, static_cast<C>(value));
      largest = std::max(largest, static_cast<C>(value));
    }
  }
  const bool is_signed = least < 0;
  if (is_signed) largest = std::max(std::abs(least), std::abs(largest));
  const C range = is_signed ? 127 : 255;
  return {.scale = largest < kZeroThreshold ? 0 : range / largest,
          .offset = static_cast<C>(is_signed ? 128 : 0)};
}

template <typename T>
Pixels ToBytes(absl::Span<const T> image, size_t channels,
               absl::Span<const uint8_t> bad_color) {
  using C = Computed<T>;
  const Scaling<C> scaling = ScalingOf(image, channels);
  Pixels pixels;
  pixels.reserve(image.size());
  for (size_t i = 0; i < image.size(); i += channels) {
    const absl::Span<const T> pixel = image.subspan(i, channels);
    if (!IsFinite(pixel)) {
      pixels.insert(pixels.end(), bad_color.begin(),
                    bad_color.begin() + static_cast<ptrdiff_t>(channels));
      continue;
    }
    for (const T value : pixel) {
      const C byte = static_cast<C>(value) * scaling.scale + scaling.offset;
      // A rounding error above 255 must not wrap to 0.
      pixels.push_back(static_cast<uint8_t>(std::clamp(byte, C{0}, C{255})));
    }
  }
  return pixels;
}

class ImageSummaryKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<ImageSummaryKernel>(construction);
    ASSIGN_OR_RETURN(kernel->max_images_,
                     construction.GetAttr<int64_t>("max_images"));
    ASSIGN_OR_RETURN(kernel->bad_color_,
                     construction.GetAttr<Tensor>("bad_color"));
    RETURN_IF_ERROR(CheckBadColor(kernel->bad_color_));
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const std::string tag, ScalarText(context, 0, "Tags"));
    const Tensor& tensor = context.input(1);
    RETURN_IF_ERROR(CheckImages(tensor));
    const int64_t images = std::min(max_images_, tensor.dim(0));
    HeapCharge charge(context.host_allocator());
    summary::Summary summary;
    for (int64_t i = 0; i < images; ++i) {
      ASSIGN_OR_RETURN(summary::ImageValue image, Encode(tensor, i));
      RETURN_IF_ERROR(ChargeValue(charge, tag.size() + image.encoded.size()));
      summary.value.push_back({.tag = NumberedTag(tag, "image", max_images_, i),
                               .value = std::move(image)});
    }
    return SetSummary(context, summary);
  }

 private:
  static absl::Status CheckBadColor(const Tensor& color) {
    if (color.dtype() != DT_UINT8) {
      return absl::InvalidArgumentError(absl::StrCat(
          "bad_color must be uint8, got ", DataTypeName(color.dtype())));
    }
    if (color.rank() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "bad_color must be a vector, got shape ", color.shape().ToString()));
    }
    return absl::OkStatus();
  }

  absl::Status CheckImages(const Tensor& tensor) const {
    const bool is_image =
        tensor.rank() == 4 &&
        (tensor.dim(3) == 1 || tensor.dim(3) == 3 || tensor.dim(3) == 4);
    if (!is_image) {
      return absl::InvalidArgumentError(
          absl::StrCat("Tensor must be 4-D with last dim 1, 3, or 4, not ",
                       tensor.shape().ToString()));
    }
    constexpr int64_t kMostPixels = int64_t{1} << 29;  // as in TensorFlow
    if (tensor.dim(1) != 0 && tensor.dim(2) >= kMostPixels / tensor.dim(1)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Tensor too large for summary ", tensor.shape().ToString()));
    }
    if (tensor.dtype() != DT_UINT8 && bad_color_.dim(0) < tensor.dim(3)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "expected depth <= bad_color.size, got depth = ", tensor.dim(3),
          ", bad_color.size = ", bad_color_.dim(0)));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<summary::ImageValue> Encode(const Tensor& tensor,
                                             int64_t i) const {
    summary::ImageValue image;
    image.height = static_cast<int32_t>(tensor.dim(1));
    image.width = static_cast<int32_t>(tensor.dim(2));
    image.colorspace = static_cast<int32_t>(tensor.dim(3));
    const auto encode = [&](absl::Span<const uint8_t> pixels) {
      return EncodePng(pixels, image.height, image.width, image.colorspace);
    };
    if (tensor.dtype() == DT_UINT8) {
      ASSIGN_OR_RETURN(image.encoded, encode(ImageOf<uint8_t>(tensor, i)));
      return image;
    }
    Pixels pixels;
    RETURN_IF_ERROR(DispatchType(TypeList<float, half, double>{},
                                 tensor.dtype(), [&]<typename T>(TypeTag<T>) {
                                   pixels = ToBytes(
                                       ImageOf<T>(tensor, i),
                                       static_cast<size_t>(tensor.dim(3)),
                                       bad_color_.flat<uint8_t>());
                                   return absl::OkStatus();
                                 }));
    ASSIGN_OR_RETURN(image.encoded, encode(pixels));
    return image;
  }

  template <typename T>
  static absl::Span<const T> ImageOf(const Tensor& tensor, int64_t i) {
    const auto size =
        static_cast<size_t>(tensor.dim(1) * tensor.dim(2) * tensor.dim(3));
    return tensor.flat<T>().subspan(static_cast<size_t>(i) * size, size);
  }

  int64_t max_images_ = 0;
  Tensor bad_color_;
};

}  // namespace

void RegisterImageSummaryKernels(KernelRegistry& registry) {
  KernelDef def;
  def.op = "ImageSummary";
  def.types = {{"T", {DT_UINT8, DT_FLOAT, DT_HALF, DT_DOUBLE}}};
  registry.Register(std::move(def), ImageSummaryKernel::Make);
}

}  // namespace weft
