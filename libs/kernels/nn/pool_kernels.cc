// MaxPool and AvgPool with their gradients. Only MaxPool supports windows
// across channels, but not together with rows or columns.
#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/isa/narrow_loops.h"
#include "libs/kernels/isa/pool_loops.h"
#include "libs/kernels/math/elementwise.h"
#include "libs/kernels/nn/layout.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/nn/windows.h"

namespace weft {
namespace {

struct Pool {
  int64_t batch, channels;
  WindowDim rows, columns;

  int64_t image_size() const { return rows.in * columns.in * channels; }
  int64_t output_size() const { return rows.out * columns.out * channels; }
  TensorShape output_shape() const {
    return {batch, rows.out, columns.out, channels};
  }

  static absl::StatusOr<Pool> Of(const WindowAttrs& attrs,
                                 const TensorShape& image) {
    if (image.rank() != 4) {
      return absl::InvalidArgumentError(absl::StrCat(
          "tensor_in must be 4-dimensional, but has shape ", image.ToString()));
    }
    Pool pool;
    pool.batch = image.dim(0);
    pool.channels = image.dim(3);
    ASSIGN_OR_RETURN(pool.rows, attrs.Dim(1, image.dim(1), attrs.ksize(1)));
    ASSIGN_OR_RETURN(pool.columns, attrs.Dim(2, image.dim(2), attrs.ksize(2)));
    RETURN_IF_ERROR(TensorShape::Create(
        {pool.batch, pool.rows.out, pool.columns.out, pool.channels}));
    return pool;
  }

  // The part of window (y, x) inside the image, and the offset of its first
  // pixel.
  struct Inside {
    PoolWindow window;
    int64_t offset;
    bool is_empty() const { return window.rows <= 0 || window.columns <= 0; }
  };
  Inside InsideOf(int64_t y, int64_t x) const {
    const int64_t top = std::max<int64_t>(rows.At(y, 0), 0);
    const int64_t bottom = std::min(rows.At(y, rows.size - 1), rows.in - 1);
    const int64_t left = std::max<int64_t>(columns.At(x, 0), 0);
    const int64_t right =
        std::min(columns.At(x, columns.size - 1), columns.in - 1);
    return {{.rows = bottom - top + 1,
             .columns = right - left + 1,
             .row_stride = columns.in * channels,
             .channels = channels},
            (top * columns.in + left) * channels};
  }

  // Calls `visit(offset)` for each position of window (y, x) inside the image;
  // an offset is that of `channels` elements.
  template <typename Visit>
  void ForEachPlace(int64_t y, int64_t x, const Visit& visit) const {
    const Inside inside = InsideOf(y, x);
    for (int64_t i = 0; i < inside.window.rows; ++i) {
      for (int64_t j = 0; j < inside.window.columns; ++j) {
        visit(inside.offset + i * inside.window.row_stride + j * channels);
      }
    }
  }

  // Calls `visit(y, x, offset of the output)` for all windows of an image.
  template <typename Visit>
  void ForEachWindow(const Visit& visit) const {
    for (int64_t y = 0; y < rows.out; ++y) {
      for (int64_t x = 0; x < columns.out; ++x) {
        visit(y, x, (y * columns.out + x) * channels);
      }
    }
  }

  // The position of the first maximum of a window; -1: none.
  template <typename T>
  int64_t Largest(const T* image, int64_t y, int64_t x, int64_t channel) const {
    int64_t best = -1;
    ForEachPlace(y, x, [&](int64_t place) {
      const int64_t at = place + channel;
      if (best < 0 ||
          static_cast<Wide<T>>(image[at]) > static_cast<Wide<T>>(image[best])) {
        best = at;
      }
    });
    return best;
  }
};

// Checks windows across channels, with TensorFlow's texts.
absl::Status CheckChannels(absl::string_view op, const WindowAttrs& attrs) {
  if (op == "MaxPoolGrad" || op == "MaxPoolGradGrad") {
    if (attrs.ksize(3) == 1 && attrs.stride(3) == 1) return absl::OkStatus();
    return absl::UnimplementedError(
        absl::StrCat("MaxPooling", absl::StripPrefix(op, "MaxPool"),
                     " is not yet supported on the depth dimension."));
  }
  if (attrs.ksize(3) == 1) return absl::OkStatus();
  if (op != "MaxPool") {
    return absl::UnimplementedError(
        "Non-spatial pooling is not yet supported.");
  }
  if (attrs.ksize(1) == 1 && attrs.ksize(2) == 1) return absl::OkStatus();
  return absl::UnimplementedError(
      "MaxPooling supports exactly one of pooling across depth or pooling "
      "across width/height.");
}

class PoolKernel : public OpKernel {
 public:
  template <typename Kernel>
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(WindowAttrs attrs, WindowAttrs::ReadPool(construction));
    RETURN_IF_ERROR(CheckChannels(construction.node().type(), attrs));
    auto kernel = std::make_unique<Kernel>(construction);
    kernel->attrs_ = std::move(attrs);
    return kernel;
  }
  using OpKernel::OpKernel;

