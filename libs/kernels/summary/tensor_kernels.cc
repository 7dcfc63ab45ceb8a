// TensorSummary, TensorSummaryV2 and MergeSummary.
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "libs/kernels/summary/summary_kernels.h"
#include "libs/kernels/summary/summary_output.h"
#include "libs/tensor/heap_charge.h"
#include "schemas/tf/summary.pb.h"

namespace weft {
namespace {

constexpr size_t kMostBytes = std::numeric_limits<int>::max();

class TensorSummaryKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeValue(charge, context.input(0).TotalBytes()));
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
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeValue(
        charge, tag.size() + metadata.size() + context.input(1).TotalBytes()));
    summary::Summary summary;
    summary.value.push_back({.tag = std::move(tag),
                             .value = context.input(1),
                             .metadata = *std::move(parsed)});
    return SetSummary(context, summary);
  }
};

// Works on messages, so that unknown fields of a summary are kept.
class MergeSummaryKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    Merged merged(context.host_allocator());
    for (int i = 0; i < context.num_inputs(); ++i) {
      for (const std::string& bytes : context.input(i).flat<std::string>()) {
        RETURN_IF_ERROR(merged.Add(bytes));
      }
    }
    if (merged.summary.ByteSizeLong() > kMostBytes) return TooLarge();
    return SetSummary(context, merged.summary.SerializeAsString());
  }

 private:
  static absl::Status TooLarge() {
    return absl::InvalidArgumentError(
        "the merged summaries exceed 2 GiB, the maximum size of a message");
  }

  // An input may occur any number of times, so its values are charged before
  // they are added.
  struct Merged {
    explicit Merged(Allocator& allocator) : charge(allocator) {}

    absl::Status Add(const std::string& bytes) {
      tf::Summary added;
      if (bytes.size() > kMostBytes || !added.ParseFromString(bytes)) {
        return absl::InvalidArgumentError(
            "Could not parse one of the summary inputs");
      }
      for (tf::Summary::Value& value : *added.mutable_value()) {
        RETURN_IF_ERROR(Add(value));
      }
      return absl::OkStatus();
    }

    absl::Status Add(tf::Summary::Value& value) {
      const size_t bytes = value.ByteSizeLong();
      if (bytes > kMostBytes - size) return TooLarge();
      size += bytes;
      RETURN_IF_ERROR(ChargeValue(charge, bytes));
      // Values of TensorSummary have no tags.
      if (!value.tag().empty() && !tags.insert(value.tag()).second) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Duplicate tag ", value.tag(), " found in summary inputs"));
      }
      *summary.add_value() = std::move(value);
      return absl::OkStatus();
    }

    HeapCharge charge;
    std::set<std::string> tags;
    tf::Summary summary;
    size_t size = 0;  // of its values
  };
};

}  // namespace

void RegisterTensorSummaryKernels(KernelRegistry& registry) {
  registry.Register<MergeSummaryKernel>("MergeSummary");
  registry.Register<TensorSummaryKernel>("TensorSummary");
  registry.Register<TensorSummaryV2Kernel>("TensorSummaryV2");
}

}  // namespace weft
