// TensorSummary, TensorSummaryV2 and MergeSummary.
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "libs/kernels/summary/summary_kernels.h"
#include "libs/kernels/summary/summary_output.h"
#include "schemas/tf/summary.pb.h"

namespace weft {
namespace {

constexpr size_t kMostBytes = std::numeric_limits<int>::max();

class TensorSummaryKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    summary::Summary summary;
    summary.value.push_back({.node_name = std::string(context.node_name()),
                             .value = context.input(0)});
    return SetSummary(context, summary);
  }
};

class TensorSummaryV2Kernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(std::string tag, ScalarText(context, 0, "tag"));
    ASSIGN_OR_RETURN(const std::string metadata,
                     ScalarText(context, 2, "serialized_summary_metadata"));
    auto parsed = summary::ParseSummaryMetadata(metadata);
    if (!parsed.ok()) {
      return Annotate(parsed.status(), "serialized_summary_metadata");
    }
    summary::Summary summary;
    summary.value.push_back({.tag = std::move(tag),
                             .value = context.input(1),
                             .metadata = *std::move(parsed)});
    return SetSummary(context, summary);
  }
};

// Works on messages, so that what is not known here of a summary stays.
class MergeSummaryKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    tf::Summary merged;
    std::set<std::string> tags;
    for (int i = 0; i < context.num_inputs(); ++i) {
      for (const std::string& bytes : context.input(i).flat<std::string>()) {
        RETURN_IF_ERROR(Merge(bytes, tags, merged));
      }
    }
    if (merged.ByteSizeLong() > kMostBytes) {
      return absl::InvalidArgumentError(
          "the summaries have more than 2 GiB together, which no message can");
    }
    return SetSummary(context, merged.SerializeAsString());
  }

 private:
  static absl::Status Merge(const std::string& bytes,
                            std::set<std::string>& tags, tf::Summary& merged) {
    tf::Summary summary;
    if (bytes.size() > kMostBytes || !summary.ParseFromString(bytes)) {
      return absl::InvalidArgumentError(
          "Could not parse one of the summary inputs");
    }
    for (tf::Summary::Value& value : *summary.mutable_value()) {
      // TensorSummary's have none.
      if (!value.tag().empty() && !tags.insert(value.tag()).second) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Duplicate tag ", value.tag(), " found in summary inputs"));
      }
      *merged.add_value() = std::move(value);
    }
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterTensorSummaryKernels(KernelRegistry& registry) {
  registry.Register<MergeSummaryKernel>("MergeSummary");
  registry.Register<TensorSummaryKernel>("TensorSummary");
  registry.Register<TensorSummaryV2Kernel>("TensorSummaryV2");
}

}  // namespace weft
