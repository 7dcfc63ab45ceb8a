// Ops that create summaries: each returns a serialized Summary, a scalar, for a
// FileWriter (libs/summary/file_writer.h).
#include "libs/graph/inference_context.h"
#include "libs/graph/op_def.h"
#include "libs/ops/standard_ops.h"

namespace weft {
namespace {

OpDefBuilder SummaryOp(absl::string_view name) {
  return OpDefBuilder(name).Shape(shapes::Scalar);
}

void RegisterAudioSummaries(OpRegistry& registry) {
  registry.Add(SummaryOp("AudioSummary")
                   .Input("tag: string")
                   .Input("tensor: float")
                   .Output("summary: string")
                   .Attr("sample_rate: float")
                   .Attr("max_outputs: int >= 1 = 3")
                   .Doc("Summarizes audio clips as WAV files."));
  registry.Add(SummaryOp("AudioSummaryV2")
                   .Input("tag: string")
                   .Input("tensor: float")
                   .Input("sample_rate: float")
                   .Output("summary: string")
                   .Attr("max_outputs: int >= 1 = 3")
                   .Doc("Summarizes audio clips as WAV files."));
}

void RegisterTensorSummaries(OpRegistry& registry) {
  registry.Add(SummaryOp("TensorSummary")
                   .Input("tensor: T")
                   .Output("summary: string")
                   .Attr("T: type")
                   .Attr("description: string = ''")
                   .Attr("labels: list(string) = []")
                   .Attr("display_name: string = ''")
                   .Doc("Summarizes a tensor under the node's name."));
  registry.Add(SummaryOp("TensorSummaryV2")
                   .Input("tag: string")
                   .Input("tensor: T")
                   .Input("serialized_summary_metadata: string")
                   .Output("summary: string")
                   .Attr("T: type")
                   .Doc("Summarizes a tensor with display metadata."));
}

}  // namespace

void RegisterSummaryOps(OpRegistry& registry) {
  RegisterAudioSummaries(registry);
  registry.Add(SummaryOp("HistogramSummary")
                   .Input("tag: string")
                   .Input("values: T")
                   .Output("summary: string")
                   .Attr("T: realnumbertype = DT_FLOAT")
                   .Doc("Summarizes the distribution of values."));
  registry.Add(
      SummaryOp("ImageSummary")
          .Input("tag: string")
          .Input("tensor: T")
          .Output("summary: string")
          .Attr("max_images: int >= 1 = 3")
          .Attr("T: {uint8, float, half, double} = DT_FLOAT")
          .Attr("bad_color: tensor = { dtype: DT_UINT8 tensor_shape: { dim { "
                "size: 4 } } int_val: 255 int_val: 0 int_val: 0 int_val: 255 }")
          .Doc("Summarizes images as PNG files."));
  registry.Add(SummaryOp("MergeSummary")
                   .Input("inputs: N * string")
                   .Output("summary: string")
                   .Attr("N: int >= 1")
                   .Doc("Merges summaries into one."));
  registry.Add(SummaryOp("ScalarSummary")
                   .Input("tags: string")
                   .Input("values: T")
                   .Output("summary: string")
                   .Attr("T: realnumbertype")
                   .Doc("Summarizes scalars, each under its tag."));
  RegisterTensorSummaries(registry);
}

}  // namespace weft
