#include "libs/kernels/nn/windows.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/isa/narrow_loops.h"
#include "libs/kernels/nn/layout.h"

namespace weft {
namespace {

// Sizes that fit are small, so nothing below overflows.
constexpr int64_t kMaxSize = int64_t{1} << 31;

absl::Status ReadList(const OpKernelConstruction& construction,
                      absl::string_view name, size_t size,
                      std::vector<int64_t>& list) {
  const auto* value = construction.node().attr<std::vector<int64_t>>(name);
  if (value == nullptr) return absl::OkStatus();
  if (value->size() != size) {
    return absl::InvalidArgumentError(
        absl::StrCat("attr ", name, " must specify ", size, " numbers, not ",
                     value->size()));
  }
  list = *value;
  return absl::OkStatus();
}

// Reorders from "NCHW" to "NHWC"; each dimension has `size` numbers.
void MoveChannelsLast(std::vector<int64_t>& list, int64_t size) {
  if (list.empty()) return;
  std::rotate(list.begin() + size, list.begin() + 2 * size, list.end());
}

// Checks strides, dilations or window sizes.
absl::Status CheckSteps(const std::vector<int64_t>& steps,
                        absl::string_view what) {
  for (int64_t step : steps) {
    if (step > 0 && step < kMaxSize) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(what, " must be positive, not ", step));
  }
  return absl::OkStatus();
}

// With TensorFlow's text. `what` is strides or dilations.
absl::Status CheckSpatial(const std::vector<int64_t>& steps,
                          absl::string_view what) {
  if (steps[0] == 1 && steps[3] == 1) return absl::OkStatus();
  return absl::UnimplementedError(
      absl::StrCat("Current implementation does not yet support ", what,
                   " in the batch and depth dimensions."));
}

// For a padding other than "EXPLICIT". With TensorFlow's text.
absl::Status CheckNoPaddings(const OpKernelConstruction& construction) {
  const auto* paddings =
      construction.node().attr<std::vector<int64_t>>("explicit_paddings");
  if (paddings == nullptr || paddings->empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "explicit_paddings attribute must be empty if the padding attribute is "
      "not EXPLICIT");
}

// Checks paddings before and after each dimension. Nonzero ones of batches and
// channels are rejected with TensorFlow's texts.
absl::Status CheckPaddings(const std::vector<int64_t>& paddings) {
  for (int64_t pad : paddings) {
    if (pad >= 0 && pad < kMaxSize) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "explicit paddings must not be negative, but one is ", pad));
  }
  for (const size_t i : {0, 1, 6, 7}) {
    if (paddings[i] == 0) continue;
    return absl::InvalidArgumentError(
        "Nonzero explicit padding in the batch or depth dimensions is not "
        "supported");
  }
  return absl::OkStatus();
}

// Returns an error, with TensorFlow's text, if a window could consist of
// padding only, because such a window has no maximum.
absl::Status CheckPaddingsOfPool(const std::vector<int64_t>& paddings,
                                 const std::vector<int64_t>& ksize) {
  constexpr const char* kSides[] = {"Top", "Bottom", "Left", "Right"};
  for (size_t side = 0; side < 4; ++side) {
    const int64_t pad = paddings[2 + side], size = ksize[1 + side / 2];
    if (pad < size) continue;
    return absl::InvalidArgumentError(
        absl::StrCat(kSides[side], " padding ", pad,
                     " needs to be smaller than the window size ", size));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<WindowAttrs> WindowAttrs::Read(
    const OpKernelConstruction& construction) {
  WindowAttrs attrs;
  ASSIGN_OR_RETURN(const bool channels_first, HasChannelsFirst(construction));
  RETURN_IF_ERROR(ReadList(construction, "ksize", 4, attrs.ksize_));
  RETURN_IF_ERROR(ReadList(construction, "strides", 4, attrs.strides_));
  RETURN_IF_ERROR(ReadList(construction, "dilations", 4, attrs.dilations_));
  if (channels_first) {
    MoveChannelsLast(attrs.ksize_, 1);
    MoveChannelsLast(attrs.strides_, 1);
    MoveChannelsLast(attrs.dilations_, 1);
  }
  RETURN_IF_ERROR(CheckSteps(attrs.ksize_, "Sliding windows"));
  RETURN_IF_ERROR(CheckSteps(attrs.strides_, "Strides"));
  RETURN_IF_ERROR(CheckSteps(attrs.dilations_, "Dilations"));
  ASSIGN_OR_RETURN(attrs.padding_,
                   construction.GetAttr<std::string>("padding"));
  if (attrs.padding_ != "EXPLICIT") {
    RETURN_IF_ERROR(CheckNoPaddings(construction));
    return attrs;
  }
  RETURN_IF_ERROR(
      ReadList(construction, "explicit_paddings", 8, attrs.explicit_paddings_));
  if (channels_first) MoveChannelsLast(attrs.explicit_paddings_, 2);
  RETURN_IF_ERROR(CheckPaddings(attrs.explicit_paddings_));
  return attrs;
}

absl::StatusOr<WindowAttrs> WindowAttrs::ReadConvolution(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(WindowAttrs attrs, Read(construction));
  RETURN_IF_ERROR(CheckSpatial(attrs.strides_, "strides"));
  RETURN_IF_ERROR(CheckSpatial(attrs.dilations_, "dilations"));
  return attrs;
}

absl::StatusOr<WindowAttrs> WindowAttrs::ReadPool(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(WindowAttrs attrs, Read(construction));
  if (attrs.padding_ == "EXPLICIT") {
    RETURN_IF_ERROR(
        CheckPaddingsOfPool(attrs.explicit_paddings_, attrs.ksize_));
  }
  if (attrs.ksize_[0] == 1 && attrs.strides_[0] == 1) return attrs;
  return absl::UnimplementedError(
      "Pooling is not yet supported on the batch dimension.");
}

absl::StatusOr<WindowDim> WindowAttrs::Dim(int dim, int64_t in,
                                           int64_t size) const {
  if (in < 0 || in >= kMaxSize || size < 1 || size >= kMaxSize) {
    return absl::InvalidArgumentError(absl::StrCat("an image of size ", in,
                                                   " under windows of ", size,
                                                   " is not possible"));
  }
  WindowDim result;
  result.in = in;
  result.size = size;
  result.stride = strides_[dim];
  result.dilation = dilations_[dim];
  const int64_t reach = (size - 1) * result.dilation + 1;
  if (padding_ == "SAME") {
    result.out = (in + result.stride - 1) / result.stride;
    const int64_t padding =
        std::max<int64_t>((result.out - 1) * result.stride + reach - in, 0);
    result.pad = padding / 2;
    return result;
  }
  int64_t after = 0;
  if (padding_ == "EXPLICIT") {
    const size_t before = 2 * static_cast<size_t>(dim);
    result.pad = explicit_paddings_[before];
    after = explicit_paddings_[before + 1];
  }
  const int64_t room = in + result.pad + after - reach + result.stride;
  if (room < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Computed output size would be negative: ", room / result.stride,
        " [input_size: ", in, ", effective_filter_size: ", reach,
        ", stride: ", result.stride, "]"));
  }
  result.out = room / result.stride;
  return result;
}

