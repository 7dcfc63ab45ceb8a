// Kernels that move blocks of space to the batch or the channels, and back:
// SpaceToBatchND, BatchToSpaceND and their first versions, SpaceToDepth,
// DepthToSpace.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"

namespace weft {
namespace {

template <typename... Parts>
absl::Status SpaceError(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// Copies `in`, viewed with shape `dims`, with its dimensions permuted.
absl::Status CopyTransposed(OpKernelContext& context, const Tensor& in,
                            const Dims& dims, const Dims& order, Tensor& out) {
  const Dims packed = PackedStrides(dims);
  ElementPattern pattern;
  for (const int64_t d : order) {
    pattern.dims.push_back(dims[d]);
    pattern.strides.push_back(packed[d]);
  }
  return CopyFromPattern(context, in, pattern, out);
}

// The block sizes of the dimensions after the first, and the paddings or crops.
struct BlockPlan {
  Dims block, before, behind;
  int count() const { return static_cast<int>(block.size()); }
  int64_t size() const {
    int64_t product = 1;
    for (const int64_t b : block) product *= b;
    return product;
  }
};

absl::StatusOr<BlockPlan> ReadPlan(const Tensor& input, Dims block,
                                   const Tensor& margins,
                                   absl::string_view margins_name) {
  BlockPlan plan;
  plan.block = std::move(block);
  if (input.rank() < 1 + plan.count()) {
    return SpaceError("input rank should be >= ", 1 + plan.count(),
                      " instead of ", input.rank());
  }
  if (margins.rank() != 2 || margins.dim(0) != plan.count() ||
      margins.dim(1) != 2) {
    return SpaceError(margins_name, " should have shape [", plan.count(),
                      ", 2] instead of ", margins.shape().ToString());
  }
  int64_t product = 1;
  for (const int64_t b : plan.block) {
    if (b < 1) {
      return SpaceError(
          "All values in block_shape must be positive, got value ", b);
    }
    if (__builtin_mul_overflow(product, b, &product)) {
      return SpaceError("the block has more places than can be counted");
    }
  }
  ASSIGN_OR_RETURN(const Dims values, IntegersOf(margins));
  for (int i = 0; i < plan.count(); ++i) {
    if (values[2 * i] < 0 || values[2 * i + 1] < 0) {
      return SpaceError(margins_name, " must be non-negative");
    }
    plan.before.push_back(values[2 * i]);
    plan.behind.push_back(values[2 * i + 1]);
  }
  return plan;
}

absl::Status MoveSpaceToBatch(OpKernelContext& context, const BlockPlan& plan) {
  const Tensor& input = context.input(0);
  Dims padded(input.shape().dims().begin(), input.shape().dims().end());
  Dims begin(padded.size(), 0);
  for (int i = 0; i < plan.count(); ++i) {
    int64_t& size = padded[i + 1];
    if (__builtin_add_overflow(size, plan.before[i], &size) ||
        __builtin_add_overflow(size, plan.behind[i], &size)) {
      return SpaceError("the padded input is too large");
    }
    if (size % plan.block[i] != 0) {
      return SpaceError("padded_shape[", i, "]=", size,
                        " is not divisible by block_shape[", i,
                        "]=", plan.block[i]);
    }
    begin[i + 1] = plan.before[i];
  }
  ASSIGN_OR_RETURN(const TensorShape padded_shape, TensorShape::Create(padded));
  // [batch, places / block, block, ...] to [block..., batch, places / block...]
  Dims split = {padded[0]}, order, rest = {0}, result;
  int64_t batch = padded[0];
  for (int i = 0; i < plan.count(); ++i) {
    split.push_back(padded[i + 1] / plan.block[i]);
    split.push_back(plan.block[i]);
    order.push_back(2 + 2 * i);
    rest.push_back(1 + 2 * i);
    if (__builtin_mul_overflow(batch, plan.block[i], &batch)) {
      return SpaceError("the batch is too large");
    }
    result.push_back(padded[i + 1] / plan.block[i]);
  }
  result.insert(result.begin(), batch);
  for (size_t d = plan.count() + 1; d < padded.size(); ++d) {
    rest.push_back(static_cast<int64_t>(split.size()));
    split.push_back(padded[d]);
    result.push_back(padded[d]);
  }
  order.insert(order.end(), rest.begin(), rest.end());
  ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(result));
  ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  ASSIGN_OR_RETURN(Tensor whole,
                   context.AllocateTemp(input.dtype(), padded_shape));
  RETURN_IF_ERROR(FillWithZeros(whole));
  RETURN_IF_ERROR(
      CopyToPattern(context, input,
                    BoxPattern(padded_shape, begin, Dims(padded.size(), 1),
                               input.shape().dims()),
                    whole));
  return CopyTransposed(context, whole, split, order, *output);
}

absl::Status MoveBatchToSpace(OpKernelContext& context, const BlockPlan& plan) {
  const Tensor& input = context.input(0);
  if (input.dim(0) % plan.size() != 0) {
    return SpaceError("Input batch dimension (", input.dim(0),
                      ") is not divisible by product of block sizes (",
                      plan.size(), ")");
  }
  // [block..., batch, places...] to [batch, places, block, ...]
  Dims split = plan.block;
  split.push_back(input.dim(0) / plan.size());
  Dims order = {plan.count()}, whole = {split.back()}, begin = {0};
  Dims result = whole;
  for (int i = 0; i < plan.count(); ++i) {
    const int64_t places = input.dim(i + 1);
    order.push_back(static_cast<int64_t>(split.size()));
    order.push_back(i);
    split.push_back(places);
    int64_t size = 0;
    if (__builtin_mul_overflow(places, plan.block[i], &size)) {
      return SpaceError("the output is too large");
    }
    whole.push_back(size);
    begin.push_back(plan.before[i]);
    if (plan.before[i] > size || plan.behind[i] > size - plan.before[i]) {
      return SpaceError("cropped_shape[", i,
                        "]=", size - plan.before[i] - plan.behind[i],
                        " must be non-negative");
    }
    result.push_back(size - plan.before[i] - plan.behind[i]);
  }
  for (int d = plan.count() + 1; d < input.rank(); ++d) {
    order.push_back(static_cast<int64_t>(split.size()));
    for (Dims* dims : {&split, &whole, &result}) dims->push_back(input.dim(d));
    begin.push_back(0);
  }
  ASSIGN_OR_RETURN(const TensorShape whole_shape, TensorShape::Create(whole));
  ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(result));
  ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
  ASSIGN_OR_RETURN(Tensor uncut,
                   context.AllocateTemp(input.dtype(), whole_shape));
  RETURN_IF_ERROR(CopyTransposed(context, input, split, order, uncut));
  return CopyFromPattern(
      context, uncut,
      BoxPattern(whole_shape, begin, Dims(whole.size(), 1), shape.dims()),
      *output);
}

template <bool kToBatch>
class SpaceBatchKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<SpaceBatchKernel>(construction);
    if (construction.node().num_inputs() < 3) {
      ASSIGN_OR_RETURN(kernel->block_size_,
                       construction.GetAttr<int64_t>("block_size"));
      if (kernel->block_size_ < 2) {
        return SpaceError("Block size should be > 1, but was: ",
                          kernel->block_size_);
      }
    }
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    Dims block(2, block_size_);
    if (block_size_ == 0) {
      if (context.input(1).rank() != 1) {
        return SpaceError("block_shape rank should be 1 instead of ",
                          context.input(1).rank());
      }
      ASSIGN_OR_RETURN(block, IntegersOf(context.input(1)));
    } else if (context.input(0).rank() != 4) {
      return SpaceError("Input rank should be: 4 instead of: ",
                        context.input(0).rank());
    }
    const Tensor& margins = context.input(context.num_inputs() - 1);
    ASSIGN_OR_RETURN(const BlockPlan plan,
                     ReadPlan(context.input(0), std::move(block), margins,
                              kToBatch ? "paddings" : "crops"));
    return kToBatch ? MoveSpaceToBatch(context, plan)
                    : MoveBatchToSpace(context, plan);
  }

 private:
  int64_t block_size_ = 0;  // 0: it is an input
};

