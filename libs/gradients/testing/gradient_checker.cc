#include "libs/gradients/testing/gradient_checker.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {
namespace {

using Feeds = std::vector<std::pair<Output, Tensor>>;

double Get(const Tensor& tensor, int64_t i) {
  return tensor.dtype() == DT_DOUBLE ? tensor.flat<double>()[i]
                                     : tensor.flat<float>()[i];
}

void Set(Tensor& tensor, int64_t i, double value) {
  if (tensor.dtype() == DT_DOUBLE) {
    tensor.mutable_flat<double>()[i] = value;
  } else {
    tensor.mutable_flat<float>()[i] = static_cast<float>(value);
  }
}

bool IsReal(const Tensor& tensor) {
  return tensor.dtype() == DT_DOUBLE || tensor.dtype() == DT_FLOAT;
}

// Irregular weights, so that a wrong gradient cannot match by symmetry.
Tensor Weights(const Tensor& like, int seed) {
  Tensor weights(like.dtype(), like.shape());
  for (int64_t i = 0; i < weights.num_elements(); ++i) {
    const auto place = static_cast<double>(i + 1);
    Set(weights, i, 0.5 + std::fmod(place * 0.754877666 + seed * 0.3, 1.0));
  }
  return weights;
}

class Checker {
 public:
  Checker(const Scope& scope, absl::Span<const Output> ys,
          absl::Span<const Output> xs, const std::vector<Tensor>& values,
          const Evaluate& evaluate, const GradientCheckOptions& options)
      : scope_(scope),
        ys_(ys.begin(), ys.end()),
        xs_(xs.begin(), xs.end()),
        values_(values),
        evaluate_(evaluate),
        options_(options) {}

  absl::StatusOr<double> Run() {
    RETURN_IF_ERROR(CheckArguments());
    ASSIGN_OR_RETURN(std::vector<Tensor> at_start,
                     evaluate_(FeedsOf(values_), ys_));
    for (size_t i = 0; i < at_start.size(); ++i) {
      if (!IsReal(at_start[i])) {
        return absl::InvalidArgumentError("ys must be float or double");
      }
      weights_.push_back(Weights(at_start[i], static_cast<int>(i)));
    }
    ASSIGN_OR_RETURN(std::vector<Tensor> gradients, Analytic());
    double worst = 0;
    for (size_t i = 0; i < xs_.size(); ++i) {
      ASSIGN_OR_RETURN(double error, ErrorOf(i, gradients[i]));
      worst = std::max(worst, error);
    }
    return worst;
  }

 private:
  absl::Status CheckArguments() {
    RETURN_IF_ERROR(scope_.status());
    // Without ys, no gradient could be wrong.
    if (ys_.empty()) {
      return absl::InvalidArgumentError("ys must not be empty");
    }
    if (values_.size() != xs_.size()) {
      return absl::InvalidArgumentError(
          "the number of values must equal that of xs");
    }
    if (!std::all_of(values_.begin(), values_.end(), IsReal)) {
      return absl::InvalidArgumentError("xs must be float or double");
    }
    return absl::OkStatus();
  }

  Feeds FeedsOf(const std::vector<Tensor>& values) const {
    Feeds feeds;
    for (size_t i = 0; i < xs_.size(); ++i) {
      feeds.emplace_back(xs_[i], values[i]);
    }
    return feeds;
  }

  // The gradients under test, dense; zeros for None.
  absl::StatusOr<std::vector<Tensor>> Analytic() {
    GradientOptions options;
    for (const Tensor& weights : weights_) {
      options.grad_ys.push_back(scope_.ToOutput(weights));
    }
    ASSIGN_OR_RETURN(std::vector<Gradient> gradients,
                     AddGradients(scope_, ys_, xs_, options));
    std::vector<Output> fetches;
    for (const Gradient& gradient : gradients) {
      if (gradient.IsNone()) continue;
      fetches.push_back(ToDense(scope_, gradient));
    }
    RETURN_IF_ERROR(scope_.status());
    ASSIGN_OR_RETURN(std::vector<Tensor> fetched,
                     evaluate_(FeedsOf(values_), fetches));
    std::vector<Tensor> result;
    auto next = fetched.begin();
    for (size_t i = 0; i < gradients.size(); ++i) {
      result.push_back(gradients[i].IsNone()
                           ? Tensor(values_[i].dtype(), values_[i].shape())
                           : *next++);
    }
    return result;
  }

  // The weighted sum of ys with element `element` of xs[`x`] changed.
  absl::StatusOr<double> SumAt(size_t x, int64_t element, double value) {
    std::vector<Tensor> values = values_;
    ASSIGN_OR_RETURN(values[x], values_[x].DeepCopy(HeapAllocator()));
    Set(values[x], element, value);
    ASSIGN_OR_RETURN(std::vector<Tensor> ys, evaluate_(FeedsOf(values), ys_));
    double sum = 0;
    for (size_t i = 0; i < ys.size(); ++i) {
      for (int64_t j = 0; j < ys[i].num_elements(); ++j) {
        sum += Get(ys[i], j) * Get(weights_[i], j);
      }
    }
    return sum;
  }

  absl::StatusOr<double> ErrorOf(size_t x, const Tensor& gradient) {
    if (gradient.shape() != values_[x].shape()) {
      return absl::InternalError(
          absl::StrCat("the gradient for ", xs_[x].name(), " has shape ",
                       gradient.shape().ToString(), ", not ",
                       values_[x].shape().ToString()));
    }
    double worst = 0;
    for (int64_t i = 0; i < values_[x].num_elements(); ++i) {
      const double at = Get(values_[x], i);
      ASSIGN_OR_RETURN(double up, SumAt(x, i, at + options_.delta));
      ASSIGN_OR_RETURN(double down, SumAt(x, i, at - options_.delta));
      const double numeric = (up - down) / (2 * options_.delta);
      const double analytic = Get(gradient, i);
      const double scale = std::max(1.0, std::abs(numeric));
      const double error = std::abs(analytic - numeric) / scale;
      // NaN counts as the largest error.
      if (std::isnan(error)) return INFINITY;
      worst = std::max(worst, error);
    }
    return worst;
  }

  const Scope& scope_;
  const std::vector<Output> ys_;
  const std::vector<Output> xs_;
  const std::vector<Tensor>& values_;
  const Evaluate& evaluate_;
  const GradientCheckOptions options_;
  std::vector<Tensor> weights_;
};

}  // namespace

absl::StatusOr<double> MaxGradientError(const Scope& scope,
                                        absl::Span<const Output> ys,
                                        absl::Span<const Output> xs,
                                        const std::vector<Tensor>& values,
                                        const Evaluate& evaluate,
                                        const GradientCheckOptions& options) {
  return Checker(scope, ys, xs, values, evaluate, options).Run();
}

}  // namespace weft
