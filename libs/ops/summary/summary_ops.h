// Builders of the ops that make summaries, under TensorFlow's names.
//
//   ops::ScalarSummary(scope, "loss", loss);
//   ops::HistogramSummary(scope, "weights", weights);
//   Output merged = ops::MergeAllSummaries(scope);
//   ...
//   ASSIGN_OR_RETURN(Tensor summary, session->Run(merged));
//   RETURN_IF_ERROR(writer->AddSummary(summary.flat<std::string>()[0], step));
//
// All add one node to `scope`, and its output, a scalar that holds a serialized
// Summary, to collections, "summaries" unless told otherwise. Outputs are null
// after an error (see Scope). TensorBoard groups tags by what stands before
// their slashes.
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

// That of all summaries, which MergeAllSummaries merges.
inline SummaryCollections DefaultSummaryCollections() {
  return {std::string(collection::kSummaries)};
}

// `tags` and `values` have one shape: a scalar, or as many tags as values.
Output ScalarSummary(
    const Scope& scope, const Input& tags, const Input& values,
    const SummaryCollections& collections = DefaultSummaryCollections());

// Of all elements of `values`, in TensorFlow's buckets; a step in which one is
// not finite fails.
Output HistogramSummary(
    const Scope& scope, const Input& tag, const Input& values,
    const SummaryCollections& collections = DefaultSummaryCollections());

struct ImageSummaryAttrs {
  int64_t max_images = 3;  // of the batch
  // What pixels become that are not finite; as many uint8 as an image has
  // channels, or more. Empty: red.
  Tensor bad_color;
  SummaryCollections collections = DefaultSummaryCollections();
};
// `tensor`: [batch, height, width, channels], with 1 (gray), 3 (RGB) or 4
// (RGBA) channels. Tags are "TAG/image/0", ...; "TAG/image" with max_images 1.
// Floating-point images are scaled, each by itself: its largest value becomes
// 255, or, where some are negative, 0 becomes 128 and the largest of all is 127
// from it.
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

// Any tensor, for the plugin of TensorBoard that `metadata` names. (The op is
// TensorSummaryV2.)
Output TensorSummary(
    const Scope& scope, const Input& tag, const Input& tensor,
    const summary::SummaryMetadata& metadata = {},
    const SummaryCollections& collections = DefaultSummaryCollections());

// Strings, which TensorBoard shows as Markdown, those of vectors and matrices
// as tables. An input that is known not to be of strings is an error of the
// scope.
Output TextSummary(
    const Scope& scope, const Input& tag, const Input& tensor,
    const SummaryCollections& collections = DefaultSummaryCollections());

// A step in which two have a tag in common fails.
Output MergeSummary(const Scope& scope, const InputList& inputs,
                    const SummaryCollections& collections = {});

// Of all in collection `key`; null where there is none, which is no error.
// Those that are made later are not in it.
Output MergeAllSummaries(const Scope& scope,
                         absl::string_view key = collection::kSummaries);

}  // namespace weft::ops

#endif  // WEFT_LIBS_OPS_SUMMARY_SUMMARY_OPS_H_