 protected:
  const WindowAttrs& attrs() const { return attrs_; }
  absl::StatusOr<Pool> PoolOf(const TensorShape& image) const {
    return Pool::Of(attrs_, image);
  }
  static absl::Status CheckShape(const Tensor& tensor, const TensorShape& shape,
                                 absl::string_view what) {
    if (tensor.shape() == shape) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("Expected ", what, " shape to be ", shape.ToString(),
                     ", but got ", tensor.shape().ToString()));
  }
  // Calls `work(n)` for every image; returns one of the errors.
  template <typename Work>
  static absl::Status ForEachImage(OpKernelContext& context, const Pool& pool,
                                   const Work& work) {
    // The output may be empty with any number of images.
    if (pool.output_size() == 0) return absl::OkStatus();
    const int64_t places = std::min(pool.rows.size, pool.rows.in) *
                           std::min(pool.columns.size, pool.columns.in);
    const int64_t cost = std::min<int64_t>(pool.output_size(), 1 << 20) *
                         std::min<int64_t>(places, 1 << 20);
    FirstError error;
    ParallelLoop(context, pool.batch, cost, [&](int64_t begin, int64_t end) {
      for (int64_t n = begin; n < end; ++n) error.Update(work(n));
    });
    return error.Take();
  }

 private:
  WindowAttrs attrs_;
};

// A half or bfloat16 image, converted to floats for computation.
template <typename T>
class FloatImage {
 public:
  // Uninitialized. RESOURCE_EXHAUSTED without memory.
  static absl::StatusOr<FloatImage> New(OpKernelContext& context,
                                        int64_t size) {
    ASSIGN_OR_RETURN(Tensor floats, context.AllocateTemp(DT_FLOAT, {size}));
    return FloatImage(std::move(floats));
  }
  static absl::StatusOr<FloatImage> Of(OpKernelContext& context, const T* image,
                                       int64_t size) {
    ASSIGN_OR_RETURN(FloatImage floats, New(context, size));
    BestNarrowLoops<T>().widen(image, floats.data(), size);
    return floats;
  }

  float* data() { return floats_.mutable_flat<float>().data(); }
  void CopyTo(T* image) {
    BestNarrowLoops<T>().narrow(data(), image, floats_.num_elements());
  }

 private:
  explicit FloatImage(Tensor floats) : floats_(std::move(floats)) {}

  Tensor floats_;
};

// Calls `work(image, out)`, which writes all of `out`; half and bfloat16 are
// converted to floats and back.
template <typename T, typename Work>
absl::Status InWide(OpKernelContext& context, const T* image,
                    int64_t image_size, T* out, int64_t out_size,
                    const Work& work) {
  if constexpr (kHasNarrowLoops<T>) {
    ASSIGN_OR_RETURN(auto floats,
                     FloatImage<T>::Of(context, image, image_size));
    ASSIGN_OR_RETURN(auto result, FloatImage<T>::New(context, out_size));
    work(floats.data(), result.data());
    result.CopyTo(out);
  } else {
    work(image, out);
  }
  return absl::OkStatus();
}

