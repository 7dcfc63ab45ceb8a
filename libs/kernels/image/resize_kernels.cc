// Kernels that resize images: tensors [batch, rows, columns, channels].
//
// Sums have TensorFlow's order, except those of ResizeArea: ResizeBilinear
// interpolates along rows first, ResizeBicubic along columns first; gradients
// are added pixel by pixel. Channels are independent, so that gradients can be
// divided by channel between threads.
#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/image/image_kernels.h"
#include "libs/kernels/image/resampling.h"
#include "libs/kernels/nn/windows.h"
#include "libs/kernels/op_kernel.h"

namespace weft {
namespace {

using PixelTypes = TypeList<int8_t, uint8_t, int16_t, uint16_t, int32_t,
                            int64_t, half, bfloat16, float, double>;

// The number of gradient channels that one thread sums.
constexpr int64_t kChannelsOfPart = 16;

template <typename T>
float ToFloat(T x) {
  return static_cast<float>(static_cast<Wide<T>>(x));
}

absl::Status CheckRank(const Tensor& images, const char* what) {
  if (images.rank() == 4) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " must be 4-dimensional", images.shape().ToString()));
}

// Rows and columns, read from an input.
struct ImageSize {
  int64_t rows, columns;

  static absl::StatusOr<ImageSize> Of(const Tensor& size, const char* refusal) {
    if (size.rank() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "shape_t must be 1-dimensional", size.shape().ToString()));
    }
    if (size.num_elements() != 2) {
      return absl::InvalidArgumentError(absl::StrCat(
          "shape_t must have two elements", size.shape().ToString()));
    }
    const auto sizes = size.flat<int32_t>();
    if (sizes[0] <= 0 || sizes[1] <= 0) {
      return absl::InvalidArgumentError(refusal);
    }
    return ImageSize{sizes[0], sizes[1]};
  }
};

// The sizes of a batch of images before and after resizing.
struct Resize {
  int64_t batch = 0, channels = 0;
  PixelScale rows, columns;

  int64_t in_row() const { return columns.in * channels; }
  int64_t out_row() const { return columns.out * channels; }
  int64_t out_rows() const { return batch * rows.out; }
};

class ResizeKernel : public OpKernel {
 public:
  explicit ResizeKernel(const OpKernelConstruction& construction,
                        bool align_corners, bool half_pixel_centers)
      : OpKernel(construction),
        align_corners_(align_corners),
        half_pixel_centers_(half_pixel_centers) {}

 protected:
  PixelScale ScaleOf(int64_t in, int64_t out) const {
    return {in, out, align_corners_, half_pixel_centers_};
  }
  absl::Status CheckAttrs() const {
    if (!half_pixel_centers_ || !align_corners_) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "If half_pixel_centers is True, align_corners must be False.");
  }

  // Reads the inputs images and size.
  absl::StatusOr<Resize> SizesOf(const OpKernelContext& context) const {
    RETURN_IF_ERROR(CheckAttrs());
    const Tensor& images = context.input(0);
    RETURN_IF_ERROR(CheckRank(images, "input"));
    ASSIGN_OR_RETURN(
        const ImageSize size,
        ImageSize::Of(context.input(1), "output dimensions must be positive"));
    if (images.dim(1) == 0 || images.dim(2) == 0) {
      return absl::InvalidArgumentError("input image must be of non-zero size");
    }
    if (images.dim(3) == 0) {
      return absl::InvalidArgumentError("image must have at least one channel");
    }
    return Resize{images.dim(0), images.dim(3),
                  ScaleOf(images.dim(1), size.rows),
                  ScaleOf(images.dim(2), size.columns)};
  }

  static absl::StatusOr<Tensor*> AllocateImages(OpKernelContext& context,
                                                int64_t batch, int64_t rows,
                                                int64_t columns,
                                                int64_t channels) {
    ASSIGN_OR_RETURN(const TensorShape shape,
                     TensorShape::Create({batch, rows, columns, channels}));
    return context.AllocateOutput(0, shape);
  }
  static absl::StatusOr<Tensor*> AllocateResized(OpKernelContext& context,
                                                 const Resize& r) {
    return AllocateImages(context, r.batch, r.rows.out, r.columns.out,
                          r.channels);
  }

 private:
  const bool align_corners_, half_pixel_centers_;
};

