// Builders of the ops that make summaries, with TensorFlow's names.
//
//   ops::ScalarSummary(scope, "loss", loss);
//   ops::HistogramSummary(scope, "weights", weights);
//   Output merged = ops::MergeAllSummaries(scope);
//   ...
//   ASSIGN_OR_RETURN(Tensor summary, session->Run(merged));
//   RETURN_IF_ERROR(writer->AddSummary(summary.flat<std::string>()[0], step));
//
// All add one node to `scope`. Its output, a scalar that holds a serialized
// Summary, is added to collections, "summaries" by default. Outputs are null
// after an error (see Scope). TensorBoard groups tags by the text before their
// slashes.
#ifndef WEFT_LIBS_OPS_SUMMARY_SUMMARY_OPS_H_
#define WEFT_LIBS_OPS_SUMMARY_SUMMARY_OPS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "libs/ops/scope.h"
#include "libs/summary/event.h"
#include "libs/tensor/tensor.h"

namespace weft::ops {

using SummaryCollections = std::vector<std::string>;

// The collection of all summaries, which MergeAllSummaries merges.
inline SummaryCollections DefaultSummaryCollections() {
  return {std::string(collection::kSummaries)};
}

// `tags` and `values` have the same shape: a scalar, or one tag for each value.
Output ScalarSummary(
    const Scope& scope, const Input& tags, const Input& values,
    const SummaryCollections& collections = DefaultSummaryCollections());

// A histogram of all elements of `values`, in TensorFlow's buckets; a step with
// a non-finite element fails.
Output HistogramSummary(
    const Scope& scope, const Input& tag, const Input& values,
    const SummaryCollections& collections = DefaultSummaryCollections());

struct ImageSummaryAttrs {
  int64_t max_images = 3;  // of the batch
  // The color of non-finite pixels, with at least as many uint8 as an image has
  // channels. Empty: red.
  Tensor bad_color;
  SummaryCollections collections = DefaultSummaryCollections();
};
// `tensor`: [batch, height, width, channels], with 1 (gray), 3 (RGB) or 4
// (RGBA) channels. Tags are "TAG/image/0", ...; "TAG/image" with max_images 1.
// Floating-point images are scaled separately: the largest value becomes 255,
// or, if some are negative, 0 becomes 128 and the largest absolute value is 127
// away from it.
Output ImageSummary(const Scope& scope, const Input& tag, const Input& tensor,
                    const ImageSummaryAttrs& attrs = {});

struct AudioSummaryAttrs {
  int64_t max_outputs = 3;  // of the batch
  SummaryCollections collections = DefaultSummaryCollections();
};
// `tensor`: [batch, frames] or [batch, frames, channels] of values from -1 to
// 1; `sample_rate` in Hz, a scalar. Tags are "TAG/audio/0", ...; "TAG/audio"
// with max_outputs 1. (The op is AudioSummaryV2.)
Output AudioSummary(const Scope& scope, const Input& tag, const Input& tensor,
                    const Input& sample_rate,
                    const AudioSummaryAttrs& attrs = {});

// Any tensor, for the TensorBoard plugin that `metadata` names. (The op is
// TensorSummaryV2.)
Output TensorSummary(
    const Scope& scope, const Input& tag, const Input& tensor,
    const summary::SummaryMetadata& metadata = {},
    const SummaryCollections& collections = DefaultSummaryCollections());

// Strings, which TensorBoard shows as Markdown; vectors and matrices are shown
// as tables. An input with a known other type is an error of the scope.
Output TextSummary(
    const Scope& scope, const Input& tag, const Input& tensor,
    const SummaryCollections& collections = DefaultSummaryCollections());

// A step in which two summaries share a tag fails.
Output MergeSummary(const Scope& scope, const InputList& inputs,
                    const SummaryCollections& collections = {});

// Merges all summaries in collection `key`; null if it is empty, which is not
// an error. Summaries that are created later are not included.
Output MergeAllSummaries(const Scope& scope,
                         absl::string_view key = collection::kSummaries);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_SUMMARY_SUMMARY_OPS_H_