template <typename T>
class MaxPoolKernel : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  absl::Status Compute(OpKernelContext& context) override {
    return attrs().ksize(3) == 1 ? PoolPlaces(context) : PoolChannels(context);
  }

 private:
  using W = Wide<T>;

  absl::Status PoolPlaces(OpKernelContext& context) const {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(const Pool pool, PoolOf(input.shape()));
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, pool.output_shape()));
    const T* const images = input.flat<T>().data();
    T* const outputs = output->mutable_flat<T>().data();
    return ForEachImage(context, pool, [&](int64_t n) {
      return InWide(context, images + n * pool.image_size(), pool.image_size(),
                    outputs + n * pool.output_size(), pool.output_size(),
                    [&](const W* image, W* out) {
                      pool.ForEachWindow([&](int64_t y, int64_t x, int64_t at) {
                        MaxOf(pool, image, y, x, out + at);
                      });
                      Limit(out, pool.output_size());
                    });
    });
  }

  // Clamps floats to the lowest finite number of a narrow T.
  static void Limit(W* out, int64_t n) {
    if constexpr (kHasNarrowLoops<T>) {
      const float lowest = LowestOf<T>();
      BestFloatLoops().maximum(out, 1, &lowest, 0, out, n);
    }
  }

  // Reduces each `window` adjacent channels to one. Rows and columns are
  // unchanged, whatever their strides and padding, as in TensorFlow.
  absl::Status PoolChannels(OpKernelContext& context) const {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(TensorShape shape, ShapeOfChannels(input));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    const int64_t window = attrs().ksize(3);
    const T* const in = input.flat<T>().data();
    T* const out = output->mutable_flat<T>().data();
    ParallelLoop(context, output->num_elements(), window,
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const T* const first = in + i * window;
                     // Does not use Larger, because the initial value is the
                     // first element.
                     out[i] = *std::max_element(first, first + window, IsLess);
                   }
                 });
    return absl::OkStatus();
  }

  // The shape of the output, if windows across channels fit; with TensorFlow's
  // texts.
  absl::StatusOr<TensorShape> ShapeOfChannels(const Tensor& input) const {
    RETURN_IF_ERROR(CheckImages(input, "tensor_in"));
    const int64_t window = attrs().ksize(3);
    if (input.dim(3) % window != 0) {
      return absl::UnimplementedError(
          "Depthwise max pooling requires the depth window to evenly divide "
          "the input depth");
    }
    if (attrs().stride(3) != window) {
      return absl::UnimplementedError(
          "Depthwise max pooling requires the depth window to equal the depth "
          "stride");
    }
    TensorShape shape = input.shape();
    shape.set_dim(3, input.dim(3) / window);
    return shape;
  }

  static bool IsLess(T a, T b) {
    return static_cast<Wide<T>>(a) < static_cast<Wide<T>>(b);
  }

  // `a` where `b` is NaN.
  static W Larger(W a, W b) { return a < b ? b : a; }

  static void MaxOf(const Pool& pool, const W* image, int64_t y, int64_t x,
                    W* out) {
    if constexpr (std::is_floating_point_v<W>) {
      const Pool::Inside inside = pool.InsideOf(y, x);
      if (!inside.is_empty()) {
        BestPoolLoops<W>().max(inside.window, image + inside.offset, out);
        return;
      }
    }
    if (pool.InsideOf(y, x).is_empty()) {
      std::fill(out, out + pool.channels, W(0));
      return;
    }
    std::fill(out, out + pool.channels, LowestOf<W>());
    pool.ForEachPlace(y, x, [&](int64_t place) {
      const W* const in = image + place;
      for (int64_t c = 0; c < pool.channels; ++c) {
        out[c] = Larger(out[c], in[c]);
      }
    });
  }
};

