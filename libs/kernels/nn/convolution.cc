#include "libs/kernels/nn/convolution.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"

namespace weft {

int64_t Convolution::windows_at_a_time(int64_t threads) const {
  constexpr int64_t kNumbers = 1 << 18, kLeast = 256;
  constexpr int64_t kMostNumbers = 1 << 26;
  const int64_t wanted = threads * std::max(kLeast, kNumbers / (taps() + 1));
  // 256 windows of a million taps would need a gigabyte per thread.
  const int64_t most = std::max<int64_t>(1, kMostNumbers / (taps() + 1));
  return std::min({all_windows(), wanted, most});
}

Convolution Convolution::Flattened() const {
  Convolution result = *this;
  if (groups == 1 && columns.is_whole()) {
    result.channels = result.depth = channels * columns.in;
    result.columns = {.in = 1, .out = 1};
  }
  if (result.columns == WindowDim{.in = 1, .out = 1} && rows.dilation == 1) {
    std::swap(result.rows, result.columns);
  }
  return result;
}

Convolution Convolution::Reversed() const {
  Convolution result = *this;
  std::swap(result.channels, result.filters);
  result.depth = result.channels;
  for (WindowDim* dim : {&result.rows, &result.columns}) {
    std::swap(dim->in, dim->out);
    dim->pad = (dim->size - 1) * dim->dilation - dim->pad;
  }
  return result;
}

absl::StatusOr<Convolution> Convolution::Of(const WindowAttrs& attrs,
                                            const TensorShape& image,
                                            const TensorShape& filter) {
  RETURN_IF_ERROR(CheckImageAndFilter(image, filter));
  if (filter.dim(2) == 0 || image.dim(3) == 0 ||
      image.dim(3) % filter.dim(2) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input depth must be evenly divisible by filter depth: ", image.dim(3),
        " vs ", filter.dim(2)));
  }
  const int64_t groups = image.dim(3) / filter.dim(2);
  if (filter.dim(3) % groups != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "output depth must be evenly divisible by number of groups: ",
        filter.dim(3), " vs ", groups));
  }
  Convolution result;
  result.groups = groups;
  result.depth = filter.dim(2);
  result.batch = image.dim(0);
  result.channels = image.dim(3);
  result.filters = filter.dim(3);
  ASSIGN_OR_RETURN(result.rows, attrs.Dim(1, image.dim(1), filter.dim(0)));
  ASSIGN_OR_RETURN(result.columns, attrs.Dim(2, image.dim(2), filter.dim(1)));
  // The layout of one image must be a valid shape, too.
  RETURN_IF_ERROR(
      TensorShape::Create({result.rows.out, result.columns.out, filter.dim(0),
                           filter.dim(1), image.dim(3)}));
  RETURN_IF_ERROR(TensorShape::Create(
      {result.batch, result.rows.out, result.columns.out, result.filters}));
  return result;
}

}  // namespace weft
