// FusedBatchNorm, the normalization of each channel over the batch, and its
// gradient. Per-channel values are computed in double.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/isa/batch_norm_loops.h"
#include "libs/kernels/nn/layout.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/nn/operand_checks.h"
#include "libs/kernels/nn/windows.h"

namespace weft {
namespace {

using Doubles = std::vector<double>;

// A batch viewed as [rest, channels], and a vector of doubles per kind of
// value.
struct BatchView {
  int64_t rest = 0;
  int64_t channels = 0;

  // `rank` is that of the node's layout: 4, or 5 for volumes.
  static absl::StatusOr<BatchView> Of(const Tensor& x, int rank) {
    if (x.rank() != rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("input must be ", rank, "-dimensional, but has shape ",
                       x.shape().ToString()));
    }
    BatchView view;
    view.channels = x.dim(rank - 1);
    view.rest = view.channels == 0 ? 0 : x.num_elements() / view.channels;
    return view;
  }
};

// The rows of a batch for the loops: with few channels, several rows are
// joined, so that vectors are full. They are divided into chunks for threads by
// the shape alone, so that sums do not depend on the number of threads.
class Chunks {
 public:
  explicit Chunks(const BatchView& view)
      : channels_(view.channels),
        beside_(
            std::clamp<int64_t>(kNumbersBeside / view.channels, 1, view.rest)),
        rest_(view.rest),
        rows_(std::max<int64_t>(1, kNumbersOfChunk / width())) {}

  // The width of a joined row.
  int64_t width() const { return channels_ * beside_; }
  int64_t count() const {
    return std::max<int64_t>(1, (wide_rows() + rows_ - 1) / rows_);
  }

  // Repeats per-channel values for each position of a joined row.
  Doubles Repeat(const Doubles& values) const {
    Doubles repeated;
    repeated.reserve(width());
    for (int64_t i = 0; i < beside_; ++i) {
      repeated.insert(repeated.end(), values.begin(), values.end());
    }
    return repeated;
  }

  // Calls `work(chunk, offset, rows, width)` for ranges that cover the batch,
  // on several threads. A chunk may be visited twice in sequence, because the
  // last rows do not fill a joined row.
  template <typename Work>
  void ForEach(OpKernelContext& context, const Work& work) const {
    const std::function<void(int64_t, int64_t)> range = [&](int64_t begin,
                                                            int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i * rows_;
        const int64_t last = std::min(first + rows_, wide_rows());
        work(i, first * width(), last - first, width());
        if (last < wide_rows()) continue;
        const int64_t done = last * beside_;
        if (done < rest_) work(i, done * channels_, rest_ - done, channels_);
      }
    };
    if (count() == 1) return range(0, 1);
    context.scheduler().ParallelFor(count(), 1, range);
  }

  // Computes kSums sums per channel over all rows: `add(offset, rows, width,
  // sums)` adds a range to an array of `width()` numbers for each sum.
  template <size_t kSums, typename Add>
  std::array<Doubles, kSums> Sum(OpKernelContext& context,
                                 const Add& add) const {
    const int64_t stride = static_cast<int64_t>(kSums) * width();
    Doubles parts(count() * stride);
    ForEach(context, [&](int64_t chunk, int64_t offset, int64_t rows,
                         int64_t row_width) {
      std::array<double*, kSums> sums;
      for (size_t i = 0; i < kSums; ++i) {
        sums[i] =
            parts.data() + chunk * stride + static_cast<int64_t>(i) * width();
      }
      add(offset, rows, row_width, sums);
    });
    std::array<Doubles, kSums> result;
    for (size_t i = 0; i < kSums; ++i) {
      result[i].assign(channels_, 0);
      for (int64_t chunk = 0; chunk < count(); ++chunk) {
        const double* const part =
            parts.data() + chunk * stride + static_cast<int64_t>(i) * width();
        for (int64_t at = 0; at < width(); ++at) {
          result[i][at % channels_] += part[at];
        }
      }
    }
    return result;
  }

 private:
  static constexpr int64_t kNumbersBeside = 32;
  static constexpr int64_t kNumbersOfChunk = 65536;

  int64_t wide_rows() const { return rest_ / beside_; }

  const int64_t channels_;
  const int64_t beside_;
  const int64_t rest_;
  const int64_t rows_;  // joined rows per chunk
};

