// StringSplit and StringSplitV2: the parts of each string as a sparse tensor.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"
#include "libs/kernels/string/string_kernels.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// The parts of a string, which must outlive them. The vector's capacity may be
// twice its size.
class Parts {
 public:
  explicit Parts(HeapCharge& charge) : charge_(&charge) {}

  absl::Status Add(absl::string_view part) {
    RETURN_IF_ERROR(charge_->Add(2 * sizeof(absl::string_view)));
    parts_.push_back(part);
    return absl::OkStatus();
  }
  size_t size() const { return parts_.size(); }
  absl::string_view operator[](size_t i) const { return parts_[i]; }

 private:
  HeapCharge* charge_;
  std::vector<absl::string_view> parts_;
};

// Outputs the parts of each row: coordinates, values, and the enclosing shape.
absl::Status SetOutputs(OpKernelContext& context,
                        const std::vector<Parts>& rows, HeapCharge& charge) {
  int64_t total = 0;
  int64_t longest = 0;
  for (const Parts& parts : rows) {
    total += static_cast<int64_t>(parts.size());
    longest = std::max(longest, static_cast<int64_t>(parts.size()));
  }
  ASSIGN_OR_RETURN(Tensor * indices, context.AllocateOutput(0, {total, 2}));
  ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(1, {total}));
  int64_t* index = indices->mutable_flat<int64_t>().data();
  auto value = values->mutable_flat<std::string>().begin();
  for (size_t row = 0; row < rows.size(); ++row) {
    for (size_t i = 0; i < rows[row].size(); ++i) {
      *index++ = static_cast<int64_t>(row);
      *index++ = static_cast<int64_t>(i);
      RETURN_IF_ERROR(charge.AddStrings(1, rows[row][i].size()));
      *value++ = std::string(rows[row][i]);
    }
  }
  context.SetOutput(
      2, Tensor::Vector({static_cast<int64_t>(rows.size()), longest}));
  return absl::OkStatus();
}

absl::Status CheckInputs(OpKernelContext& context, absl::string_view what) {
  if (!context.input(0).shape().IsVector()) {
    return absl::InvalidArgumentError(
        absl::StrCat("input must be a vector, got shape: ",
                     context.input(0).shape().ToString()));
  }
  if (context.input(1).shape().IsScalar()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      what,
      " must be a scalar, got shape: ", context.input(1).shape().ToString()));
}

// Splits at each character of `delimiters`; without delimiters, into single
// characters. An empty string has no parts at all, not even an empty one.
absl::Status SplitAtAny(absl::string_view text, absl::string_view delimiters,
                        bool skip_empty, Parts& parts) {
  if (delimiters.empty()) {
    for (size_t i = 0; i < text.size(); ++i) {
      RETURN_IF_ERROR(parts.Add(text.substr(i, 1)));
    }
    return absl::OkStatus();
  }
  if (text.empty()) return absl::OkStatus();
  while (true) {
    const size_t end = std::min(text.find_first_of(delimiters), text.size());
    if (end > 0 || !skip_empty) RETURN_IF_ERROR(parts.Add(text.substr(0, end)));
    if (end == text.size()) return absl::OkStatus();
    text.remove_prefix(end + 1);
  }
}

absl::Status SplitAtSpaces(absl::string_view text, int64_t max_splits,
                           Parts& parts) {
  text = absl::StripLeadingAsciiWhitespace(text);
  while (!text.empty()) {
    const auto end =
        std::find_if(text.begin(), text.end(), absl::ascii_isspace);
    const size_t size = static_cast<size_t>(end - text.begin());
    RETURN_IF_ERROR(parts.Add(text.substr(0, size)));
    text = absl::StripLeadingAsciiWhitespace(text.substr(size));
    if (max_splits > 0 && static_cast<int64_t>(parts.size()) == max_splits) {
      return parts.Add(text);
    }
  }
  return absl::OkStatus();
}

absl::Status SplitAt(absl::string_view text, absl::string_view separator,
                     int64_t max_splits, Parts& parts) {
  if (max_splits == 0) return parts.Add(text);
  if (separator.empty()) return SplitAtSpaces(text, max_splits, parts);
  size_t end = text.find(separator);
  while (end != absl::string_view::npos &&
         (max_splits < 0 || static_cast<int64_t>(parts.size()) < max_splits)) {
    RETURN_IF_ERROR(parts.Add(text.substr(0, end)));
    text.remove_prefix(end + separator.size());
    end = text.find(separator);
  }
  return parts.Add(text);
}

// Splits each string with `split(text, parts)`.
template <typename Split>
absl::Status SplitAll(OpKernelContext& context, const Split& split) {
  const auto texts = context.input(0).flat<std::string>();
  HeapCharge charge(context.host_allocator());
  RETURN_IF_ERROR(charge.AddObjects(texts.size(), sizeof(Parts)));
  std::vector<Parts> rows(texts.size(), Parts(charge));
  for (size_t i = 0; i < texts.size(); ++i) {
    RETURN_IF_ERROR(split(texts[i], rows[i]));
  }
  return SetOutputs(context, rows, charge);
}

class StringSplitKernel : public OpKernel {
 public:
  explicit StringSplitKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        skip_empty_(construction.GetAttr<bool>("skip_empty").value_or(true)) {}

  absl::Status Compute(OpKernelContext& context) override {
    RETURN_IF_ERROR(CheckInputs(context, "delimiter"));
    const std::string& delimiters = context.input(1).scalar<std::string>();
    return SplitAll(context, [&](const std::string& text, Parts& parts) {
      return SplitAtAny(text, delimiters, skip_empty_, parts);
    });
  }

 private:
  const bool skip_empty_;
};

class StringSplitV2Kernel : public OpKernel {
 public:
  explicit StringSplitV2Kernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        max_splits_(construction.GetAttr<int64_t>("maxsplit").value_or(-1)) {}

  absl::Status Compute(OpKernelContext& context) override {
    RETURN_IF_ERROR(CheckInputs(context, "sep"));
    const std::string& separator = context.input(1).scalar<std::string>();
    return SplitAll(context, [&](const std::string& text, Parts& parts) {
      return SplitAt(text, separator, max_splits_, parts);
    });
  }

 private:
  const int64_t max_splits_;
};

}  // namespace

void RegisterStringSplitKernels(KernelRegistry& registry) {
  registry.Register<StringSplitKernel>("StringSplit");
  registry.Register<StringSplitV2Kernel>("StringSplitV2");
}

}  // namespace weft
