// Kernels that pad tensors: Pad, PadV2, MirrorPad; and the gradient of
// MirrorPad.
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/elements.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

struct Paddings {
  Dims before;
  Dims after;
};

absl::StatusOr<Paddings> ReadPaddings(OpKernelContext& context) {
  const Tensor& input = context.input(0);
  const Tensor& paddings = context.input(1);
  if (paddings.rank() != 2 || paddings.dim(1) != 2) {
    return absl::InvalidArgumentError(
        absl::StrCat("paddings must be a matrix with 2 columns: ",
                     paddings.shape().ToString()));
  }
  if (paddings.dim(0) != input.rank()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "The first dimension of paddings must be the rank of inputs",
        paddings.shape().ToString(), " ", input.shape().ToString()));
  }
  ASSIGN_OR_RETURN(Dims values, IntegersOf(paddings));
  Paddings result;
  for (size_t i = 0; i < values.size(); i += 2) {
    if (values[i] < 0 || values[i + 1] < 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Paddings must be non-negative: ", values[i], " ", values[i + 1]));
    }
    result.before.push_back(values[i]);
    result.after.push_back(values[i + 1]);
  }
  return result;
}

absl::StatusOr<TensorShape> PaddedShape(const TensorShape& input,
                                        const Paddings& paddings) {
  Dims dims;
  for (int i = 0; i < input.rank(); ++i) {
    int64_t size;
    if (__builtin_add_overflow(input.dim(i), paddings.before[i], &size) ||
        __builtin_add_overflow(size, paddings.after[i], &size)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Padding dimension ", i, " overflows its size"));
    }
    dims.push_back(size);
  }
  return TensorShape::Create(dims);
}

// The kernel of Pad and PadV2. The third input of PadV2 is the value of the
// padding.
class PadKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(Paddings paddings, ReadPaddings(context));
    ASSIGN_OR_RETURN(TensorShape shape, PaddedShape(input.shape(), paddings));
    if (context.num_inputs() == 3 && context.input(2).num_elements() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("constant_values must be a scalar. Found shape ",
                       context.input(2).shape().ToString()));
    }
    if (shape == input.shape()) {
      context.SetOutput(0, context.TakeInput(0));
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    RETURN_IF_ERROR(context.num_inputs() == 3
                        ? FillWithValue(context, context.input(2), *output)
                        : FillWithZeros(*output));
    ElementPattern pattern;
    pattern.dims.assign(input.shape().dims().begin(),
                        input.shape().dims().end());
    pattern.strides = PackedStrides(shape.dims());
    for (int i = 0; i < input.rank(); ++i) {
      pattern.offset += paddings.before[i] * pattern.strides[i];
    }
    return CopyToPattern(context, input, pattern, *output);
  }
};

// For each dimension of the padded tensor, the offset of the mirrored position
// in the inner tensor, in elements.
using MirrorTables = std::vector<std::vector<int64_t>>;

// Returns the tables. `edge` is 1 if the outermost element is not repeated
// (REFLECT), otherwise 0.
MirrorTables MakeMirrorTables(const TensorShape& inner,
                              const Paddings& paddings, int64_t edge) {
  const Dims strides = PackedStrides(inner.dims());
  MirrorTables tables(inner.rank());
  for (int d = 0; d < inner.rank(); ++d) {
    const int64_t size = inner.dim(d);
    const int64_t end = size + paddings.after[d];
    for (int64_t i = -paddings.before[d]; i < end; ++i) {
      int64_t shown = i;
      if (i < 0) shown = -i - 1 + edge;
      if (i >= size) shown = 2 * size - 1 - edge - i;
      tables[d].push_back(shown * strides[d]);
    }
  }
  return tables;
}

// Charges the tables for a tensor of shape `padded`, which are vectors.
absl::Status ChargeTables(HeapCharge& charge, const TensorShape& padded) {
  for (const int64_t size : padded.dims()) {
    RETURN_IF_ERROR(charge.AddObjects(size, 2 * sizeof(int64_t)));
  }
  return absl::OkStatus();
}

// Calls `fn(k, place)` for each element k of the padded tensor, in order, with
// the position of the element it mirrors.
template <typename Fn>
void ForEachMirrored(const MirrorTables& tables, int d, int64_t place,
                     int64_t& k, const Fn& fn) {
  if (d == static_cast<int>(tables.size())) {
    fn(k++, place);
    return;
  }
  for (int64_t offset : tables[d]) {
    ForEachMirrored(tables, d + 1, place + offset, k, fn);
  }
}