struct BatchNormAttrs {
  float epsilon = 1e-4f;
  float average_factor = 1;
  bool is_training = true;
  int rank = 4;

  static absl::StatusOr<BatchNormAttrs> Read(
      const OpKernelConstruction& construction) {
    BatchNormAttrs attrs;
    ASSIGN_OR_RETURN(const std::string format,
                     construction.GetAttr<std::string>("data_format"));
    attrs.rank = static_cast<int>(format.size());
    ASSIGN_OR_RETURN(attrs.epsilon, construction.GetAttr<float>("epsilon"));
    ASSIGN_OR_RETURN(attrs.is_training,
                     construction.GetAttr<bool>("is_training"));
    attrs.average_factor =
        construction.GetAttr<float>("exponential_avg_factor").value_or(1);
    return attrs;
  }
};

Doubles ToDoubles(const Tensor& floats) {
  const auto values = floats.flat<float>();
  return Doubles(values.begin(), values.end());
}

absl::Status SetVector(OpKernelContext& context, int i, const Doubles& values) {
  ASSIGN_OR_RETURN(
      Tensor vector,
      context.AllocateTemp(DT_FLOAT, {static_cast<int64_t>(values.size())}));
  std::transform(values.begin(), values.end(),
                 vector.mutable_flat<float>().begin(),
                 [](double x) { return static_cast<float>(x); });
  return NarrowTo<float>(context, i, std::move(vector));
}

// Sets outputs that TensorFlow reserves for its own use.
absl::Status SetZero(OpKernelContext& context, int i) {
  return NarrowTo<float>(context, i, Tensor::Scalar(0.0f));
}

