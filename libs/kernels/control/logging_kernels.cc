// Kernels that print: Assert, Print, PrintV2, and StringFormat, which formats
// texts.
#include <atomic>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/base/status.h"
#include "libs/kernels/control/control_kernels.h"
#include "libs/kernels/control/tensor_summary.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/tensor/heap_charge.h"

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
    HeapCharge charge(context.host_allocator());
    ChargedText message(charge);
    message.Append("assertion failed:");
    for (int i = 1; i < context.num_inputs(); ++i) {
      message.Append(" [");
      AppendValues(context.input(i), summarize_, message);
      message.Append("]");
    }
    ASSIGN_OR_RETURN(const std::string text, std::move(message).Take());
    // Charges the copy of the text in the error.
    RETURN_IF_ERROR(charge.AddStrings(1, text.size()));
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
    HeapCharge charge(context.host_allocator());
    ChargedText text(charge);
    text.Append(message_);
    for (int i = 1; i < context.num_inputs(); ++i) {
      text.Append("[");
      AppendValues(context.input(i), summarize_, text);
      text.Append("]");
    }
    text.Append("\n");
    ASSIGN_OR_RETURN(const std::string line, std::move(text).Take());
    // In one call, so that lines of several threads do not mix.
    std::fwrite(line.data(), 1, line.size(), stderr);
    return absl::OkStatus();
  }

 private:
  const std::string message_;
  const int64_t first_n_;
  const int64_t summarize_;
  std::atomic<int64_t> count_{0};
};

// Writes a text to a stream of the process; log(...) targets use stderr.
class PrintTextKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<PrintTextKernel>(construction);
    ASSIGN_OR_RETURN(kernel->end_, construction.GetAttr<std::string>("end"));
    ASSIGN_OR_RETURN(const std::string stream,
                     construction.GetAttr<std::string>("output_stream"));
    if (absl::StartsWith(stream, "file://")) {
      return absl::UnimplementedError(
          "texts are printed to stdout, stderr or a log, not to files; write "
          "them with WriteFile");
    }
    if (stream != "stdout" && stream != "stderr" && stream != "log(info)" &&
        stream != "log(warning)" && stream != "log(error)") {
      return absl::InvalidArgumentError(absl::StrCat(
          "Unknown output stream: ", stream,
          ", Valid streams are: log(error), log(info), log(warning), stderr, "
          "stdout"));
    }
    kernel->to_stdout_ = stream == "stdout";
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    if (input.num_elements() != 1 || input.rank() > 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Input is expected to be scalar, but got ",
                       input.shape().ToString()));
    }
    HeapCharge charge(context.host_allocator());
    ChargedText whole(charge);
    whole.Append(input.scalar<std::string>(), end_);
    // In one call, so that texts of several threads do not mix.
    ASSIGN_OR_RETURN(const std::string text, std::move(whole).Take());
    std::FILE* const stream = to_stdout_ ? stdout : stderr;
    std::fwrite(text.data(), 1, text.size(), stream);
    std::fflush(stream);
    return absl::OkStatus();
  }

 private:
  bool to_stdout_ = false;
  std::string end_;
};

// Inserts tensors at the placeholders of a template.
class StringFormatKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<StringFormatKernel>(construction);
    ASSIGN_OR_RETURN(const std::string text,
                     construction.GetAttr<std::string>("template"));
    ASSIGN_OR_RETURN(const std::string placeholder,
                     construction.GetAttr<std::string>("placeholder"));
    kernel->parts_ = absl::StrSplit(text, placeholder);
    const size_t places = kernel->parts_.size() - 1;
    const auto inputs = static_cast<size_t>(construction.node().num_inputs());
    if (places == inputs) return kernel;
    return absl::InvalidArgumentError(absl::StrCat(
        "num placeholders in template and num inputs must match: ", places,
        " vs. ", inputs));
  }
  explicit StringFormatKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), summarize_(SummarizeOf(construction)) {}

  absl::Status Compute(OpKernelContext& context) override {
    HeapCharge charge(context.host_allocator());
    ChargedText whole(charge);
    whole.Append(parts_[0]);
    for (int i = 0; i < context.num_inputs(); ++i) {
      AppendEnds(context.input(i), summarize_, whole);
      whole.Append(parts_[i + 1]);
    }
    ASSIGN_OR_RETURN(std::string text, std::move(whole).Take());
    context.SetOutput(0, Tensor::Scalar(std::move(text)));
    return absl::OkStatus();
  }

 private:
  const int64_t summarize_;
  std::vector<std::string> parts_;  // one more than inputs
};

}  // namespace

void RegisterLoggingKernels(KernelRegistry& registry) {
  registry.Register<AssertKernel>("Assert");
  registry.Register<PrintKernel>("Print");
  registry.Register({.op = "PrintV2"}, PrintTextKernel::Make);
  registry.Register({.op = "StringFormat"}, StringFormatKernel::Make);
}

}  // namespace weft
