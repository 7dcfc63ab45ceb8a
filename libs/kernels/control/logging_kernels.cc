// Kernels that speak to people: Assert and Print.
#include <atomic>
#include <cstdio>
#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/control/control_kernels.h"
#include "libs/kernels/control/tensor_summary.h"
#include "libs/kernels/kernel_registry.h"

namespace weft {
namespace {

int64_t SummarizeOf(const OpKernelConstruction& construction) {
  return construction.GetAttr<int64_t>("summarize").value_or(3);
}

class AssertKernel : public OpKernel {
 public:
  explicit AssertKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), summarize_(SummarizeOf(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& condition = context.input(0);
    if (condition.num_elements() != 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "In[0] should be a scalar: ", condition.shape().ToString()));
    }
    if (condition.scalar<bool>()) return absl::OkStatus();
    std::string text = "assertion failed:";
    for (int i = 1; i < context.num_inputs(); ++i) {
      absl::StrAppend(&text, " [",
                      SummarizeValues(context.input(i), summarize_), "]");
    }
    return absl::InvalidArgumentError(text);
  }

 private:
  const int64_t summarize_;
};

class PrintKernel : public OpKernel {
 public:
  explicit PrintKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        message_(construction.GetAttr<std::string>("message").value_or("")),
        first_n_(construction.GetAttr<int64_t>("first_n").value_or(-1)),
        summarize_(SummarizeOf(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    context.SetOutput(0, context.input(0));
    if (first_n_ >= 0 &&
        count_.fetch_add(1, std::memory_order_relaxed) >= first_n_) {
      return absl::OkStatus();
    }
    std::string line = message_;
    for (int i = 1; i < context.num_inputs(); ++i) {
      absl::StrAppend(&line, "[", SummarizeValues(context.input(i), summarize_),
                      "]");
    }
    line += "\n";
    // In one piece, so that lines of several threads do not mix.
    std::fwrite(line.data(), 1, line.size(), stderr);
    return absl::OkStatus();
  }

 private:
  const std::string message_;
  const int64_t first_n_;
  const int64_t summarize_;
  std::atomic<int64_t> count_{0};
};

}  // namespace

void RegisterLoggingKernels(KernelRegistry& registry) {
  registry.Register<AssertKernel>("Assert");
  registry.Register<PrintKernel>("Print");
}

}  // namespace weft