// The gradient goes to the maximum of each window.
template <typename T>
class MaxPoolGradKernel : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    const Tensor& gradient = context.input(2);
    ASSIGN_OR_RETURN(const Pool pool, PoolOf(input.shape()));
    RETURN_IF_ERROR(
        CheckShape(context.input(1), pool.output_shape(), "orig_output"));
    RETURN_IF_ERROR(CheckShape(gradient, pool.output_shape(), "grad"));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, input.shape()));
    const T* const images = input.flat<T>().data();
    const T* const grads = gradient.flat<T>().data();
    T* const outputs = output->mutable_flat<T>().data();
    if (pool.output_size() == 0) {
      std::fill(outputs, outputs + output->num_elements(), T(0));
    }
    const bool tiles = Tiles(pool);
    return ForEachImage(context, pool, [&](int64_t n) {
      T* const out = outputs + n * pool.image_size();
      if (tiles) {
        WriteImage(pool, images + n * pool.image_size(),
                   grads + n * pool.output_size(), out);
        return absl::OkStatus();
      }
      // Cleared here, so that it is in the cache for the additions.
      std::fill(out, out + pool.image_size(), T(0));
      return AddToImage(context, pool, images + n * pool.image_size(),
                        grads + n * pool.output_size(), out);
    });
  }

 private:
  using W = Wide<T>;

  // Returns whether each position of a dimension is in exactly one window.
  static bool Tiles(const WindowDim& dim) {
    return dim.stride == dim.size && dim.out * dim.stride - dim.pad >= dim.in;
  }
  // Returns whether each position of an image is in exactly one window, for
  // which there is a loop.
  static bool Tiles(const Pool& pool) {
    return std::is_floating_point_v<T> && Tiles(pool.rows) &&
           Tiles(pool.columns) &&
           FitsLoops(std::min(pool.rows.size, pool.rows.in),
                     pool.columns.in * pool.channels);
  }
  // The requirements of the loops on a window.
  static bool FitsLoops(int64_t rows, int64_t row_stride) {
    return rows * row_stride <= std::numeric_limits<int32_t>::max();
  }
  static void WriteImage(const Pool& pool, const T* image, const T* grad,
                         T* out) {
    if constexpr (std::is_floating_point_v<T>) {
      pool.ForEachWindow([&](int64_t y, int64_t x, int64_t at) {
        const Pool::Inside inside = pool.InsideOf(y, x);
        if (inside.is_empty()) return;
        BestPoolLoops<T>().write_max_gradient(inside.window,
                                              image + inside.offset, grad + at,
                                              out + inside.offset);
      });
    }
  }

  // `out` must be zero.
  static absl::Status AddToImage(OpKernelContext& context, const Pool& pool,
                                 const T* image, const T* grad, T* out) {
    if constexpr (kHasNarrowLoops<T>) {
      return AddInFloats(context, pool, image, grad, out);
    } else {
      pool.ForEachWindow([&](int64_t y, int64_t x, int64_t at) {
        AddToLargest(pool, image, y, x, grad + at, out);
      });
      return absl::OkStatus();
    }
  }

  // Each sum is rounded as if it were computed in T, as in TensorFlow.
  static absl::Status AddInFloats(OpKernelContext& context, const Pool& pool,
                                  const T* image, const T* grad, T* out) {
    ASSIGN_OR_RETURN(auto floats,
                     FloatImage<T>::Of(context, image, pool.image_size()));
    ASSIGN_OR_RETURN(auto grads,
                     FloatImage<T>::Of(context, grad, pool.output_size()));
    ASSIGN_OR_RETURN(auto sums,
                     FloatImage<T>::Of(context, out, pool.image_size()));
    const bool overlap = pool.rows.stride < pool.rows.size ||
                         pool.columns.stride < pool.columns.size;
    pool.ForEachWindow([&](int64_t y, int64_t x, int64_t at) {
      AddToLargest(pool, floats.data(), y, x, grads.data() + at, sums.data());
      if (overlap) Round(pool.InsideOf(y, x), sums.data());
    });
    sums.CopyTo(out);
    return absl::OkStatus();
  }

  // Rounds the sums of a window to T.
  static void Round(const Pool::Inside& inside, float* sums) {
    if (inside.is_empty()) return;
    const int64_t size = inside.window.columns * inside.window.channels;
    const NarrowLoops<T>& loops = BestNarrowLoops<T>();
    T rounded[kNarrowBlock];
    for (int64_t row = 0; row < inside.window.rows; ++row) {
      float* const x = sums + inside.offset + row * inside.window.row_stride;
      for (int64_t i = 0; i < size; i += kNarrowBlock) {
        const int64_t count = std::min(kNarrowBlock, size - i);
        loops.narrow(x + i, rounded, count);
        loops.widen(rounded, x + i, count);
      }
    }
  }

  static void AddToLargest(const Pool& pool, const W* image, int64_t y,
                           int64_t x, const W* grad, W* out) {
    if constexpr (std::is_floating_point_v<W>) {
      const Pool::Inside inside = pool.InsideOf(y, x);
      if (inside.is_empty()) return;
      if (FitsLoops(inside.window.rows, inside.window.row_stride)) {
        BestPoolLoops<W>().add_max_gradient(
            inside.window, image + inside.offset, grad, out + inside.offset);
        return;
      }
    }
    for (int64_t c = 0; c < pool.channels; ++c) {
      const int64_t best = pool.Largest(image, y, x, c);
      if (best >= 0) out[best] = AddElements(out[best], grad[c]);
    }
  }
};

// The gradient of MaxPoolGrad with respect to its gradients.
template <typename T>
class MaxPoolGradGradKernel : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    const Tensor& gradient = context.input(2);
    ASSIGN_OR_RETURN(const Pool pool, PoolOf(input.shape()));
    RETURN_IF_ERROR(
        CheckShape(context.input(1), pool.output_shape(), "orig_output"));
    RETURN_IF_ERROR(CheckShape(gradient, input.shape(), "grad"));
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, pool.output_shape()));
    const T* const images = input.flat<T>().data();
    const T* const grads = gradient.flat<T>().data();
    T* const outputs = output->mutable_flat<T>().data();
    return ForEachImage(context, pool, [&](int64_t n) {
      const T* const image = images + n * pool.image_size();
      const T* const grad = grads + n * pool.image_size();
      T* const out = outputs + n * pool.output_size();
      pool.ForEachWindow([&](int64_t y, int64_t x, int64_t at) {
        for (int64_t c = 0; c < pool.channels; ++c) {
          const int64_t best = pool.Largest(image, y, x, c);
          out[at + c] = best >= 0 ? grad[best] : T(0);
        }
      });
      return absl::OkStatus();
    });
  }
};

