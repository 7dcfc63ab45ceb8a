// ScalarSummary and HistogramSummary.
#include <cmath>
#include <string>

#include "libs/kernels/common/number_types.h"
#include "libs/kernels/summary/summary_kernels.h"
#include "libs/kernels/summary/summary_output.h"
#include "libs/summary/histogram.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

class ScalarSummaryKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& tags = context.input(0);
    const Tensor& values = context.input(1);
    RETURN_IF_ERROR(CheckShapes(tags, values));
    HeapCharge charge(context.host_allocator());
    for (const std::string& tag : tags.flat<std::string>()) {
      RETURN_IF_ERROR(ChargeValue(charge, tag.size()));
    }
    summary::Summary summary;
    RETURN_IF_ERROR(DispatchType(
        RealNumbers{}, values.dtype(), [&]<typename T>(TypeTag<T>) {
          for (size_t i = 0; i < values.flat<T>().size(); ++i) {
            summary.value.push_back(
                {.tag = tags.flat<std::string>()[i],
                 .value = static_cast<float>(values.flat<T>()[i])});
          }
          return absl::OkStatus();
        }));
    return SetSummary(context, summary);
  }

 private:
  static absl::Status CheckShapes(const Tensor& tags, const Tensor& values) {
    if (tags.shape() == values.shape()) return absl::OkStatus();
    std::string text = absl::StrCat(
        "tags and values are not the same shape: ", tags.shape().ToString(),
        " != ", values.shape().ToString());
    if (tags.num_elements() == 1) {
      absl::StrAppend(&text, " (tag '", tags.flat<std::string>()[0], "')");
    }
    return absl::InvalidArgumentError(text);
  }
};

class HistogramSummaryKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const std::string tag, ScalarText(context, 0, "tags"));
    summary::Histogram histogram;
    RETURN_IF_ERROR(DispatchType(
        RealNumbers{}, context.input(1).dtype(), [&]<typename T>(TypeTag<T>) {
          return Count(context.input(1).flat<T>(),
                       absl::StrCat(context.node_name(), " (tag '", tag, "')"),
                       histogram);
        }));
    summary::Summary summary;
    summary.value.push_back({.tag = tag, .value = histogram.ToValue()});
    return SetSummary(context, summary);
  }

 private:
  template <typename T>
  static absl::Status Count(absl::Span<const T> values,
                            const std::string& summary,
                            summary::Histogram& histogram) {
    for (const T element : values) {
      const double value = static_cast<double>(element);
      if (std::isnan(value)) {
        return absl::InvalidArgumentError(
            absl::StrCat("Nan in summary histogram for: ", summary));
      }
      if (std::isinf(value)) {
        return absl::InvalidArgumentError(
            absl::StrCat("Infinity in Histogram for: ", summary));
      }
      histogram.Add(value);
    }
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterNumberSummaryKernels(KernelRegistry& registry) {
  const std::vector<DataType> types = DataTypesOf(RealNumbers{});
  registry.Register<ScalarSummaryKernel>("ScalarSummary", {{"T", types}});
  registry.Register<HistogramSummaryKernel>("HistogramSummary", {{"T", types}});
}

}  // namespace weft