// Returns INVALID_ARGUMENT if there are pixel positions that floats cannot
// represent.
absl::Status CheckNearest(int64_t rows, int64_t columns) {
  constexpr int64_t kMost = 1 << 24;
  if (rows < kMost && columns < kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "nearest neighbor requires max height & width of 2^24");
}

// For any type, because it only moves elements.
class ResizeNearestNeighborKernel : public ResizeKernel {
 public:
  using ResizeKernel::ResizeKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const Resize r, SizesOf(context));
    ASSIGN_OR_RETURN(Tensor * output, AllocateResized(context, r));
    if (output->num_elements() == 0) return absl::OkStatus();
    RETURN_IF_ERROR(CheckNearest(r.rows.in, r.columns.in));
    RETURN_IF_ERROR(CheckNearest(r.rows.out, r.columns.out));
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(const std::vector<int64_t> rows,
                     NearestPixels(r.rows, charge));
    ASSIGN_OR_RETURN(const std::vector<int64_t> columns,
                     NearestPixels(r.columns, charge));
    const size_t pixel = r.channels * DataTypeSize(output->dtype());
    const char* const from = static_cast<const char*>(context.input(0).data());
    char* const to = static_cast<char*>(output->mutable_data());
    ParallelLoop(context, r.out_rows(), r.out_row(),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t y = begin; y < end; ++y) {
                     const int64_t row =
                         y / r.rows.out * r.rows.in + rows[y % r.rows.out];
                     const char* const in = from + row * r.columns.in * pixel;
                     char* out = to + y * r.columns.out * pixel;
                     for (const int64_t x : columns) {
                       std::copy_n(in + x * pixel, pixel, out);
                       out += pixel;
                     }
                   }
                 });
    return absl::OkStatus();
  }
};

// Rows of images as floats.
template <typename T>
class FloatRows {
 public:
  FloatRows(const T* rows, int64_t size) : rows_(rows), size_(size) {
    if constexpr (!std::is_same_v<T, float>) buffer_.resize(size);
  }

  // The result is valid until the next call.
  const float* Row(int64_t row) {
    const T* const from = rows_ + row * size_;
    if constexpr (std::is_same_v<T, float>) {
      return from;
    } else {
      std::transform(from, from + size_, buffer_.begin(), ToFloat<T>);
      return buffer_.data();
    }
  }

 private:
  const T* const rows_;
  const int64_t size_;
  std::vector<float> buffer_;
};

// Computes rows of floats from the rows of images. Used by one thread.
template <typename T>
class BilinearRows {
 public:
  // The resampling of both dimensions.
  struct Plan {
    Resampling rows, columns;
  };

  BilinearRows(const Resize& r, const Plan& plan, const T* images)
      : r_(r), plan_(plan), in_(images, r.in_row()) {
    for (std::vector<float>& row : rows_) row.resize(r.out_row());
  }

  // Computes row `y` of image `n`.
  void Make(int64_t n, int64_t y, float* out) {
    const auto taps = plan_.rows.taps(y);
    Need(n * r_.rows.in + taps[0].at, n * r_.rows.in + taps[1].at);
    const float* const top = rows_[0].data();
    const float* const bottom =
        taps[0].at == taps[1].at ? top : rows_[1].data();
    const float weight = taps[1].weight;
    for (int64_t i = 0; i < r_.out_row(); ++i) {
      out[i] = top[i] + (bottom[i] - top[i]) * weight;
    }
  }

 private:
  // Resamples the columns of the rows above and below, which often serve
  // several target rows.
  void Need(int64_t top, int64_t bottom) {
    if (top != at_[0] && top == at_[1]) {
      std::swap(rows_[0], rows_[1]);
      std::swap(at_[0], at_[1]);
    }
    Need(0, top);
    if (bottom != top) Need(1, bottom);
  }
  void Need(int i, int64_t row) {
    if (at_[i] == row) return;
    at_[i] = row;
    const float* const in = in_.Row(row);
    float* out = rows_[i].data();
    for (int64_t x = 0; x < r_.columns.out; ++x, out += r_.channels) {
      const auto taps = plan_.columns.taps(x);
      const float* const left = in + taps[0].at * r_.channels;
      const float* const right = in + taps[1].at * r_.channels;
      for (int64_t c = 0; c < r_.channels; ++c) {
        out[c] = left[c] + (right[c] - left[c]) * taps[1].weight;
      }
    }
  }

