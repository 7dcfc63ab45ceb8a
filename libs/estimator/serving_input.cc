#include "libs/estimator/serving_input.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/ops/array/array_ops.h"

namespace weft::estimator {
namespace {

constexpr char kExamples[] = "examples";
constexpr char kExamplesName[] = "input_example_tensor";

absl::Status CheckBatchSize(const std::optional<int64_t>& size) {
  if (size.value_or(1) >= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("default_batch_size must be at least 1, but is ", *size));
}

int64_t BatchOf(const std::optional<int64_t>& size) {
  return size.value_or(PartialShape::kUnknown);
}

// Returns a valid node name for a feature, whose name may have other
// characters.
std::string NodeName(absl::string_view feature) {
  std::string name;
  for (const char c : feature) {
    name.push_back(absl::ascii_isalnum(c) || c == '_' || c == '.' ? c : '_');
  }
  if (name.empty() || !(absl::ascii_isalnum(name[0]) || name[0] == '.')) {
    name = absl::StrCat("feature", name);
  }
  return name;
}

absl::StatusOr<Output> RawPlaceholder(const Scope& scope,
                                      const std::string& name,
                                      const RawFeature& feature,
                                      std::optional<int64_t> batch_size) {
  ops::PlaceholderAttrs attrs;
  attrs.shape = feature.shape;
  if (feature.shape.has_rank()) {
    if (feature.shape.rank() == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "feature '", name,
          "' is a scalar; its first dimension has to be the batch."));
    }
    attrs.shape.set_dim(0, BatchOf(batch_size));
  }
  return ops::Placeholder(scope.WithName(NodeName(name)), feature.dtype, attrs);
}

}  // namespace

ServingInputReceiverFn BuildParsingServingInputReceiverFn(
    feature_column::ParseSpec spec, std::optional<int64_t> default_batch_size) {
  return [spec = std::move(spec), default_batch_size](
             const Scope& scope) -> absl::StatusOr<ServingInputReceiver> {
    RETURN_IF_ERROR(CheckBatchSize(default_batch_size));
    const Output serialized =
        ops::Placeholder(scope.WithName(kExamplesName), DT_STRING,
                         {.shape = {BatchOf(default_batch_size)}});
    ServingInputReceiver receiver;
    receiver.receiver_tensors[kExamples] = serialized;
    receiver.features = feature_column::ParseExample(scope, serialized, spec);
    RETURN_IF_ERROR(scope.status());
    return receiver;
  };
}

ServingInputReceiverFn BuildRawServingInputReceiverFn(
    std::map<std::string, RawFeature> features,
    std::optional<int64_t> default_batch_size) {
  return [features = std::move(features), default_batch_size](
             const Scope& scope) -> absl::StatusOr<ServingInputReceiver> {
    RETURN_IF_ERROR(CheckBatchSize(default_batch_size));
    ServingInputReceiver receiver;
    for (const auto& [name, feature] : features) {
      ASSIGN_OR_RETURN(
          const Output placeholder,
          RawPlaceholder(scope, name, feature, default_batch_size));
      receiver.receiver_tensors[name] = placeholder;
      receiver.features[name] = placeholder;
    }
    RETURN_IF_ERROR(scope.status());
    return receiver;
  };
}

}  // namespace weft::estimator
