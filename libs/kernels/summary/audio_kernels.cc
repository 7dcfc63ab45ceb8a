// AudioSummary and AudioSummaryV2.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "libs/kernels/summary/summary_kernels.h"
#include "libs/kernels/summary/summary_output.h"
#include "libs/kernels/summary/wav.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

class AudioSummaryKernel : public OpKernel {
 public:
  // The rate is an attribute of AudioSummary and an input of AudioSummaryV2.
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<AudioSummaryKernel>(construction);
    ASSIGN_OR_RETURN(kernel->max_outputs_,
                     construction.GetAttr<int64_t>("max_outputs"));
    if (construction.node().type() == "AudioSummary") {
      ASSIGN_OR_RETURN(kernel->sample_rate_,
                       construction.GetAttr<float>("sample_rate"));
    }
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const std::string tag, ScalarText(context, 0, "Tag"));
    const Tensor& tensor = context.input(1);
    if (tensor.rank() != 2 && tensor.rank() != 3) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Tensor must be 3-D or 2-D, got: ", tensor.shape().ToString()));
    }
    ASSIGN_OR_RETURN(const float rate, SampleRate(context));
    const int64_t outputs = std::min(max_outputs_, tensor.dim(0));
    HeapCharge charge(context.host_allocator());
    summary::Summary summary;
    for (int64_t i = 0; i < outputs; ++i) {
      ASSIGN_OR_RETURN(summary::AudioValue audio, Encode(tensor, i, rate));
      RETURN_IF_ERROR(ChargeValue(charge, tag.size() + audio.encoded.size()));
      summary.value.push_back(
          {.tag = NumberedTag(tag, "audio", max_outputs_, i),
           .value = std::move(audio)});
    }
    return SetSummary(context, summary);
  }

 private:
  absl::StatusOr<float> SampleRate(const OpKernelContext& context) const {
    float rate = 0;
    if (sample_rate_.has_value()) {
      rate = *sample_rate_;
    } else {
      const Tensor& input = context.input(2);
      if (input.num_elements() != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("sample_rate must be rank-0 or contain a single "
                         "value, but its shape is ",
                         input.shape().ToString()));
      }
      rate = input.flat<float>()[0];
    }
    // Also true for NaN.
    if (!(rate > 0)) {
      return absl::InvalidArgumentError("sample_rate must be > 0");
    }
    return rate;
  }

  static absl::StatusOr<summary::AudioValue> Encode(const Tensor& tensor,
                                                    int64_t i, float rate) {
    summary::AudioValue audio;
    audio.sample_rate = rate;
    audio.length_frames = tensor.dim(1);
    audio.num_channels = tensor.rank() == 2 ? 1 : tensor.dim(2);
    audio.content_type = "audio/wav";
    const auto samples =
        static_cast<size_t>(audio.length_frames * audio.num_channels);
    // Rates beyond the number type are rejected like those beyond the file
    // format.
    const auto rounded =
        static_cast<int64_t>(std::min(std::nearbyint(rate), 0x1p62f));
    ASSIGN_OR_RETURN(
        audio.encoded,
        EncodeWav(tensor.flat<float>().subspan(static_cast<size_t>(i) * samples,
                                               samples),
                  audio.num_channels, std::max<int64_t>(rounded, 1)));
    return audio;
  }

  int64_t max_outputs_ = 0;
  std::optional<float> sample_rate_;
};

}  // namespace

void RegisterAudioSummaryKernels(KernelRegistry& registry) {
  for (const char* op : {"AudioSummary", "AudioSummaryV2"}) {
    KernelDef def;
    def.op = op;
    registry.Register(std::move(def), AudioSummaryKernel::Make);
  }
}

}  // namespace weft