  const Resize& r_;
  const Plan& plan_;
  FloatRows<T> in_;
  std::vector<float> rows_[2];
  int64_t at_[2] = {-1, -1};
};

// Sums over the taps of a column, then of a row, times a factor.
template <typename T>
class WeightedRows {
 public:
  struct Plan {
    Resampling rows, columns;
    float factor;
  };

  WeightedRows(const Resize& r, const Plan& plan, const T* images)
      : r_(r), plan_(plan), in_(images, r.in_row()), sum_(r.in_row()) {}

  void Make(int64_t n, int64_t y, float* out) {
    std::fill(sum_.begin(), sum_.end(), 0.0f);
    for (const PixelTap& tap : plan_.rows.taps(y)) {
      const float* const in = in_.Row(n * r_.rows.in + tap.at);
      for (int64_t i = 0; i < r_.in_row(); ++i) sum_[i] += in[i] * tap.weight;
    }
    for (int64_t x = 0; x < r_.columns.out; ++x, out += r_.channels) {
      std::fill_n(out, r_.channels, 0.0f);
      for (const PixelTap& tap : plan_.columns.taps(x)) {
        const float* const in = sum_.data() + tap.at * r_.channels;
        for (int64_t c = 0; c < r_.channels; ++c) out[c] += in[c] * tap.weight;
      }
      for (int64_t c = 0; c < r_.channels; ++c) out[c] *= plan_.factor;
    }
  }

 private:
  const Resize& r_;
  const Plan& plan_;
  FloatRows<T> in_;
  std::vector<float> sum_;
};

// `charge` also counts each thread's rows of floats.
template <typename Rows, typename T>
absl::Status MakeRows(OpKernelContext& context, const Resize& r,
                      const typename Rows::Plan& plan, const T* images,
                      float* output, HeapCharge& charge) {
  const int64_t threads = std::min<int64_t>(
      context.scheduler().num_compute_threads(), r.out_rows());
  RETURN_IF_ERROR(charge.AddObjects(2 * threads * sizeof(float), r.out_row()));
  RETURN_IF_ERROR(charge.AddObjects(2 * threads * sizeof(float), r.in_row()));
  ParallelLoop(context, r.out_rows(), 4 * (r.in_row() + r.out_row()),
               [&](int64_t begin, int64_t end) {
                 Rows rows(r, plan, images);
                 for (int64_t i = begin; i < end; ++i) {
                   rows.Make(i / r.rows.out, i % r.rows.out,
                             output + i * r.out_row());
                 }
               });
  return absl::OkStatus();
}

template <typename T>
class ResizeBilinearKernel : public ResizeKernel {
 public:
  using ResizeKernel::ResizeKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const Resize r, SizesOf(context));
    ASSIGN_OR_RETURN(Tensor * output, AllocateResized(context, r));
    if (output->num_elements() == 0) return absl::OkStatus();
    const T* const images = context.input(0).flat<T>().data();
    float* const to = output->mutable_flat<float>().data();
    if (r.rows.in == r.rows.out && r.columns.in == r.columns.out) {
      // No multiplication, so that infinities do not spread.
      std::transform(images, images + output->num_elements(), to, ToFloat<T>);
      return absl::OkStatus();
    }
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(Resampling rows, Resampling::Bilinear(r.rows, charge));
    ASSIGN_OR_RETURN(Resampling columns,
                     Resampling::Bilinear(r.columns, charge));
    return MakeRows<BilinearRows<T>>(
        context, r, {std::move(rows), std::move(columns)}, images, to, charge);
  }
};

using ResampleFn = absl::StatusOr<Resampling> (*)(const PixelScale& scale,
                                                  HeapCharge& charge);