// Padding is not counted. For half and bfloat16 the mean is computed in float.
template <typename T>
class AvgPoolKernel : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(const Pool pool, PoolOf(input.shape()));
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(0, pool.output_shape()));
    const T* const images = input.flat<T>().data();
    T* const outputs = output->mutable_flat<T>().data();
    return ForEachImage(context, pool, [&](int64_t n) {
      return InWide(
          context, images + n * pool.image_size(), pool.image_size(),
          outputs + n * pool.output_size(), pool.output_size(),
          [&](const auto* image, auto* out) { MeansOf(pool, image, out); });
    });
  }

 private:
  template <typename W>
  static void MeansOf(const Pool& pool, const W* image, W* out) {
    pool.ForEachWindow([&](int64_t y, int64_t x, int64_t at) {
      const Pool::Inside inside = pool.InsideOf(y, x);
      if (inside.is_empty()) {
        std::fill_n(out + at, pool.channels, W(0));
      } else {
        BestPoolLoops<W>().mean(inside.window, image + inside.offset, out + at);
      }
    });
  }
};

template <typename T>
class AvgPoolGradKernel : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const TensorShape shape, ShapeOfInput(context, 0));
    ASSIGN_OR_RETURN(const Pool pool, PoolOf(shape));
    RETURN_IF_ERROR(CheckShape(context.input(1), pool.output_shape(), "grad"));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    const T* const grads = context.input(1).flat<T>().data();
    T* const outputs = output->mutable_flat<T>().data();
    if (pool.output_size() == 0) {
      std::fill(outputs, outputs + output->num_elements(), T(0));
    }
    return ForEachImage(context, pool, [&](int64_t n) {
      return InWide(context, grads + n * pool.output_size(), pool.output_size(),
                    outputs + n * pool.image_size(), pool.image_size(),
                    [&](const auto* grad, auto* out) {
                      std::fill_n(out, pool.image_size(), 0);
                      AddShares(pool, grad, out);
                    });
    });
  }

 private:
  // Each position gets an equal share of its windows' gradients.
  template <typename W>
  static void AddShares(const Pool& pool, const W* grad, W* out) {
    pool.ForEachWindow([&](int64_t y, int64_t x, int64_t at) {
      int64_t count = 0;
      pool.ForEachPlace(y, x, [&](int64_t) { ++count; });
      pool.ForEachPlace(y, x, [&](int64_t place) {
        for (int64_t c = 0; c < pool.channels; ++c) {
          out[place + c] += grad[at + c] / static_cast<W>(count);
        }
      });
    });
  }
};

ImageArguments ImagesOfPool(absl::string_view op) {
  if (op == "AvgPoolGrad") return {{1}, {0}, {0}};
  if (op == "MaxPool" || op == "AvgPool") return {{0}, {}, {0}};
  return {{0, 1, 2}, {}, {0}};
}

template <typename Kernel>
void Register(KernelRegistry& registry, const char* op, DataType type) {
  KernelDef def;
  def.op = op;
  def.types = {{"T", {type}}};
  registry.Register(std::move(def),
                    InAnyLayout(ImagesOfPool(op), PoolKernel::Make<Kernel>));
}

template <typename... Ts>
void RegisterMaxPools(KernelRegistry& registry, TypeList<Ts...>) {
  (Register<MaxPoolKernel<Ts>>(registry, "MaxPool", DataTypeOf<Ts>::value),
   ...);
  (Register<MaxPoolGradKernel<Ts>>(registry, "MaxPoolGrad",
                                   DataTypeOf<Ts>::value),
   ...);
  (Register<MaxPoolGradGradKernel<Ts>>(registry, "MaxPoolGradGrad",
                                       DataTypeOf<Ts>::value),
   ...);
}

template <typename... Ts>
void RegisterAveragePools(KernelRegistry& registry, TypeList<Ts...>) {
  (Register<AvgPoolKernel<Ts>>(registry, "AvgPool", DataTypeOf<Ts>::value),
   ...);
  (Register<AvgPoolGradKernel<Ts>>(registry, "AvgPoolGrad",
                                   DataTypeOf<Ts>::value),
   ...);
}

}  // namespace

void RegisterPoolKernels(KernelRegistry& registry) {
  RegisterMaxPools(registry,
                   TypeList<float, double, half, bfloat16, int8_t, int16_t,
                            int32_t, int64_t, uint8_t, uint16_t>{});
  RegisterAveragePools(registry, FloatingTypes{});
}

}  // namespace weft
