// LRN, the normalisation across neighbouring channels, with its gradient. All
// is computed in float.
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
#include "libs/kernels/nn/operand_checks.h"
#include "libs/kernels/nn/windows.h"

namespace weft {
namespace {

// The neighbours of a channel.
struct LrnLoops : LrnAttrs {
  explicit LrnLoops(const LrnAttrs& attrs) : LrnAttrs(attrs) {}

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
    RETURN_IF_ERROR(CheckLrnInputs(context));
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
  const LrnLoops attrs_;
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

  const LrnLoops attrs_;
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
