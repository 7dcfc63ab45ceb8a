// Computes the area under a curve from confusion matrix counts at many
// thresholds.
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/train/losses/metric_counts.h"
#include "libs/train/losses/metric_variables.h"
#include "libs/train/losses/metrics.h"

namespace weft::metrics {
namespace {

Tensor Ints(std::initializer_list<int32_t> values) {
  return Tensor::Vector(values);
}

// Area computes with vectors of counts, in the scope of the metric.
class Area {
 public:
  Area(const Scope& scope, int thresholds)
      : scope_(scope), thresholds_(thresholds) {}

  Output Under(const Counts& counts, const AucOptions& options,
               const char* name) const {
    if (options.curve == Curve::kPr &&
        options.summation_method == SummationMethod::kCarefulInterpolation) {
      return Interpolated(counts);
    }
    const Output recall =
        Share(Add(counts.true_positives, kEpsilon), counts.false_negatives);
    if (options.curve == Curve::kRoc) {
      const Output rate = Div(
          counts.false_positives,
          Add(Add(counts.false_positives, counts.true_negatives), kEpsilon));
      return Sum(rate, recall, options.summation_method, name);
    }
    const Output precision =
        Share(Add(counts.true_positives, kEpsilon), counts.false_positives);
    return Sum(recall, precision, options.summation_method, name);
  }

 private:
  static constexpr float kEpsilon = 1e-6f;  // avoids division by 0

  Output Add(const Input& a, const Input& b) const {
    return ops::AddV2(scope_.WithName("add"), a, b);
  }
  Output Sub(const Input& a, const Input& b) const {
    return ops::Sub(scope_.WithName("sub"), a, b);
  }
  Output Mul(const Input& a, const Input& b) const {
    return ops::Mul(scope_.WithName("mul"), a, b);
  }
  Output Div(const Input& a, const Input& b) const {
    return ops::RealDiv(scope_.WithName("truediv"), a, b);
  }
  Output Share(const Output& right, const Output& wrong) const {
    return Div(right, Add(right, wrong));
  }
  // Lower() and Upper() return, for each interval between two thresholds, the
  // value of `x` at the lower and at the upper end.
  Output Lower(const Output& x) const {
    return ops::Slice(scope_, x, Ints({0}), Ints({thresholds_ - 1}));
  }
  Output Upper(const Output& x) const {
    return ops::Slice(scope_, x, Ints({1}), Ints({thresholds_ - 1}));
  }

  Output Sum(const Output& x, const Output& y, SummationMethod method,
             const char* name) const {
    Output height;
    if (method == SummationMethod::kMinoring) {
      height = ops::Minimum(scope_, Lower(y), Upper(y));
    } else if (method == SummationMethod::kMajoring) {
      height = ops::Maximum(scope_, Lower(y), Upper(y));
    } else {
      height = Div(Add(Lower(y), Upper(y)), 2.0f);
    }
    const Output width = Sub(Lower(x), Upper(x));
    return ops::Sum(scope_.WithName(name), Mul(width, height), Ints({0}));
  }

  // Davis and Goadrich 2006, section 4: true positives and positives are linear
  // between two thresholds A and B. Then, with the slope dTP / dP and
  // intercept = TP_B - slope * P_B, the interval's area is
  // slope * (dTP + intercept * log(P_A / P_B)) / (TP_B + FN_B).
  Output Interpolated(const Counts& counts) const {
    const Output tp = counts.true_positives;
    const Output p = Add(tp, counts.false_positives);
    const Output rise = Sub(Lower(tp), Upper(tp));
    const Output slope =
        ops::DivNoNan(scope_.WithName("prec_slope"), rise,
                      ops::Maximum(scope_, Sub(Lower(p), Upper(p)), 0.0f));
    const Output intercept = Sub(Upper(tp), Mul(slope, Upper(p)));
    const Output both =
        ops::LogicalAnd(scope_, ops::Greater(scope_, Lower(p), 0.0f),
                        ops::Greater(scope_, Upper(p), 0.0f));
    const Output ratio =
        ops::DivNoNan(scope_.WithName("recall_relative_ratio"), Lower(p),
                      ops::Maximum(scope_, Upper(p), 0.0f));
    const Output safe_ratio =
        ops::Select(scope_, both, ratio, ops::OnesLike(scope_, ratio));
    const Output area =
        Mul(slope, Add(rise, Mul(intercept, ops::Log(scope_, safe_ratio))));
    const Output all = ops::Maximum(
        scope_, Add(Upper(tp), Upper(counts.false_negatives)), 0.0f);
    return ops::Sum(
        scope_.WithName("interpolate_pr_auc"),
        ops::DivNoNan(scope_.WithName("pr_auc_increment"), area, all),
        Ints({0}));
  }

  const Scope scope_;
  const int thresholds_;
};

}  // namespace

Metric Auc(const Scope& scope, const Input& labels, const Input& predictions,
           const AucOptions& options) {
  const int count = options.num_thresholds;
  if (!CheckNumThresholds(scope, "auc", count)) return {};
  const Scope inner = scope.CompositeScope("auc");
  const CountedBatch counts =
      CountAtThresholds(inner, labels, predictions, options.weights,
                        SpreadThresholds(count, 1 + kBeyond), kAllCells);
  if (!scope.ok()) return {};
  // The metric's value depends only on the variables, not on this batch.
  const Area area(inner, count);
  const Metric metric{area.Under(counts.value, options, "value"),
                      area.Under(counts.updated, options, "update_op")};
  return Collected(scope, metric, options.metrics_collection,
                   options.updates_collection);
}

}  // namespace weft::metrics