// Charges the strings of the padded tensor.
absl::Status ChargeMirrored(HeapCharge& charge, const Tensor& input,
                            const MirrorTables& tables) {
  if (input.dtype() != DT_STRING) return absl::OkStatus();
  const auto strings = input.flat<std::string>();
  size_t bytes = 0;
  int64_t k = 0;
  ForEachMirrored(tables, 0, 0, k, [&](int64_t, int64_t place) {
    bytes += HeapCharge::BytesOfString(strings[place].size());
  });
  return charge.Add(bytes);
}

absl::StatusOr<int64_t> ReadMode(const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(std::string mode, construction.GetAttr<std::string>("mode"));
  if (mode == "REFLECT") return 1;
  if (mode == "SYMMETRIC") return 0;
  return absl::InvalidArgumentError(
      absl::StrCat("mode must be either REFLECT or SYMMETRIC, but is ", mode));
}

absl::Status CheckMirror(const TensorShape& inner, const Paddings& paddings,
                         int64_t edge) {
  for (int i = 0; i < inner.rank(); ++i) {
    const int64_t before = paddings.before[i], after = paddings.after[i];
    if (before <= inner.dim(i) - edge && after <= inner.dim(i) - edge) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        edge == 1 ? "paddings must be less than the dimension size: "
                  : "paddings must be no greater than the dimension size: ",
        before, ", ", after, edge == 1 ? " not less than " : " greater than ",
        inner.dim(i)));
  }
  return absl::OkStatus();
}

template <typename Kernel>
absl::StatusOr<std::unique_ptr<OpKernel>> CreateWithMode(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(int64_t edge, ReadMode(construction));
  return std::make_unique<Kernel>(construction, edge);
}

class MirrorPadKernel : public OpKernel {
 public:
  MirrorPadKernel(const OpKernelConstruction& construction, int64_t edge)
      : OpKernel(construction), edge_(edge) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(Paddings paddings, ReadPaddings(context));
    ASSIGN_OR_RETURN(TensorShape shape, PaddedShape(input.shape(), paddings));
    RETURN_IF_ERROR(CheckMirror(input.shape(), paddings, edge_));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeTables(charge, shape));
    const MirrorTables tables =
        MakeMirrorTables(input.shape(), paddings, edge_);
    RETURN_IF_ERROR(ChargeMirrored(charge, input, tables));
    return DispatchElement(input.dtype(), [&]<typename E>(TypeTag<E>) {
      const E* in = Elements<E>(input);
      E* out = MutableElements<E>(*output);
      int64_t k = 0;
      ForEachMirrored(tables, 0, 0, k,
                      [&](int64_t i, int64_t place) { out[i] = in[place]; });
      return absl::OkStatus();
    });
  }

 private:
  const int64_t edge_;
};

// Adds each element of the gradient to its source position.
class MirrorPadGradKernel : public OpKernel {
 public:
  MirrorPadGradKernel(const OpKernelConstruction& construction, int64_t edge)
      : OpKernel(construction), edge_(edge) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(Paddings paddings, ReadPaddings(context));
    Dims dims;
    for (int i = 0; i < input.rank(); ++i) {
      const int64_t rest = input.dim(i) - paddings.before[i];
      if (rest < 0 || paddings.after[i] > rest) {
        return absl::InvalidArgumentError(absl::StrCat(
            "paddings of dimension ", i, " exceed its size ", input.dim(i)));
      }
      dims.push_back(rest - paddings.after[i]);
    }
    const TensorShape inner(dims);
    RETURN_IF_ERROR(CheckMirror(inner, paddings, edge_));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, inner));
    RETURN_IF_ERROR(FillWithZeros(*output));
    if (input.num_elements() == 0) return absl::OkStatus();
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeTables(charge, input.shape()));
    const MirrorTables tables = MakeMirrorTables(inner, paddings, edge_);
    return DispatchType(Numbers{}, input.dtype(), [&]<typename T>(TypeTag<T>) {
      const T* in = input.flat<T>().data();
      T* out = output->mutable_flat<T>().data();
      int64_t k = 0;
      ForEachMirrored(tables, 0, 0, k, [&](int64_t i, int64_t place) {
        out[place] = AddElements(out[place], in[i]);
      });
      return absl::OkStatus();
    });
  }

 private:
  const int64_t edge_;
};

}  // namespace

void RegisterArrayPadKernels(KernelRegistry& registry) {
  registry.Register<PadKernel>("Pad");
  registry.Register<PadKernel>("PadV2");
  registry.Register({.op = "MirrorPad", .types = {}},
                    CreateWithMode<MirrorPadKernel>);
  registry.Register(
      {.op = "MirrorPadGrad", .types = {{"T", DataTypesOf(Numbers{})}}},
      CreateWithMode<MirrorPadGradKernel>);
}

}  // namespace weft
