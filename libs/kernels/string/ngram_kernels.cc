// StringNGrams: all joined sequences of adjacent strings in each row.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/status.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/string/string_kernels.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

struct NGramOptions {
  std::string separator, left_pad, right_pad;
  std::vector<int64_t> widths;
  int64_t pad_width = 0;  // negative: as many as a width needs
  bool preserve_short = false;
};

absl::StatusOr<NGramOptions> ReadOptions(const OpKernelConstruction& c) {
  NGramOptions options;
  ASSIGN_OR_RETURN(options.separator, c.GetAttr<std::string>("separator"));
  ASSIGN_OR_RETURN(options.left_pad, c.GetAttr<std::string>("left_pad"));
  ASSIGN_OR_RETURN(options.right_pad, c.GetAttr<std::string>("right_pad"));
  ASSIGN_OR_RETURN(options.widths,
                   c.GetAttr<std::vector<int64_t>>("ngram_widths"));
  ASSIGN_OR_RETURN(options.pad_width, c.GetAttr<int64_t>("pad_width"));
  ASSIGN_OR_RETURN(options.preserve_short,
                   c.GetAttr<bool>("preserve_short_sequences"));
  // Bounded so that sums and products of sizes do not overflow.
  constexpr int64_t kMaxWidth = int64_t{1} << 20;
  for (const int64_t width : options.widths) {
    if (width >= 1 && width <= kMaxWidth) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "ngram_widths must be from 1 to ", kMaxWidth, ", got ", width));
  }
  if (options.pad_width > kMaxWidth) {
    return absl::InvalidArgumentError(absl::StrCat(
        "pad_width must be at most ", kMaxWidth, ", got ", options.pad_width));
  }
  return options;
}

// Collects the n-grams of the rows one by one.
class NGrams {
 public:
  NGrams(const NGramOptions& options, Allocator& allocator,
         const Cancellation& step)
      : options_(options), charge_(allocator), step_(step) {}

  absl::Status AddRow(absl::Span<const std::string> row) {
    const size_t before = made_.size();
    for (const int64_t width : options_.widths) {
      const int64_t pad = options_.pad_width < 0
                              ? width - 1
                              : std::min(options_.pad_width, width - 1);
      RETURN_IF_ERROR(AddWindows(row, width, pad));
    }
    if (!options_.preserve_short || row.empty() || made_.size() > before) {
      return absl::OkStatus();
    }
    if (options_.pad_width < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Pad width should be >= 0 when preserve_short_sequences "
                       "is True and ngram_widths are not provided, got ",
                       options_.pad_width));
    }
    const auto size = static_cast<int64_t>(row.size());
    return AddWindows(row, size + 2 * options_.pad_width, options_.pad_width);
  }

  std::vector<std::string>& made() { return made_; }

 private:
  // Adds every `width` adjacent strings of the row with `pad` pads at both
  // ends.
  absl::Status AddWindows(absl::Span<const std::string> row, int64_t width,
                          int64_t pad) {
    const int64_t size = static_cast<int64_t>(row.size()) + 2 * pad;
    for (int64_t begin = 0; begin + width <= size; ++begin) {
      RETURN_IF_ERROR(CheckSize(sizeof(std::string)));
      std::string& joined = made_.emplace_back();
      for (int64_t i = begin; i < begin + width; ++i) {
        RETURN_IF_ERROR(CheckCancelled());
        const std::string& part = PartAt(row, i - pad);
        RETURN_IF_ERROR(CheckSize(part.size() + options_.separator.size()));
        if (i > begin) joined += options_.separator;
        joined += part;
      }
    }
    return absl::OkStatus();
  }

  const std::string& PartAt(absl::Span<const std::string> row,
                            int64_t i) const {
    if (i < 0) return options_.left_pad;
    return i < static_cast<int64_t>(row.size()) ? row[i] : options_.right_pad;
  }

  // Empty parts take no memory, so only time bounds their number.
  absl::Status CheckCancelled() {
    constexpr int64_t kPartsBetweenChecks = 1024;
    return num_parts_++ % kPartsBetweenChecks == 0 && step_.IsCancelled()
               ? step_.status()
               : absl::OkStatus();
  }

  // A few strings and wide windows could fill all memory.
  absl::Status CheckSize(size_t more) {
    constexpr size_t kMaxBytes = size_t{2} << 30;
    if (more > kMaxBytes - charge_.used()) {
      return absl::ResourceExhaustedError(
          "the n-grams take more than 2 GiB; make fewer of them at once");
    }
    return charge_.Add(more);
  }

  const NGramOptions& options_;
  std::vector<std::string> made_;
  HeapCharge charge_;
  const Cancellation& step_;
  int64_t num_parts_ = 0;  // in all n-grams so far
};

// Checks the row splits of `size` values.
template <typename T>
absl::Status CheckSplits(absl::Span<const T> splits, int64_t size) {
  if (splits.empty()) return absl::OkStatus();
  if (splits[0] != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("First split value must be 0, got ", splits[0]));
  }
  for (size_t i = 1; i < splits.size(); ++i) {
    if (splits[i] >= splits[i - 1] && splits[i] <= size) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("Invalid split value ", splits[i], ", must be in [",
                     splits[i - 1], ", ", size, "]"));
  }
  if (splits.back() == size) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Last split value must be data size. Expected ", size,
                   ", got ", splits.back()));
}

class StringNGramsKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(NGramOptions options, ReadOptions(construction));
    return std::make_unique<StringNGramsKernel>(construction,
                                                std::move(options));
  }
  StringNGramsKernel(const OpKernelConstruction& construction,
                     NGramOptions options)
      : OpKernel(construction), options_(std::move(options)) {}

  absl::Status Compute(OpKernelContext& context) override {
    return DispatchType(
        IndexTypes{}, context.input(1).dtype(),
        [&]<typename T>(TypeTag<T>) { return ComputeRows<T>(context); });
  }

 private:
  template <typename T>
  absl::Status ComputeRows(OpKernelContext& context) const {
    const auto data = context.input(0).flat<std::string>();
    const auto splits = context.input(1).flat<T>();
    RETURN_IF_ERROR(CheckSplits<T>(splits, static_cast<int64_t>(data.size())));
    NGrams ngrams(options_, context.host_allocator(), context.cancellation());
    ASSIGN_OR_RETURN(
        Tensor * end_tensor,
        context.AllocateOutput(1, {static_cast<int64_t>(splits.size())}));
    const auto ends = end_tensor->mutable_flat<T>();
    std::fill(ends.begin(), ends.end(), T{0});
    // Without strings there are no n-grams, not even of pads.
    for (size_t i = 1; i < splits.size() && !data.empty(); ++i) {
      RETURN_IF_ERROR(ngrams.AddRow(
          data.subspan(splits[i - 1], splits[i] - splits[i - 1])));
      ends[i] = static_cast<T>(ngrams.made().size());
    }
    ASSIGN_OR_RETURN(Tensor * output,
                     context.AllocateOutput(
                         0, {static_cast<int64_t>(ngrams.made().size())}));
    std::move(ngrams.made().begin(), ngrams.made().end(),
              output->mutable_flat<std::string>().begin());
    return absl::OkStatus();
  }

  const NGramOptions options_;
};

}  // namespace

void RegisterStringNGramKernels(KernelRegistry& registry) {
  registry.Register({.op = "StringNGrams"}, StringNGramsKernel::Make);
}

}  // namespace weft
