#include "libs/kernels/cuda/convolution_plan.h"

#include <algorithm>

namespace weft {
namespace {

// The maximum laid out at a time, and for one image; larger images run
// directly.
constexpr int64_t kWorkspace = int64_t{1} << 27;
constexpr int64_t kMostOfOneImage = int64_t{1} << 30;

bool IsPoint(const cuda::Window& dim) {
  return dim.size == 1 && dim.stride == 1 && dim.pad == 0 && dim.out == dim.in;
}

// Laying out an element costs some 8 bytes of memory traffic, which takes a GPU
// as long as 2 or 3 directly computed sums: with so few filters it does not pay
// off. With groups, a product is as narrow, or as short, as one group, while
// tiles have 64 rows and columns or more.
bool HasFewFilters(const cuda::WindowArgs& args) {
  constexpr int64_t kFew = 4, kFewOfGroup = 8;
  if (args.channels == args.depth) return args.filters <= kFew;
  return args.filters_of_group < kFewOfGroup || args.depth < kFewOfGroup;
}

// One launch takes less time than the two or three of a product if each
// thread's sum is short and there are few sums.
bool IsSmall(ConvolutionPass pass, const cuda::WindowArgs& args, double sums) {
  constexpr int64_t kShort = 256;
  const int64_t taps = args.rows.size * args.columns.size;
  switch (pass) {
    case ConvolutionPass::kForward:
      return taps * args.depth < kShort && sums < 1 << 22;
    case ConvolutionPass::kInput:
      return taps * args.filters_of_group < kShort && sums < 1 << 22;
    case ConvolutionPass::kFilter:
      // Its threads read distant elements.
      return sums < 1 << 16;
  }
  return false;
}

}  // namespace

ConvolutionPlan PlanConvolution(ConvolutionPass pass,
                                const cuda::WindowArgs& args,
                                int64_t element_size) {
  const double windows =
      static_cast<double>(args.batch) * args.rows.out * args.columns.out;
  const double numbers =
      static_cast<double>(args.rows.size) * args.columns.size * args.channels;
  const double sums = windows * numbers * args.filters_of_group;
  if (sums == 0) return {};
  const bool is_point = IsPoint(args.rows) && IsPoint(args.columns);
  const bool has_groups = args.channels != args.depth;
  if (is_point && !has_groups && !args.channels_first) {
    return {ConvolutionWay::kProduct, args.batch};
  }
  const bool has_few =
      HasFewFilters(args) && (has_groups || pass != ConvolutionPass::kFilter);
  if (has_few || IsSmall(pass, args, sums)) return {};
  // Images with channels first are transposed.
  const double pixels =
      std::max(static_cast<double>(args.rows.in) * args.columns.in,
               static_cast<double>(args.rows.out) * args.columns.out);
  const double of_one =
      element_size *
      (windows / args.batch * numbers +
       (args.channels_first
            ? pixels * static_cast<double>(args.channels + args.filters)
            : 0.0));
  if (of_one > kMostOfOneImage) return {};
  const auto images = static_cast<int64_t>(kWorkspace / of_one);
  return {is_point ? ConvolutionWay::kProduct : ConvolutionWay::kColumns,
          std::clamp<int64_t>(images, 1, args.batch)};
}

}  // namespace weft