absl::Status CheckImages(const Tensor& tensor, absl::string_view what) {
  if (tensor.rank() == 4) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, " must be 4-dimensional", tensor.shape().ToString()));
}

absl::Status CheckImageAndFilter(const TensorShape& image,
                                 const TensorShape& filter) {
  if (image.rank() == 4 && filter.rank() == 4) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input and filter must be 4-dimensional, but have shapes ",
                   image.ToString(), " and ", filter.ToString()));
}

absl::Status CheckDepthOfFilter(int64_t channels, const TensorShape& filter) {
  if (channels == filter.dim(2)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("input and filter must have the same depth: ", channels,
                   " vs ", filter.dim(2)));
}

absl::Status CheckOutBackprop(const Tensor& gradient,
                              const TensorShape& output) {
  if (gradient.shape() == output) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "out_backprop must have the shape of the output, ", output.ToString(),
      ", but has ", gradient.shape().ToString()));
}

absl::StatusOr<TensorShape> ShapeOfInput(const OpKernelContext& context,
                                         int i) {
  const Tensor& input = context.input(i);
  if (!input.shape().IsVector() || input.num_elements() != 4) {
    return absl::InvalidArgumentError(
        absl::StrCat("input ", i, " must be a vector of 4 sizes, not ",
                     input.shape().ToString()));
  }
  const auto sizes = input.flat<int32_t>();
  return TensorShape::Create(Dims(sizes.begin(), sizes.end()));
}

absl::StatusOr<Tensor> WidenToFloat(OpKernelContext& context,
                                    const Tensor& tensor) {
  ASSIGN_OR_RETURN(Tensor floats,
                   context.AllocateTemp(DT_FLOAT, tensor.shape()));
  RETURN_IF_ERROR(
      DispatchType(NarrowTypes{}, tensor.dtype(), [&]<typename T>(TypeTag<T>) {
        const T* const from = tensor.flat<T>().data();
        float* const to = floats.mutable_flat<float>().data();
        ParallelLoop(
            context, tensor.num_elements(), 1, [&](int64_t begin, int64_t end) {
              BestNarrowLoops<T>().widen(from + begin, to + begin, end - begin);
            });
        return absl::OkStatus();
      }));
  return floats;
}

absl::Status NarrowFromFloat(OpKernelContext& context, int i,
                             const Tensor& floats) {
  ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(i, floats.shape()));
  return DispatchType(
      NarrowTypes{}, output->dtype(), [&]<typename T>(TypeTag<T>) {
        const float* const from = floats.flat<float>().data();
        T* const to = output->mutable_flat<T>().data();
        ParallelLoop(context, floats.num_elements(), 1,
                     [&](int64_t begin, int64_t end) {
                       BestNarrowLoops<T>().narrow(from + begin, to + begin,
                                                   end - begin);
                     });
        return absl::OkStatus();
      });
}

}  // namespace weft