// For sums with the weights of kResample, or for their means.
template <typename T, ResampleFn kResample, bool kOfMeans>
class WeightedResizeKernel : public ResizeKernel {
 public:
  using ResizeKernel::ResizeKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const Resize r, SizesOf(context));
    ASSIGN_OR_RETURN(Tensor * output, AllocateResized(context, r));
    if (output->num_elements() == 0) return absl::OkStatus();
    const float factor =
        kOfMeans ? 1.0f / (r.rows.scale() * r.columns.scale()) : 1.0f;
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(Resampling rows, kResample(r.rows, charge));
    ASSIGN_OR_RETURN(Resampling columns, kResample(r.columns, charge));
    return MakeRows<WeightedRows<T>>(
        context, r, {std::move(rows), std::move(columns), factor},
        context.input(0).flat<T>().data(), output->mutable_flat<float>().data(),
        charge);
  }
};

// Computes image gradients by addition: calls `add(y, x, at, image, channels)`
// for each gradient pixel, for several channels at a time, with their offset in
// the gradients and in an image.
template <typename T, typename Add>
void AddUp(OpKernelContext& context, const Resize& r, T* images,
           const Add& add) {
  const int64_t parts = (r.channels + kChannelsOfPart - 1) / kChannelsOfPart;
  const int64_t pixels = r.rows.out * r.columns.out;
  ParallelLoop(
      context, r.batch * parts,
      4 * pixels * std::min(r.channels, kChannelsOfPart),
      [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t n = i / parts, first = i % parts * kChannelsOfPart;
          const int64_t channels =
              std::min(kChannelsOfPart, r.channels - first);
          T* const image = images + n * r.rows.in * r.in_row() + first;
          for (int64_t k = 0; k < r.rows.in * r.columns.in; ++k) {
            std::fill_n(image + k * r.channels, channels, T{});
          }
          const int64_t gradient = n * pixels * r.channels + first;
          for (int64_t y = 0; y < r.rows.out; ++y) {
            for (int64_t x = 0; x < r.columns.out; ++x) {
              add(y, x, gradient + (y * r.columns.out + x) * r.channels, image,
                  channels);
            }
          }
        }
      });
}

// Takes the inputs gradients and images.
template <typename T, ResampleFn kResample>
class ResizeGradKernel : public ResizeKernel {
 public:
  using ResizeKernel::ResizeKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& gradients = context.input(0);
    const Tensor& images = context.input(1);
    RETURN_IF_ERROR(CheckAttrs());
    RETURN_IF_ERROR(CheckRank(gradients, "input_grad"));
    RETURN_IF_ERROR(CheckRank(images, "original_image"));
    if (gradients.dim(1) == 0 || gradients.dim(2) == 0) {
      return absl::InvalidArgumentError("resized dimensions must be positive");
    }
    if (images.dim(1) == 0 || images.dim(2) == 0) {
      return absl::InvalidArgumentError("original dimensions must be positive");
    }
    const Resize r = {gradients.dim(0), gradients.dim(3),
                      ScaleOf(images.dim(1), gradients.dim(1)),
                      ScaleOf(images.dim(2), gradients.dim(2))};
    ASSIGN_OR_RETURN(
        const TensorShape shape,
        TensorShape::Create({r.batch, r.rows.in, r.columns.in, r.channels}));
    // 16-bit sums would stop changing when they are large compared with the
    // addends.
    ASSIGN_OR_RETURN(Tensor sums,
                     context.AllocateTemp(DataTypeOf<Wide<T>>::value, shape));
    if (sums.num_elements() > 0) {
      RETURN_IF_ERROR(SumUp(context, r, gradients.flat<float>().data(),
                            sums.mutable_flat<Wide<T>>().data()));
    }
    return NarrowTo<Wide<T>>(context, 0, std::move(sums));
  }

 private:
  static absl::Status SumUp(OpKernelContext& context, const Resize& r,
                            const float* gradients, Wide<T>* images) {
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(const Resampling rows, kResample(r.rows, charge));
    ASSIGN_OR_RETURN(const Resampling columns, kResample(r.columns, charge));
    AddUp(context, r, images,
          [&](int64_t y, int64_t x, int64_t at, Wide<T>* image,
              int64_t channels) {
            for (const PixelTap& row : rows.taps(y)) {
              for (const PixelTap& column : columns.taps(x)) {
                Wide<T>* const to =
                    image + (row.at * r.columns.in + column.at) * r.channels;
                for (int64_t c = 0; c < channels; ++c) {
                  to[c] += gradients[at + c] * row.weight * column.weight;
                }
              }
            }
          });
    return absl::OkStatus();
  }
};

