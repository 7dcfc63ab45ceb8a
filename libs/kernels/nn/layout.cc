#include "libs/kernels/nn/layout.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/elements.h"
#include "libs/kernels/common/parallel_loop.h"

namespace weft {
namespace {

// Transposes [batch, rows, columns] to [batch, columns, rows], in blocks that
// fit into the first-level cache.
template <typename E>
void TransposeMatrices(OpKernelContext& context, int64_t batch, int64_t rows,
                       int64_t columns, const E* in, E* out) {
  constexpr int64_t kBlock = 32;
  const int64_t bands = (rows + kBlock - 1) / kBlock;
  const auto transpose = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const E* const from = in + i / bands * rows * columns;
      E* const to = out + i / bands * rows * columns;
      const int64_t top = i % bands * kBlock;
      const int64_t bottom = std::min(top + kBlock, rows);
      for (int64_t left = 0; left < columns; left += kBlock) {
        const int64_t right = std::min(left + kBlock, columns);
        for (int64_t x = left; x < right; ++x) {
          for (int64_t y = top; y < bottom; ++y) {
            to[x * rows + y] = from[y * columns + x];
          }
        }
      }
    }
  };
  ParallelLoop(context, batch * bands, kBlock * columns, transpose);
}

// `tensor` is a matrix with `rows` rows for each element of its batch; `dims`
// is the shape of the result.
absl::StatusOr<Tensor> Transposed(OpKernelContext& context,
                                  const Tensor& tensor, int64_t rows,
                                  const Dims& dims) {
  ASSIGN_OR_RETURN(
      Tensor result,
      context.AllocateTemp(tensor.dtype(), TensorShape(absl::MakeSpan(dims))));
  if (tensor.num_elements() == 0) return result;
  const int64_t batch = tensor.dim(0);
  RETURN_IF_ERROR(DispatchElement(tensor.dtype(), [&]<typename E>(TypeTag<E>) {
    TransposeMatrices(context, batch, rows,
                      tensor.num_elements() / batch / rows, Elements<E>(tensor),
                      MutableElements<E>(result));
    return absl::OkStatus();
  }));
  return result;
}

// Moves channels from second to last. Tensors other than images are unchanged,
// because the kernel rejects them.
absl::StatusOr<Tensor> ToChannelsLast(OpKernelContext& context,
                                      const Tensor& image) {
  if (image.rank() < 3) return image;
  Dims dims(image.shape().dims().begin(), image.shape().dims().end());
  std::rotate(dims.begin() + 1, dims.begin() + 2, dims.end());
  return Transposed(context, image, image.dim(1), dims);
}

absl::StatusOr<Tensor> ToChannelsFirst(OpKernelContext& context,
                                       const Tensor& image) {
  if (image.rank() < 3) return image;
  Dims dims(image.shape().dims().begin(), image.shape().dims().end());
  const int64_t channels = dims.back();
  std::rotate(dims.begin() + 1, dims.end() - 1, dims.end());
  const int64_t pixels = image.num_elements() == 0
                             ? 0
                             : image.num_elements() / image.dim(0) / channels;
  return Transposed(context, image, pixels, dims);
}

// The same for a vector of an image's sizes.
absl::StatusOr<Tensor> ShapeToChannelsLast(OpKernelContext& context,
                                           const Tensor& shape) {
  if (!shape.shape().IsVector() || shape.num_elements() < 3) return shape;
  ASSIGN_OR_RETURN(Tensor result, shape.DeepCopy(context.allocator()));
  auto sizes = result.mutable_flat<int32_t>();
  std::rotate(sizes.begin() + 1, sizes.begin() + 2, sizes.end());
  return result;
}

bool Contains(const std::vector<int>& list, int i) {
  return std::find(list.begin(), list.end(), i) != list.end();
}

// Runs a kernel for channels last on images with channels first.
class ChannelsFirstKernel : public OpKernel {
 public:
  ChannelsFirstKernel(const OpKernelConstruction& construction,
                      ImageArguments images, std::unique_ptr<OpKernel> kernel)
      : OpKernel(construction),
        images_(std::move(images)),
        kernel_(std::move(kernel)) {}

