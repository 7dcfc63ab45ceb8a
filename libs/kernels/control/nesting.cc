#include "libs/kernels/control/nesting.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/base/status.h"
#include "libs/kernels/control/optional_value.h"

namespace weft {
namespace {

// Number `index` of the metadata, from 1 to kMaxNesting. A variant may come
// from a client with arbitrary metadata; such a variant is not nested deeper
// than its message.
int64_t NumberAt(const Variant& variant, int index) {
  const std::vector<absl::string_view> parts =
      absl::StrSplit(variant.metadata, absl::MaxSplits(' ', index + 1));
  int64_t number = 1;
  const auto place = static_cast<size_t>(index);
  if (place >= parts.size() || !absl::SimpleAtoi(parts[place], &number)) {
    return 1;
  }
  return std::clamp<int64_t>(number, 1, kMaxNesting);
}

// For types without a depth in the metadata. Only messages create such variants
// with nested ones, so the recursion is not deeper than a message.
int64_t NestingOfTensors(const Variant& variant) {
  int64_t nesting = 1;
  if (variant.tensors == nullptr) return nesting;
  for (const Tensor& tensor : *variant.tensors) {
    if (tensor.dtype() != DT_VARIANT) continue;
    for (const Variant& inner : tensor.flat<Variant>()) {
      nesting = std::max(nesting, NestingOf(inner) + 1);
    }
  }
  return nesting;
}

}  // namespace

int64_t NestingOf(const Variant& variant) {
  if (variant.type_name == kListType) return NumberAt(variant, 2);
  if (variant.type_name == kOptionalType) return NumberAt(variant, 1);
  if (variant.type_name == kDatasetType) return NumberAt(variant, 0);
  return NestingOfTensors(variant);
}

absl::Status Nest(const Tensor& inner, int64_t& nesting) {
  if (inner.dtype() != DT_VARIANT) return absl::OkStatus();
  for (const Variant& variant : inner.flat<Variant>()) {
    const int64_t below = NestingOf(variant);
    if (below >= kMaxNesting) {
      return absl::InvalidArgumentError(absl::StrCat(
          "variants (datasets, lists, optional values) are more than ",
          kMaxNesting,
          " deep inside one another. Does a loop put each into the next? Put "
          "them side by side instead, for example into one list"));
    }
    nesting = std::max(nesting, below + 1);
  }
  return absl::OkStatus();
}

}  // namespace weft