// FusedBatchNorm, V2 and V3.
class BatchNormKernel : public OpKernel {
 public:
  BatchNormKernel(const OpKernelConstruction& construction,
                  const BatchNormAttrs& attrs)
      : OpKernel(construction), attrs_(attrs) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const BatchView view,
                     BatchView::Of(context.input(0), attrs_.rank));
    std::vector<Tensor> inputs;
    for (int i = 0; i < 5; ++i) {
      ASSIGN_OR_RETURN(Tensor input, WidenTo<float>(context, context.input(i)));
      inputs.push_back(std::move(input));
    }
    RETURN_IF_ERROR(CheckChannels(inputs[1].shape(), view.channels, "scale"));
    RETURN_IF_ERROR(CheckChannels(inputs[2].shape(), view.channels, "offset"));
    const bool needs_running =
        !attrs_.is_training || attrs_.average_factor != 1;
    if (needs_running) {
      RETURN_IF_ERROR(CheckChannels(inputs[3].shape(), view.channels, "mean"));
      RETURN_IF_ERROR(
          CheckChannels(inputs[4].shape(), view.channels, "variance"));
    }
    Doubles mean, variance;
    if (inputs[0].num_elements() == 0) {
      // The mean of an empty batch is NaN, as in TensorFlow.
      mean.assign(view.channels, std::nan(""));
      variance = mean;
      RETURN_IF_ERROR(SetVector(context, 1, mean));
      RETURN_IF_ERROR(SetVector(context, 2, variance));
      // The values for the gradient must not be NaN.
      mean.assign(view.channels, 0);
      variance = mean;
    } else if (attrs_.is_training) {
      Measure(context, view, inputs[0], mean, variance);
      RETURN_IF_ERROR(SetRunning(context, view, inputs, mean, variance));
    } else {
      mean = ToDoubles(inputs[3]);
      variance = ToDoubles(inputs[4]);
      RETURN_IF_ERROR(SetVector(context, 1, mean));
      RETURN_IF_ERROR(SetVector(context, 2, variance));
    }
    RETURN_IF_ERROR(SetVector(context, 3, mean));
    RETURN_IF_ERROR(SetVector(context, 4, variance));
    if (context.num_outputs() > 5) {
      // Empty, as in TensorFlow's CPU kernels; only its GPU kernels use it.
      RETURN_IF_ERROR(
          NarrowTo<float>(context, 5, Tensor(DT_FLOAT, TensorShape({0}))));
    }
    return Normalize(context, view, inputs, mean, variance);
  }

 private:
  static void Measure(OpKernelContext& context, const BatchView& view,
                      const Tensor& x, Doubles& mean, Doubles& variance) {
    const float* const in = x.flat<float>().data();
    const BatchNormLoops& loops = BestBatchNormLoops();
    const Chunks chunks(view);
    const double count = static_cast<double>(view.rest);
    mean = chunks.Sum<1>(context, [&](int64_t offset, int64_t rows,
                                      int64_t width, const auto& sums) {
      loops.add_sums(in + offset, sums[0], rows, width);
    })[0];
    for (double& value : mean) value /= count;
    const Doubles means = chunks.Repeat(mean);
    variance = chunks.Sum<1>(context, [&](int64_t offset, int64_t rows,
                                          int64_t width, const auto& sums) {
      loops.add_squares(in + offset, means.data(), sums[0], rows, width);
    })[0];
    for (double& value : variance) value /= count;
  }

  // The variance of the population, of which the batch is a sample.
  absl::Status SetRunning(OpKernelContext& context, const BatchView& view,
                          const std::vector<Tensor>& inputs,
                          const Doubles& mean, const Doubles& variance) const {
    const double count = static_cast<double>(view.rest);
    const double correction = view.rest > 1 ? count / (count - 1) : count;
    Doubles new_mean = mean;
    Doubles new_variance = variance;
    for (double& value : new_variance) value *= correction;
    if (attrs_.average_factor != 1) {
      const double factor = attrs_.average_factor;
      for (int64_t c = 0; c < view.channels; ++c) {
        new_mean[c] =
            factor * new_mean[c] + (1 - factor) * inputs[3].flat<float>()[c];
        new_variance[c] = factor * new_variance[c] +
                          (1 - factor) * inputs[4].flat<float>()[c];
      }
    }
    RETURN_IF_ERROR(SetVector(context, 1, new_mean));
    return SetVector(context, 2, new_variance);
  }

  absl::Status Normalize(OpKernelContext& context, const BatchView& view,
                         const std::vector<Tensor>& inputs, const Doubles& mean,
                         const Doubles& variance) const {
    ASSIGN_OR_RETURN(Tensor output,
                     context.AllocateTemp(DT_FLOAT, inputs[0].shape()));
    Doubles factor(view.channels), shift(view.channels);
    for (int64_t c = 0; c < view.channels; ++c) {
      factor[c] =
          inputs[1].flat<float>()[c] / std::sqrt(variance[c] + attrs_.epsilon);
      shift[c] = inputs[2].flat<float>()[c];
    }
    if (output.num_elements() > 0) {
      const Chunks chunks(view);
      const Doubles means = chunks.Repeat(mean);
      factor = chunks.Repeat(factor);
      shift = chunks.Repeat(shift);
      const float* const in = inputs[0].flat<float>().data();
      float* const out = output.mutable_flat<float>().data();
      chunks.ForEach(context, [&](int64_t, int64_t offset, int64_t rows,
                                  int64_t width) {
        BestBatchNormLoops().normalize(in + offset, means.data(), factor.data(),
                                       shift.data(), out + offset, rows, width);
      });
    }
    return NarrowTo<float>(context, 0, std::move(output));
  }

  const BatchNormAttrs attrs_;
};

