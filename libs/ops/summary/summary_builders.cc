#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/ops/summary/summary_ops.h"

namespace weft::ops {
namespace {

Output Collected(const Scope& scope, Output summary,
                 const SummaryCollections& collections) {
  if (!summary) return summary;
  for (const std::string& collection : collections) {
    scope.AddToCollection(collection, summary);
  }
  return summary;
}

}  // namespace

Output ScalarSummary(const Scope& scope, const Input& tags, const Input& values,
                     const SummaryCollections& collections) {
  return Collected(scope, scope.AddOutput("ScalarSummary", {tags, values}),
                   collections);
}

Output HistogramSummary(const Scope& scope, const Input& tag,
                        const Input& values,
                        const SummaryCollections& collections) {
  return Collected(scope, scope.AddOutput("HistogramSummary", {tag, values}),
                   collections);
}

Output ImageSummary(const Scope& scope, const Input& tag, const Input& tensor,
                    const ImageSummaryAttrs& attrs) {
  AttrMap values = {{"max_images", attrs.max_images}};
  if (attrs.bad_color.IsInitialized()) {
    values.emplace("bad_color", attrs.bad_color);
  }
  return Collected(
      scope, scope.AddOutput("ImageSummary", {tag, tensor}, std::move(values)),
      attrs.collections);
}

Output AudioSummary(const Scope& scope, const Input& tag, const Input& tensor,
                    const Input& sample_rate, const AudioSummaryAttrs& attrs) {
  return Collected(scope,
                   scope.AddOutput("AudioSummaryV2", {tag, tensor, sample_rate},
                                   {{"max_outputs", attrs.max_outputs}}),
                   attrs.collections);
}

Output TensorSummary(const Scope& scope, const Input& tag, const Input& tensor,
                     const summary::SummaryMetadata& metadata,
                     const SummaryCollections& collections) {
  return Collected(
      scope,
      scope.AddOutput(
          "TensorSummaryV2",
          {tag, tensor, summary::SerializeSummaryMetadata(metadata)}),
      collections);
}

Output TextSummary(const Scope& scope, const Input& tag, const Input& tensor,
                   const SummaryCollections& collections) {
  const Output text = scope.ToOutput(tensor, "tensor");
  if (text && text.dtype() != DT_STRING) {
    scope.UpdateStatus(absl::InvalidArgumentError(absl::StrCat(
        "Expected tensor ", text.name(), " to have dtype string, got ",
        DataTypeName(text.dtype()))));
    return Output();
  }
  return TensorSummary(scope, tag, text, {.plugin_name = "text"}, collections);
}

Output MergeSummary(const Scope& scope, const InputList& inputs,
                    const SummaryCollections& collections) {
  return Collected(scope, scope.AddOutput("MergeSummary", inputs), collections);
}

Output MergeAllSummaries(const Scope& scope, absl::string_view key) {
  InputList inputs;
  for (const Output& summary : scope.GetCollection(key)) {
    inputs.emplace_back(summary);
  }
  return inputs.empty() ? Output() : MergeSummary(scope, inputs);
}

}  // namespace weft::ops
