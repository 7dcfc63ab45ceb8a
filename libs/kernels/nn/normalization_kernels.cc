// Normalisation: across neighbouring channels (LRN), and of each channel over
// the batch (FusedBatchNorm), with their gradients. All is computed in float.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/nn/layout.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/nn/windows.h"

namespace weft {
namespace {

// ---- LRN ----

struct LrnAttrs {
  int64_t radius = 5;
  float bias = 1, alpha = 1, beta = 0.5f;

  static absl::StatusOr<LrnAttrs> Read(
      const OpKernelConstruction& construction) {
    LrnAttrs attrs;
    ASSIGN_OR_RETURN(attrs.radius,
                     construction.GetAttr<int64_t>("depth_radius"));
    ASSIGN_OR_RETURN(attrs.bias, construction.GetAttr<float>("bias"));
    ASSIGN_OR_RETURN(attrs.alpha, construction.GetAttr<float>("alpha"));
    ASSIGN_OR_RETURN(attrs.beta, construction.GetAttr<float>("beta"));
    if (attrs.radius >= 0) return attrs;
    return absl::InvalidArgumentError(
        absl::StrCat("depth_radius = ", attrs.radius, " must not be negative"));
  }

  // The neighbours of channel `c`.
  int64_t Begin(int64_t c) const { return c > radius ? c - radius : 0; }
  int64_t End(int64_t c, int64_t channels) const {
    return channels - c > radius ? c + radius + 1 : channels;
  }
  float Norm(const float* pixel, int64_t c, int64_t channels) const {
    float sum = 0;
    for (int64_t k = Begin(c); k < End(c, channels); ++k) {
      sum += pixel[k] * pixel[k];
    }
    return bias + alpha * sum;
  }
};

template <typename Kernel>
absl::StatusOr<std::unique_ptr<OpKernel>> MakeLrn(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(const LrnAttrs attrs, LrnAttrs::Read(construction));
  return std::make_unique<Kernel>(construction, attrs);
}

class LrnKernel : public OpKernel {
 public:
  LrnKernel(const OpKernelConstruction& construction, const LrnAttrs& attrs)
      : OpKernel(construction), attrs_(attrs) {}

  absl::Status Compute(OpKernelContext& context) override {
    RETURN_IF_ERROR(CheckImages(context.input(0), "in"));
    ASSIGN_OR_RETURN(const Tensor input,
                     WidenTo<float>(context, context.input(0)));
    ASSIGN_OR_RETURN(Tensor output,
                     context.AllocateTemp(DT_FLOAT, input.shape()));
    const int64_t channels = input.dim(3);
    const float* const in = input.flat<float>().data();
    float* const out = output.mutable_flat<float>().data();
    for (int64_t at = 0; at < input.num_elements(); at += channels) {
      for (int64_t c = 0; c < channels; ++c) {
        out[at + c] = in[at + c] *
                      std::pow(attrs_.Norm(in + at, c, channels), -attrs_.beta);
      }
    }
    return NarrowTo<float>(context, 0, std::move(output));
  }

 private:
  const LrnAttrs attrs_;
};

class LrnGradKernel : public OpKernel {
 public:
  LrnGradKernel(const OpKernelConstruction& construction, const LrnAttrs& attrs)
      : OpKernel(construction), attrs_(attrs) {}

  absl::Status Compute(OpKernelContext& context) override {
    for (int i = 0; i < 3; ++i) {
      RETURN_IF_ERROR(CheckImages(context.input(i), "inputs"));
      if (context.input(i).shape() == context.input(0).shape()) continue;
      return absl::InvalidArgumentError(
          "input_grads, input_image, and out_image should have the same shape");
    }
    ASSIGN_OR_RETURN(const Tensor grads,
                     WidenTo<float>(context, context.input(0)));
    ASSIGN_OR_RETURN(const Tensor input,
                     WidenTo<float>(context, context.input(1)));
    ASSIGN_OR_RETURN(const Tensor result,
                     WidenTo<float>(context, context.input(2)));
    ASSIGN_OR_RETURN(Tensor output,
                     context.AllocateTemp(DT_FLOAT, input.shape()));
    float* const out = output.mutable_flat<float>().data();
    std::fill(out, out + output.num_elements(), 0.0f);
    const int64_t channels = input.dim(3);
    for (int64_t at = 0; at < input.num_elements(); at += channels) {
      AddPixel(input.flat<float>().data() + at,
               result.flat<float>().data() + at,
               grads.flat<float>().data() + at, channels, out + at);
    }
    return NarrowTo<float>(context, 0, std::move(output));
  }