// The gradients, computed from the saved mean and variance.
class BatchNormGradKernel : public OpKernel {
 public:
  BatchNormGradKernel(const OpKernelConstruction& construction,
                      const BatchNormAttrs& attrs)
      : OpKernel(construction), attrs_(attrs) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const BatchView view,
                     BatchView::Of(context.input(1), attrs_.rank));
    RETURN_IF_ERROR(
        CheckBackprop(context.input(1).shape(), context.input(0).shape()));
    std::vector<Tensor> inputs;
    for (int i = 0; i < 5; ++i) {
      ASSIGN_OR_RETURN(Tensor input, WidenTo<float>(context, context.input(i)));
      if (i > 1)
        RETURN_IF_ERROR(
            CheckChannels(input.shape(), view.channels, "scale and reserves"));
      inputs.push_back(std::move(input));
    }
    RETURN_IF_ERROR(SetZero(context, 3));
    RETURN_IF_ERROR(SetZero(context, 4));
    return SetGradients(context, view, inputs);
  }

 private:
  absl::Status SetGradients(OpKernelContext& context, const BatchView& view,
                            const std::vector<Tensor>& inputs) const {
    ASSIGN_OR_RETURN(Tensor output,
                     context.AllocateTemp(DT_FLOAT, inputs[1].shape()));
    Doubles sum(view.channels), product(view.channels);
    const Doubles mean = ToDoubles(inputs[3]);
    Doubles inverse = ToDoubles(inputs[4]);
    for (double& value : inverse) {
      value = 1 / std::sqrt(value + attrs_.epsilon);
    }
    if (output.num_elements() > 0) {
      Differentiate(context, view, inputs, mean, inverse, sum, product, output);
    }
    for (int64_t c = 0; c < view.channels; ++c) product[c] *= inverse[c];
    RETURN_IF_ERROR(SetVector(context, 1, product));
    RETURN_IF_ERROR(SetVector(context, 2, sum));
    return NarrowTo<float>(context, 0, std::move(output));
  }

  // Writes the gradient with respect to x to `output`; `sum` is that of the
  // incoming gradient, `product` that of the gradient times the distance to the
  // mean.
  void Differentiate(OpKernelContext& context, const BatchView& view,
                     const std::vector<Tensor>& inputs, const Doubles& mean,
                     const Doubles& inverse, Doubles& sum, Doubles& product,
                     Tensor& output) const {
    const float* const dy = inputs[0].flat<float>().data();
    const float* const x = inputs[1].flat<float>().data();
    float* const out = output.mutable_flat<float>().data();
    const BatchNormLoops& loops = BestBatchNormLoops();
    const Chunks chunks(view);
    const Doubles means = chunks.Repeat(mean);
    auto sums = chunks.Sum<2>(context, [&](int64_t offset, int64_t rows,
                                           int64_t width, const auto& to) {
      loops.add_gradient_sums(dy + offset, x + offset, means.data(), to[0],
                              to[1], rows, width);
    });
    sum = std::move(sums[0]);
    product = std::move(sums[1]);
    Doubles shift(view.channels), slope(view.channels), factor(view.channels);
    const double count = static_cast<double>(view.rest);
    for (int64_t c = 0; c < view.channels; ++c) {
      factor[c] = inverse[c] * inputs[2].flat<float>()[c];
      shift[c] = sum[c] / count;
      slope[c] = inverse[c] * inverse[c] * product[c] / count;
    }
    shift = chunks.Repeat(shift);
    slope = chunks.Repeat(slope);
    factor = chunks.Repeat(factor);
    const Doubles zeros(chunks.width());
    chunks.ForEach(context, [&](int64_t, int64_t offset, int64_t rows,
                                int64_t width) {
      if (!attrs_.is_training) {  // mean and variance do not depend on x
        loops.normalize(dy + offset, zeros.data(), factor.data(), zeros.data(),
                        out + offset, rows, width);
        return;
      }
      loops.gradient(dy + offset, x + offset, means.data(), shift.data(),
                     slope.data(), factor.data(), out + offset, rows, width);
    });
  }

  const BatchNormAttrs attrs_;
};

template <typename Kernel>
absl::StatusOr<std::unique_ptr<OpKernel>> MakeBatchNorm(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(const BatchNormAttrs attrs,
                   BatchNormAttrs::Read(construction));
  return std::make_unique<Kernel>(construction, attrs);
}

void Register(KernelRegistry& registry, const std::string& op,
              const KernelFactory& factory,
              const std::vector<DataType>& types = {DT_FLOAT, DT_HALF,
                                                    DT_BFLOAT16}) {
  KernelDef def;
  def.op = op;
  def.types = {{"T", types}};
  registry.Register(std::move(def), factory);
}

}  // namespace

void RegisterBatchNormKernels(KernelRegistry& registry) {
  const auto norm = InAnyLayout({{0}, {}, {0}}, MakeBatchNorm<BatchNormKernel>);
  const auto grad =
      InAnyLayout({{0, 1}, {}, {0}}, MakeBatchNorm<BatchNormGradKernel>);
  // The first version only supports float.
  Register(registry, "FusedBatchNorm", norm, {DT_FLOAT});
  Register(registry, "FusedBatchNormGrad", grad, {DT_FLOAT});
  Register(registry, "FusedBatchNormV2", norm);
  Register(registry, "FusedBatchNormV3", norm);
  Register(registry, "FusedBatchNormGradV2", grad);
  Register(registry, "FusedBatchNormGradV3", grad);
}

}  // namespace weft