  absl::Status Compute(OpKernelContext& context) override {
    std::vector<Slot> inputs(context.num_inputs());
    std::vector<Slot> outputs(context.num_outputs());
    for (int i = 0; i < context.num_inputs(); ++i) {
      ASSIGN_OR_RETURN(inputs[i].tensor, InputFor(context, i));
    }
    RETURN_IF_ERROR(RunKernel(context, inputs, outputs));
    for (int i = 0; i < context.num_outputs(); ++i) {
      if (!context.output_required(i)) continue;
      Tensor output = std::move(outputs[i].tensor);
      if (Contains(images_.outputs, i)) {
        ASSIGN_OR_RETURN(output, ToChannelsFirst(context, output));
      }
      context.SetOutput(i, std::move(output));
    }
    return absl::OkStatus();
  }

 private:
  absl::StatusOr<Tensor> InputFor(OpKernelContext& context, int i) const {
    const Tensor& input = context.input(i);
    if (Contains(images_.inputs, i)) return ToChannelsLast(context, input);
    if (Contains(images_.shapes, i)) return ShapeToChannelsLast(context, input);
    return input;
  }

  absl::Status RunKernel(OpKernelContext& context, std::vector<Slot>& inputs,
                         std::vector<Slot>& outputs) const {
    // The part of a step that such kernels use.
    StepContext step;
    step.step_id = context.step_id();
    step.cancellation = &context.mutable_cancellation();
    step.scheduler = &context.scheduler();
    step.device = &context.device();
    step.allocator = &context.allocator();
    DataTypeVector types;
    for (int i = 0; i < context.num_outputs(); ++i) {
      types.push_back(context.output_type(i));
    }
    OpKernelContext::NodeView node = {context.node_name(), context.op_name(),
                                      types};
    for (int i = 0; i < std::min(context.num_outputs(), 64); ++i) {
      if (!context.output_required(i)) {
        node.outputs_not_required |= uint64_t{1} << i;
      }
    }
    OpKernelContext inner(step, node, absl::MakeSpan(inputs),
                          absl::MakeSpan(outputs), context.loop_position());
    const absl::Status status = kernel_->Compute(inner);
    if (!absl::IsInvalidArgument(status)) return status;
    return absl::InvalidArgumentError(
        absl::StrCat(status.message(), " (with channels last)"));
  }

  const ImageArguments images_;
  const std::unique_ptr<OpKernel> kernel_;
};

}  // namespace

absl::StatusOr<bool> HasChannelsFirst(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(const std::string format,
                   construction.GetAttr<std::string>("data_format"));
  if (format == "NCHW" || format == "NCDHW") return true;
  if (format == "NHWC" || format == "NDHWC") return false;
  return absl::UnimplementedError(
      absl::StrCat("the CPU kernel of ", construction.node().type(),
                   " supports data_format NHWC or NCHW, not ", format));
}

ImageArguments ImagesOfConvolution(absl::string_view op) {
  if (absl::EndsWith(op, "BackpropFilter")) return {{0, 2}, {}, {}};
  if (absl::EndsWith(op, "BackpropInput")) return {{2}, {0}, {0}};
  return {{0}, {}, {0}};
}

KernelFactory InAnyLayout(ImageArguments images, KernelFactory factory) {
  return [images = std::move(images), factory = std::move(factory)](
             const OpKernelConstruction& construction)
             -> absl::StatusOr<std::unique_ptr<OpKernel>> {
    ASSIGN_OR_RETURN(const bool channels_first, HasChannelsFirst(construction));
    ASSIGN_OR_RETURN(std::unique_ptr<OpKernel> kernel, factory(construction));
    if (!channels_first) return kernel;
    return std::make_unique<ChannelsFirstKernel>(construction, images,
                                                 std::move(kernel));
  };
}

}  // namespace weft
