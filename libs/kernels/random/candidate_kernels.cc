// LogUniformCandidateSampler: samples classes for a sampled loss. Streams and
// expected counts are those of TensorFlow
// (core/kernels/candidate_sampler_ops.cc, core/kernels/range_sampler.cc).
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/strings/str_cat.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/hash_tables.h"
#include "libs/base/status.h"
#include "libs/kernels/common/philox.h"
#include "libs/kernels/random/distributions.h"
#include "libs/kernels/random/random_kernels.h"

namespace weft {
namespace {

// Class k of `range` has probability log((k + 2) / (k + 1)) / log(range + 1).
// It suits classes numbered by descending frequency (Zipf's law).
class LogUniform {
 public:
  explicit LogUniform(int64_t range)
      : range_(range), log_range_(std::log1p(static_cast<double>(range))) {}

  int64_t Draw(PhiloxNumbers& numbers) const {
    const uint32_t x0 = numbers.Next();
    const double uniform = UniformDouble(x0, numbers.Next());
    // Rounding might give `range` itself, or exceed int64.
    const double drawn = std::min(std::exp(uniform * log_range_), 9e18);
    return (static_cast<int64_t>(drawn) - 1) % range_;
  }
  float Probability(int64_t value) const {
    const auto k = static_cast<double>(value);
    return static_cast<float>(std::log((k + 2.0) / (k + 1.0)) / log_range_);
  }

 private:
  const int64_t range_;
  const double log_range_;
};

// The expected count of a class of probability p in a sample that took `tries`
// draws.
float ExpectedCount(float p, int64_t samples, int64_t tries) {
  if (tries == samples) return p * static_cast<float>(samples);
  return static_cast<float>(-std::expm1(static_cast<double>(tries) *
                                        static_cast<double>(std::log1p(-p))));
}

class LogUniformCandidateSamplerKernel : public OpKernel {
 public:
  explicit LogUniformCandidateSamplerKernel(
      const OpKernelConstruction& construction)
      : OpKernel(construction),
        stream_(construction),
        num_true_(construction.GetAttr<int64_t>("num_true").value_or(1)),
        num_sampled_(construction.GetAttr<int64_t>("num_sampled").value_or(1)),
        unique_(construction.GetAttr<bool>("unique").value_or(false)),
        range_max_(construction.GetAttr<int64_t>("range_max").value_or(1)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& classes = context.input(0);
    RETURN_IF_ERROR(CheckClasses(classes));
    ASSIGN_OR_RETURN(const TensorShape shape,
                     TensorShape::Create({num_sampled_}));
    ASSIGN_OR_RETURN(Tensor * sample, context.AllocateOutput(0, shape));
    ASSIGN_OR_RETURN(Tensor * true_counts,
                     context.AllocateOutput(1, classes.shape()));
    ASSIGN_OR_RETURN(Tensor * counts, context.AllocateOutput(2, shape));
    const LogUniform distribution(range_max_);
    // Reserved as in TensorFlow, with four numbers per sample.
    ASSIGN_OR_RETURN(
        const Philox philox,
        stream_.Reserve(context.cancellation(),
                        static_cast<uint64_t>(num_sampled_) * (2048 / 4)));
    PhiloxNumbers numbers(philox);
    ASSIGN_OR_RETURN(
        const int64_t tries,
        Draw(distribution, context.cancellation(), numbers, *sample));
    Expect(distribution, tries, *sample, *counts);
    Expect(distribution, tries, classes, *true_counts);
    return absl::OkStatus();
  }

 private:
  absl::Status CheckClasses(const Tensor& classes) const {
    if (!classes.shape().IsMatrix()) {
      return absl::InvalidArgumentError(
          absl::StrCat("true_classes must be a matrix, got shape ",
                       classes.shape().ToString()));
    }
    if (classes.dim(1) != num_true_) {
      return absl::InvalidArgumentError(absl::StrCat(
          "true_classes must have num_true columns, expected: ", classes.dim(1),
          " was: ", num_true_));
    }
    if (unique_ && num_sampled_ > range_max_) {
      return absl::InvalidArgumentError("Sampler's range is too small.");
    }
    for (const int64_t value : classes.flat<int64_t>()) {
      if (value >= 0 && value < range_max_) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("`true_candidate` out of range [0, ", range_max_,
                       "), received ", value));
    }
    return absl::OkStatus();
  }

  // Returns the number of draws.
  absl::StatusOr<int64_t> Draw(const LogUniform& distribution,
                               const Cancellation& cancellation,
                               PhiloxNumbers& numbers, Tensor& sample) const {
    const absl::Span<int64_t> values = sample.mutable_flat<int64_t>();
    if (!unique_) {
      for (int64_t& value : values) value = distribution.Draw(numbers);
      return num_sampled_;
    }
    FlatHashSet<int64_t> seen;
    int64_t tries = 0;
    for (int64_t& value : values) {
      do {
        // The last of many classes take many draws.
        if (++tries % 65536 == 0) RETURN_IF_ERROR(cancellation.status());
        if (tries >= std::numeric_limits<int32_t>::max()) {
          return absl::ResourceExhaustedError(
              absl::StrCat("no ", num_sampled_, " different classes of ",
                           range_max_, " in ", tries, " draws"));
        }
        value = distribution.Draw(numbers);
      } while (!seen.insert(value).second);
    }
    return tries;
  }

  void Expect(const LogUniform& distribution, int64_t tries,
              const Tensor& classes, Tensor& counts) const {
    const absl::Span<const int64_t> values = classes.flat<int64_t>();
    const absl::Span<float> out = counts.mutable_flat<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      out[i] = ExpectedCount(distribution.Probability(values[i]), num_sampled_,
                             tries);
    }
  }

  PhiloxStream stream_;
  const int64_t num_true_;
  const int64_t num_sampled_;
  const bool unique_;
  const int64_t range_max_;
};

}  // namespace

void RegisterRandomCandidateKernels(KernelRegistry& registry) {
  registry.Register<LogUniformCandidateSamplerKernel>(
      "LogUniformCandidateSampler");
}

}  // namespace weft