// Takes the inputs gradients and size.
template <typename T>
class ResizeNearestNeighborGradKernel : public ResizeKernel {
 public:
  using ResizeKernel::ResizeKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& gradients = context.input(0);
    RETURN_IF_ERROR(CheckRank(gradients, "input"));
    ASSIGN_OR_RETURN(
        const ImageSize size,
        ImageSize::Of(context.input(1), "shape_t's elements must be positive"));
    ASSIGN_OR_RETURN(Tensor * output,
                     AllocateImages(context, gradients.dim(0), size.rows,
                                    size.columns, gradients.dim(3)));
    if (output->num_elements() == 0) return absl::OkStatus();
    RETURN_IF_ERROR(CheckNearest(size.rows, size.columns));
    RETURN_IF_ERROR(CheckNearest(gradients.dim(1), gradients.dim(2)));
    // Without pixels, no positions are needed.
    const Resize r = {gradients.dim(0), gradients.dim(3),
                      ScaleOf(size.rows, gradients.dim(1)),
                      ScaleOf(size.columns, gradients.dim(2))};
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(const std::vector<int64_t> rows,
                     NearestPixels(r.rows, charge));
    ASSIGN_OR_RETURN(const std::vector<int64_t> columns,
                     NearestPixels(r.columns, charge));
    const T* const from = gradients.flat<T>().data();
    AddUp(context, r, output->mutable_flat<T>().data(),
          [&](int64_t y, int64_t x, int64_t at, T* image, int64_t channels) {
            T* const to =
                image + (rows[y] * r.columns.in + columns[x]) * r.channels;
            for (int64_t c = 0; c < channels; ++c) {
              to[c] = AddElements(to[c], from[at + c]);
            }
          });
    return absl::OkStatus();
  }
};

template <typename Kernel>
absl::StatusOr<std::unique_ptr<OpKernel>> Make(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(const bool align_corners,
                   construction.GetAttr<bool>("align_corners"));
  // ResizeArea has no half_pixel_centers.
  const bool* const half_pixel_centers =
      construction.node().attr<bool>("half_pixel_centers");
  return std::make_unique<Kernel>(
      construction, align_corners,
      half_pixel_centers != nullptr && *half_pixel_centers);
}

template <template <typename> typename Kernel, typename... Ts>
void RegisterFor(KernelRegistry& registry, const char* op, TypeList<Ts...>) {
  (registry.Register({.op = op, .types = {{"T", {DataTypeOf<Ts>::value}}}},
                     Make<Kernel<Ts>>),
   ...);
}

template <typename T>
using ResizeBicubicKernel =
    WeightedResizeKernel<T, &Resampling::Bicubic, /*kOfMeans=*/false>;
template <typename T>
using ResizeAreaKernel =
    WeightedResizeKernel<T, &Resampling::Area, /*kOfMeans=*/true>;
template <typename T>
using ResizeBilinearGradKernel = ResizeGradKernel<T, &Resampling::Bilinear>;
template <typename T>
using ResizeBicubicGradKernel = ResizeGradKernel<T, &Resampling::Bicubic>;

}  // namespace

void RegisterResizeKernels(KernelRegistry& registry) {
  registry.Register({.op = "ResizeNearestNeighbor",
                     .types = {{"T", DataTypesOf(PixelTypes{})}}},
                    Make<ResizeNearestNeighborKernel>);
  RegisterFor<ResizeBilinearKernel>(registry, "ResizeBilinear", PixelTypes{});
  RegisterFor<ResizeBicubicKernel>(registry, "ResizeBicubic", PixelTypes{});
  RegisterFor<ResizeAreaKernel>(registry, "ResizeArea", PixelTypes{});
  RegisterFor<ResizeNearestNeighborGradKernel>(
      registry, "ResizeNearestNeighborGrad",
      TypeList<uint8_t, int8_t, int32_t, half, bfloat16, float, double>{});
  RegisterFor<ResizeBilinearGradKernel>(registry, "ResizeBilinearGrad",
                                        FloatingTypes{});
  RegisterFor<ResizeBicubicGradKernel>(registry, "ResizeBicubicGrad",
                                       TypeList<float, double>{});
}

}  // namespace weft