// Images of [batch, height, width, channels], or with channels first.
template <bool kToDepth>
class SpaceDepthKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<SpaceDepthKernel>(construction);
    ASSIGN_OR_RETURN(kernel->block_,
                     construction.GetAttr<int64_t>("block_size"));
    if (kernel->block_ < 2) {
      return SpaceError("Block size should be > 1, but was: ", kernel->block_);
    }
    ASSIGN_OR_RETURN(const std::string format,
                     construction.GetAttr<std::string>("data_format"));
    if (format == "NCHW_VECT_C") {
      return absl::UnimplementedError(
          "images of vectors of channels (NCHW_VECT_C) are not supported");
    }
    kernel->channels_first_ = format == "NCHW";
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    if (input.rank() != 4) {
      return SpaceError("Input rank should be: 4 instead of: ", input.rank());
    }
    return kToDepth ? ToDepth(context, input) : ToSpace(context, input);
  }

 private:
  absl::Status ToDepth(OpKernelContext& context, const Tensor& input) const {
    const int first = channels_first_ ? 2 : 1;
    const int64_t height = input.dim(first), width = input.dim(first + 1);
    const int64_t depth = input.dim(channels_first_ ? 1 : 3);
    if (height % block_ != 0 || width % block_ != 0) {
      return SpaceError("Image width ", width, " and height ", height,
                        " should be divisible by block_size: ", block_);
    }
    ASSIGN_OR_RETURN(const int64_t wide, MultiplyByBlock(depth, 2));
    const int64_t batch = input.dim(0), h = height / block_, w = width / block_;
    if (channels_first_) {
      return Move(context, {batch, depth, h, block_, w, block_},
                  {0, 3, 5, 1, 2, 4}, {batch, wide, h, w});
    }
    return Move(context, {batch, h, block_, w, block_, depth},
                {0, 1, 3, 2, 4, 5}, {batch, h, w, wide});
  }

  absl::Status ToSpace(OpKernelContext& context, const Tensor& input) const {
    const int first = channels_first_ ? 2 : 1;
    const int64_t batch = input.dim(0);
    const int64_t h = input.dim(first), w = input.dim(first + 1);
    const int64_t wide = input.dim(channels_first_ ? 1 : 3);
    ASSIGN_OR_RETURN(const int64_t places, MultiplyByBlock(1, 2));
    if (wide % places != 0) {
      return SpaceError("Input depth dimension ", wide,
                        " should be divisible by: ", places);
    }
    ASSIGN_OR_RETURN(const int64_t height, MultiplyByBlock(h, 1));
    ASSIGN_OR_RETURN(const int64_t width, MultiplyByBlock(w, 1));
    const int64_t depth = wide / places;
    if (channels_first_) {
      return Move(context, {batch, block_, block_, depth, h, w},
                  {0, 3, 4, 1, 5, 2}, {batch, depth, height, width});
    }
    return Move(context, {batch, h, w, block_, block_, depth},
                {0, 1, 3, 2, 4, 5}, {batch, height, width, depth});
  }

  absl::StatusOr<int64_t> MultiplyByBlock(int64_t size, int times) const {
    for (int i = 0; i < times; ++i) {
      if (__builtin_mul_overflow(size, block_, &size)) {
        return SpaceError("the output is too large");
      }
    }
    return size;
  }

  static absl::Status Move(OpKernelContext& context, const Dims& split,
                           const Dims& order, const Dims& result) {
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(result));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    return CopyTransposed(context, context.input(0), split, order, *output);
  }

  int64_t block_ = 2;
  bool channels_first_ = false;
};

}  // namespace

void RegisterArraySpaceKernels(KernelRegistry& registry) {
  for (const char* op : {"SpaceToBatch", "SpaceToBatchND"}) {
    registry.Register({.op = op}, SpaceBatchKernel<true>::Make);
  }
  for (const char* op : {"BatchToSpace", "BatchToSpaceND"}) {
    registry.Register({.op = op}, SpaceBatchKernel<false>::Make);
  }
  registry.Register({.op = "SpaceToDepth"}, SpaceDepthKernel<true>::Make);
  registry.Register({.op = "DepthToSpace"}, SpaceDepthKernel<false>::Make);
}

}  // namespace weft
