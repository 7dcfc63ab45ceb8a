#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/cuda/array.cu.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/math.cu.h"
#include "libs/kernels/cuda/patterns.h"

namespace weft {
namespace {

// Dimensions of size 1 are left out.
absl::StatusOr<cuda::Pattern> PatternOf(const ElementPattern& from) {
  cuda::Pattern pattern;
  pattern.offset = from.offset;
  for (int i = static_cast<int>(from.dims.size()) - 1; i >= 0; --i) {
    if (from.dims[i] == 1) continue;
    if (pattern.rank == cuda::kMostPatternDims) {
      return absl::UnimplementedError(
          absl::StrCat("elements are moved along more than ",
                       cuda::kMostPatternDims, " dimensions, GPUs' most"));
    }
    pattern.sizes[pattern.rank] = from.dims[i];
    pattern.strides[pattern.rank] = from.strides[i];
    ++pattern.rank;
  }
  return pattern;
}

}  // namespace

absl::Status FromPattern(const OpKernelContext& context, const Tensor& in,
                         const ElementPattern& pattern, Tensor& out) {
  if (out.num_elements() == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const cuda::Pattern dims, PatternOf(pattern));
  LaunchFromPattern(ElementSize(in), dims, out.num_elements(), in.data(),
                    out.mutable_data(), StreamOf(context));
  return LaunchStatus();
}

absl::Status ToPattern(const OpKernelContext& context, const Tensor& in,
                       const ElementPattern& pattern, Tensor& out) {
  if (in.num_elements() == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const cuda::Pattern dims, PatternOf(pattern));
  LaunchToPattern(ElementSize(in), dims, in.num_elements(), in.data(),
                  out.mutable_data(), StreamOf(context));
  return LaunchStatus();
}

absl::Status CopyElementsOnGpu(const OpKernelContext& context, const Tensor& in,
                               int64_t in_begin, int64_t count, Tensor& out,
                               int64_t out_begin) {
  if (count == 0) return absl::OkStatus();
  cuda::Pattern row;
  row.rank = 1;
  row.sizes[0] = count;
  row.strides[0] = 1;
  row.offset = in_begin;
  char* const to = static_cast<char*>(out.mutable_data());
  LaunchFromPattern(ElementSize(in), row, count, in.data(),
                    to + out_begin * ElementSize(out), StreamOf(context));
  return LaunchStatus();
}

absl::Status SetToZero(const OpKernelContext& context, Tensor& out) {
  if (out.num_elements() == 0) return absl::OkStatus();
  cuda::LaunchBytes(0, out.num_elements() * ElementSize(out),
                    out.mutable_data(), StreamOf(context));
  return LaunchStatus();
}

}  // namespace weft
