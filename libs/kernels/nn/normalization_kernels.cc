// LRN, the normalization across neighboring channels, and its gradient,
// computed in float.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/math/elementwise.h"
#include "libs/kernels/nn/layout.h"
#include "libs/kernels/nn/nn_kernels.h"
#include "libs/kernels/nn/operand_checks.h"
#include "libs/kernels/nn/windows.h"

namespace weft {
namespace {

// The computation for one pixel. Each thread has one, with buffers for a pixel.
class LrnPixel {
 public:
  LrnPixel(const LrnAttrs& attrs, int64_t channels)
      : attrs_(attrs),
        channels_(channels),
        squares_(channels),
        norms_(channels),
        powers_(channels) {}

  void Normalize(const float* in, float* out) {
    SetNorms(in);
    loops_.multiply(in, 1, powers_.data(), 1, out, channels_);
  }

  void Gradient(const float* in, const float* result, const float* grads,
                float* out) {
    SetNorms(in);
    const float factor = -2 * attrs_.alpha * attrs_.beta;
    float* const slopes = squares_.data();
    loops_.multiply(result, 1, grads, 1, slopes, channels_);
    loops_.multiply(slopes, 1, &factor, 0, slopes, channels_);
    loops_.divide(slopes, 1, norms_.data(), 1, slopes, channels_);
    // Neighborhood is symmetric.
    SumNeighbours(slopes, norms_.data());
    loops_.multiply(in, 1, norms_.data(), 1, norms_.data(), channels_);
    loops_.multiply(powers_.data(), 1, grads, 1, out, channels_);
    loops_.add(out, 1, norms_.data(), 1, out, channels_);
  }

 private:
  // sums[c] of x[k] for all neighbors k of c, in order.
  void SumNeighbours(const float* x, float* sums) const {
    std::fill_n(sums, channels_, 0.0f);
    const int64_t most = std::min(attrs_.radius, channels_ - 1);
    for (int64_t shift = -most; shift <= most; ++shift) {
      const int64_t first = std::max<int64_t>(0, -shift);
      const int64_t count = channels_ - std::abs(shift);
      loops_.add(sums + first, 1, x + first + shift, 1, sums + first, count);
    }
  }

  // Sets norms_ and powers_, which are norm^-beta.
  void SetNorms(const float* in) {
    loops_.square(in, squares_.data(), channels_);
    float* const norms = norms_.data();
    SumNeighbours(squares_.data(), norms);
    loops_.multiply(norms, 1, &attrs_.alpha, 0, norms, channels_);
    loops_.add(&attrs_.bias, 0, norms, 1, norms, channels_);
    SetPowers();
  }

  // By logarithms, unless that takes longer, or would give NaN for a negative
  // number with a defined power.
  void SetPowers() {
    float* const powers = powers_.data();
    if (attrs_.beta == 0.5f) {
      loops_.rsqrt(norms_.data(), powers, channels_);
    } else if (attrs_.beta == 1) {
      loops_.reciprocal(norms_.data(), powers, channels_);
    } else if (attrs_.beta == std::floor(attrs_.beta)) {
      for (int64_t c = 0; c < channels_; ++c) {
        powers[c] = std::pow(norms_[c], -attrs_.beta);
      }
    } else {
      const float exponent = -attrs_.beta;
      loops_.log(norms_.data(), powers, channels_);
      loops_.multiply(powers, 1, &exponent, 0, powers, channels_);
      loops_.exp(powers, powers, channels_);
    }
  }

  const FloatLoops& loops_ = BestFloatLoops();
  const LrnAttrs& attrs_;
  const int64_t channels_;
  std::vector<float> squares_, norms_, powers_;
};

// Calls `work(pixel, at)` for all pixels, with the offset of their first
// channel.
template <typename Work>
void ForEachPixel(OpKernelContext& context, const LrnAttrs& attrs,
                  const Tensor& images, const Work& work) {
  if (images.num_elements() == 0) return;
  const int64_t channels = images.dim(3);
  // A logarithm and an exponential cost about as much as 16 additions.
  const int64_t cost = channels * (16 + 2 * std::min(attrs.radius, channels));
  ParallelLoop(context, images.num_elements() / channels, cost,
               [&](int64_t begin, int64_t end) {
                 LrnPixel pixel(attrs, channels);
                 for (int64_t i = begin; i < end; ++i)
                   work(pixel, i * channels);
               });
}

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
    RETURN_IF_ERROR(CheckLrnInputs(context));
    ASSIGN_OR_RETURN(const Tensor input,
                     WidenTo<float>(context, context.input(0)));
    ASSIGN_OR_RETURN(Tensor output,
                     context.AllocateTemp(DT_FLOAT, input.shape()));
    const float* const in = input.flat<float>().data();
    float* const out = output.mutable_flat<float>().data();
    ForEachPixel(context, attrs_, input, [&](LrnPixel& pixel, int64_t at) {
      pixel.Normalize(in + at, out + at);
    });
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
    RETURN_IF_ERROR(CheckLrnInputs(context));
    ASSIGN_OR_RETURN(const Tensor grads,
                     WidenTo<float>(context, context.input(0)));
    ASSIGN_OR_RETURN(const Tensor input,
                     WidenTo<float>(context, context.input(1)));
    ASSIGN_OR_RETURN(const Tensor result,
                     WidenTo<float>(context, context.input(2)));
    ASSIGN_OR_RETURN(Tensor output,
                     context.AllocateTemp(DT_FLOAT, input.shape()));
    const float* const in = input.flat<float>().data();
    const float* const normalized = result.flat<float>().data();
    const float* const gradient = grads.flat<float>().data();
    float* const out = output.mutable_flat<float>().data();
    ForEachPixel(context, attrs_, input, [&](LrnPixel& pixel, int64_t at) {
      pixel.Gradient(in + at, normalized + at, gradient + at, out + at);
    });
    return NarrowTo<float>(context, 0, std::move(output));
  }

 private:
  const LrnAttrs attrs_;
};

void Register(KernelRegistry& registry, const char* op,
              const KernelFactory& factory) {
  KernelDef def;
  def.op = op;
  def.types = {{"T", {DT_FLOAT, DT_HALF, DT_BFLOAT16}}};
  registry.Register(std::move(def), factory);
}

}  // namespace

void RegisterNormalizationKernels(KernelRegistry& registry) {
  Register(registry, "LRN", MakeLrn<LrnKernel>);
  Register(registry, "LRNGrad", MakeLrn<LrnGradKernel>);
}

}  // namespace weft