 private:
  void AddPixel(const float* in, const float* result, const float* grads,
                int64_t channels, float* out) const {
    for (int64_t c = 0; c < channels; ++c) {
      const float norm = attrs_.Norm(in, c, channels);
      for (int64_t k = attrs_.Begin(c); k < attrs_.End(c, channels); ++k) {
        float slope =
            -2 * attrs_.alpha * attrs_.beta * in[k] * result[c] / norm;
        if (k == c) slope += std::pow(norm, -attrs_.beta);
        out[k] += slope * grads[c];
      }
    }
  }

  const LrnAttrs attrs_;
};

// ---- Batch normalisation ----

// A batch as [rest, channels], and a vector for each kind of number.
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

  absl::Status CheckVector(const Tensor& tensor, absl::string_view what) const {
    if (tensor.shape().IsVector() && tensor.dim(0) == channels) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        what, " must have the same number of elements as the channels of x, [",
        channels, "], got ", tensor.shape().ToString()));
  }

  // Calls `add(channel, position)` for every number.
  template <typename Add>
  void ForEach(const Add& add) const {
    for (int64_t i = 0; i < rest; ++i) {
      for (int64_t c = 0; c < channels; ++c) add(c, i * channels + c);
    }
  }
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

using Doubles = std::vector<double>;

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

// Outputs that TensorFlow keeps for its own use.
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
    RETURN_IF_ERROR(view.CheckVector(inputs[1], "scale"));
    RETURN_IF_ERROR(view.CheckVector(inputs[2], "offset"));
    const bool needs_running =
        !attrs_.is_training || attrs_.average_factor != 1;
    if (needs_running) {
      RETURN_IF_ERROR(view.CheckVector(inputs[3], "mean"));
      RETURN_IF_ERROR(view.CheckVector(inputs[4], "variance"));
    }
    Doubles mean, variance;
    if (inputs[0].num_elements() == 0) {
      // TensorFlow's answer to the question what the mean of nothing is.
      mean.assign(view.channels, std::nan(""));
      variance = mean;
      RETURN_IF_ERROR(SetVector(context, 1, mean));
      RETURN_IF_ERROR(SetVector(context, 2, variance));
      // What the gradient gets must not make one of it.
      mean.assign(view.channels, 0);
      variance = mean;
    } else if (attrs_.is_training) {
      Measure(view, inputs[0], mean, variance);
      RETURN_IF_ERROR(SetRunning(context, view, inputs, mean, variance));
    } else {
      mean = ToDoubles(inputs[3]);
      variance = ToDoubles(inputs[4]);
      RETURN_IF_ERROR(SetVector(context, 1, mean));
      RETURN_IF_ERROR(SetVector(context, 2, variance));
    }
    RETURN_IF_ERROR(SetVector(context, 3, mean));
    RETURN_IF_ERROR(SetVector(context, 4, variance));
    if (context.num_outputs() > 5) RETURN_IF_ERROR(SetZero(context, 5));
    return Normalize(context, view, inputs, mean, variance);
  }

 private:
  static void Measure(const BatchView& view, const Tensor& x, Doubles& mean,
                      Doubles& variance) {
    const float* const in = x.flat<float>().data();
    mean.assign(view.channels, 0);
    variance.assign(view.channels, 0);
    const double count = static_cast<double>(view.rest);
    view.ForEach([&](int64_t c, int64_t at) { mean[c] += in[at]; });
    for (double& value : mean) value /= count;
    view.ForEach([&](int64_t c, int64_t at) {
      const double distance = in[at] - mean[c];
      variance[c] += distance * distance;
    });
    for (double& value : variance) value /= count;
  }

  // The variance of the whole, of which the batch is a sample.
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
    const float* const in = inputs[0].flat<float>().data();
    float* const out = output.mutable_flat<float>().data();
    view.ForEach([&](int64_t c, int64_t at) {
      out[at] = static_cast<float>((in[at] - mean[c]) * factor[c] + shift[c]);
    });
    return NarrowTo<float>(context, 0, std::move(output));
  }

  const BatchNormAttrs attrs_;
};

// Their gradients, given what they kept: mean and variance.
class BatchNormGradKernel : public OpKernel {
 public:
  BatchNormGradKernel(const OpKernelConstruction& construction,
                      const BatchNormAttrs& attrs)
      : OpKernel(construction), attrs_(attrs) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const BatchView view,
                     BatchView::Of(context.input(1), attrs_.rank));
    if (context.input(0).shape() != context.input(1).shape()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "x and y_backprop must have same shape, but x has shape ",
          context.input(1).shape().ToString(), " and y_backprop has shape ",
          context.input(0).shape().ToString()));
    }
    std::vector<Tensor> inputs;
    for (int i = 0; i < 5; ++i) {
      ASSIGN_OR_RETURN(Tensor input, WidenTo<float>(context, context.input(i)));
      if (i > 1) RETURN_IF_ERROR(view.CheckVector(input, "scale and reserves"));
      inputs.push_back(std::move(input));
    }
    RETURN_IF_ERROR(SetZero(context, 3));
    RETURN_IF_ERROR(SetZero(context, 4));
    return SetGradients(context, view, inputs);
  }

 private:
  absl::Status SetGradients(OpKernelContext& context, const BatchView& view,
                            const std::vector<Tensor>& inputs) const {
    const float* const dy = inputs[0].flat<float>().data();
    const float* const x = inputs[1].flat<float>().data();
    const Doubles mean = ToDoubles(inputs[3]);
    Doubles inverse = ToDoubles(inputs[4]);
    for (double& value : inverse) {
      value = 1 / std::sqrt(value + attrs_.epsilon);
    }
    Doubles sum(view.channels), product(view.channels);
    view.ForEach([&](int64_t c, int64_t at) {
      sum[c] += dy[at];
      product[c] += dy[at] * (x[at] - mean[c]);
    });
    ASSIGN_OR_RETURN(Tensor output,
                     context.AllocateTemp(DT_FLOAT, inputs[1].shape()));
    float* const out = output.mutable_flat<float>().data();
    const double count = static_cast<double>(view.rest);
    view.ForEach([&](int64_t c, int64_t at) {
      double value = dy[at];
      if (attrs_.is_training) {
        value -= sum[c] / count + (x[at] - mean[c]) * inverse[c] * inverse[c] *
                                      product[c] / count;
      }
      out[at] =
          static_cast<float>(value * inverse[c] * inputs[2].flat<float>()[c]);
    });
    for (int64_t c = 0; c < view.channels; ++c) product[c] *= inverse[c];
    RETURN_IF_ERROR(SetVector(context, 1, product));
    RETURN_IF_ERROR(SetVector(context, 2, sum));
    return NarrowTo<float>(context, 0, std::move(output));
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

void RegisterNormalizationKernels(KernelRegistry& registry) {
  Register(registry, "LRN", MakeLrn<LrnKernel>);
  Register(registry, "LRNGrad", MakeLrn<LrnGradKernel>);
  const auto norm = InAnyLayout({{0}, {}, {0}}, MakeBatchNorm<BatchNormKernel>);
  const auto grad =
      InAnyLayout({{0, 1}, {}, {0}}, MakeBatchNorm<BatchNormGradKernel>);
  // The first version is of float only.
  Register(registry, "FusedBatchNorm", norm, {DT_FLOAT});
  Register(registry, "FusedBatchNormGrad", grad, {DT_FLOAT});
  Register(registry, "FusedBatchNormV2", norm);
  Register(registry, "FusedBatchNormV3", norm);
  Register(registry, "FusedBatchNormGradV2", grad);
  Register(registry, "FusedBatchNormGradV3", grad);
}

}  // namespace weft
