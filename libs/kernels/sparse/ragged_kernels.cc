// Kernels of ragged tensors, as defined by TensorFlow's Python: values [n, ...]
// and row splits, from the outermost dimension to the innermost. Row splits
// hold the begin and end of each row in the next dimension, the last ones in
// the values.
//
// RaggedTensorToVariant encodes a ragged tensor, or each of its rows, as a
// variant, so that they can pass through datasets and maps;
// RaggedTensorFromVariant stacks them again. RaggedRange makes ranges of
// numbers of different lengths.
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/op_kernel.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/sparse/sparse_tensor.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/variant.h"

namespace weft {
namespace {

template <typename... Parts>
absl::Status InvalidRagged(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// Values that hold objects could nest deeper in each step of a loop, and their
// destructors and writers recurse.
absl::Status CheckValueType(DataType dtype) {
  if (dtype != DT_VARIANT && dtype != DT_RESOURCE) return absl::OkStatus();
  return InvalidRagged("Ragged values of type ", DataTypeName(dtype),
                       " cannot be stored in a variant");
}

// ---- To variants ----

// Row splits [0, ..., rows], which must be sorted.
template <typename T>
absl::Status CheckSplits(const Tensor& splits, int level, int64_t rows) {
  if (splits.rank() != 1 || splits.num_elements() == 0) {
    return InvalidRagged(
        "Ragged splits must be a vector of at least one number; ",
        "rt_nested_splits[", level, "] has shape ", splits.shape().ToString());
  }
  const auto numbers = splits.flat<T>();
  if (numbers.front() != 0 || numbers.back() != rows) {
    return InvalidRagged("Ragged splits must begin with 0 and end with ", rows,
                         ", the number of rows; rt_nested_splits[", level,
                         "] begins with ", numbers.front(), " and ends with ",
                         numbers.back());
  }
  for (size_t i = 1; i < numbers.size(); ++i) {
    if (numbers[i] >= numbers[i - 1]) continue;
    return InvalidRagged("Ragged splits must be in order; rt_nested_splits[",
                         level, "] has ", numbers[i], " after ",
                         numbers[i - 1]);
  }
  return absl::OkStatus();
}

class RaggedTensorToVariant : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<RaggedTensorToVariant>(construction);
    ASSIGN_OR_RETURN(kernel->is_batched_,
                     construction.GetAttr<bool>("batched_input"));
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const int ragged_rank = context.num_inputs() - 1;
    const Tensor& values = context.input(ragged_rank);
    RETURN_IF_ERROR(CheckValueType(values.dtype()));
    if (!is_batched_) {
      std::vector<Tensor> tensors;
      for (int i = 0; i <= ragged_rank; ++i) {
        tensors.push_back(context.input(i));
      }
      ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, {}));
      output->mutable_flat<Variant>()[0] = RaggedVariant(std::move(tensors));
      return absl::OkStatus();
    }
    if (values.rank() == 0) {
      return InvalidRagged(
          "Ragged values must have rank >= 1, but are a scalar");
    }
    if (ragged_rank == 0) return SetRowsOfValues(context, values);
    return DispatchType(
        IndexTypes{}, context.input(0).dtype(),
        [&]<typename T>(TypeTag<T>) { return SetRows<T>(context, values); });
  }

 private:
  static absl::Status SetRowsOfValues(OpKernelContext& context,
                                      const Tensor& values) {
    const int64_t count = values.dim(0);
    ASSIGN_OR_RETURN(const TensorShape shape,
                     TensorShape::Create(values.shape().dims().subspan(1)));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, {count}));
    for (int64_t i = 0; i < count; ++i) {
      ASSIGN_OR_RETURN(const Tensor row,
                       values.SliceRows(i, i + 1, context.allocator()));
      ASSIGN_OR_RETURN(Tensor value, row.Reshaped(shape));
      output->mutable_flat<Variant>()[i] = RaggedVariant({std::move(value)});
    }
    return absl::OkStatus();
  }

  template <typename T>
  static absl::Status SetRows(OpKernelContext& context, const Tensor& values) {
    const int ragged_rank = context.num_inputs() - 1;
    for (int i = ragged_rank - 1; i >= 0; --i) {
      const int64_t rows = i + 1 == ragged_rank
                               ? values.dim(0)
                               : context.input(i + 1).num_elements() - 1;
      RETURN_IF_ERROR(CheckSplits<T>(context.input(i), i, rows));
    }
    const int64_t count = context.input(0).num_elements() - 1;
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, {count}));
    for (int64_t row = 0; row < count; ++row) {
      ASSIGN_OR_RETURN(std::vector<Tensor> tensors,
                       Row<T>(context, values, row));
      output->mutable_flat<Variant>()[row] = RaggedVariant(std::move(tensors));
    }
    return absl::OkStatus();
  }

  // The remaining splits of one row of the outermost dimension, and its values.
  template <typename T>
  static absl::StatusOr<std::vector<Tensor>> Row(OpKernelContext& context,
                                                 const Tensor& values,
                                                 int64_t row) {
    const int ragged_rank = context.num_inputs() - 1;
    const auto outer = context.input(0).flat<T>();
    int64_t begin = outer[row], end = outer[row + 1];
    std::vector<Tensor> tensors;
    for (int i = 1; i < ragged_rank; ++i) {
      const auto splits = context.input(i).flat<T>();
      ASSIGN_OR_RETURN(Tensor own, context.AllocateTemp(DataTypeOf<T>::value,
                                                        {end - begin + 1}));
      T* out = own.mutable_flat<T>().data();
      for (int64_t k = begin; k <= end; ++k) *out++ = splits[k] - splits[begin];
      tensors.push_back(std::move(own));
      const int64_t first = splits[begin];
      end = splits[end];
      begin = first;
    }
    ASSIGN_OR_RETURN(tensors.emplace_back(),
                     values.SliceRows(begin, end, context.allocator()));
    return tensors;
  }

  bool is_batched_ = false;
};

// ---- From variants ----

class RaggedTensorFromVariant : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<RaggedTensorFromVariant>(construction);
    ASSIGN_OR_RETURN(kernel->input_rank_,
                     construction.GetAttr<int64_t>("input_ragged_rank"));
    ASSIGN_OR_RETURN(kernel->output_rank_,
                     construction.GetAttr<int64_t>("output_ragged_rank"));
    ASSIGN_OR_RETURN(kernel->value_type_,
                     construction.GetAttr<DataType>("Tvalues"));
    ASSIGN_OR_RETURN(kernel->split_type_,
                     construction.GetAttr<DataType>("Tsplits"));
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& encoded = context.input(0);
    const int64_t input_rank =
        input_rank_ == -1 ? output_rank_ - encoded.rank() : input_rank_;
    if (input_rank < 0 || output_rank_ != input_rank + encoded.rank()) {
      return InvalidRagged(
          "output_ragged_rank must be equal to input_ragged_rank + "
          "encoded_ragged.dims(); output_ragged_rank: ",
          output_rank_, ", input_ragged_rank: ", input_rank,
          ", encoded_ragged.dims(): ", encoded.rank());
    }
    RETURN_IF_ERROR(CheckValueType(value_type_));
    Parts parts;
    const auto variants = encoded.flat<Variant>();
    for (size_t i = 0; i < variants.size(); ++i) {
      RETURN_IF_ERROR(Check(variants[i], i, input_rank));
      parts.push_back(variants[i].tensors.get());
    }
    if (encoded.rank() == 0) {
      for (int64_t i = 0; i <= output_rank_; ++i) {
        context.SetOutput(static_cast<int>(i), (*parts[0])[i]);
      }
      return absl::OkStatus();
    }
    RETURN_IF_ERROR(
        DispatchType(IndexTypes{}, split_type_, [&]<typename T>(TypeTag<T>) {
          return SetSplits<T>(context, parts, input_rank);
        }));
    return SetValues(context, parts);
  }

 private:
  // The tensors of each variant: splits, then values.
  using Parts = std::vector<const std::vector<Tensor>*>;

  absl::Status Check(const Variant& variant, size_t i, int64_t rank) const {
    if (variant.type_name != kRaggedVariant || variant.tensors == nullptr ||
        variant.tensors->empty()) {
      return InvalidRagged("Input Variant element at index ", i,
                           " doesn't hold a RaggedTensorVariant, but a '",
                           variant.type_name, "'");
    }
    const std::vector<Tensor>& tensors = *variant.tensors;
    const auto found = static_cast<int64_t>(tensors.size()) - 1;
    if (found != rank) {
      return InvalidRagged("Encoded input RaggedTensorVariant has ragged_rank=",
                           found, ".  Expected ragged_rank=", rank, ".");
    }
    const Tensor& values = tensors.back();
    if (values.dtype() != value_type_) {
      return InvalidRagged(
          "Expected values Tensor dtype: ", DataTypeName(value_type_),
          ", found: ", DataTypeName(values.dtype()));
    }
    if (values.rank() < 1) {
      return InvalidRagged(
          "Ragged values must have rank >= 1; encoded scalar element at index ",
          i, " has a scalar");
    }
    for (int64_t k = 0; k < rank; ++k) {
      if (tensors[k].dtype() != split_type_) {
        return InvalidRagged(
            "Expected row_splits Tensor dtype: ", DataTypeName(split_type_),
            ", found: ", DataTypeName(tensors[k].dtype()));
      }
      if (tensors[k].rank() != 1 || tensors[k].num_elements() == 0) {
        return InvalidRagged(
            "Ragged splits must be a vector of at least one number; encoded "
            "scalar element at index ",
            i, " has splits of shape ", tensors[k].shape().ToString());
      }
    }
    return absl::OkStatus();
  }

  // Partial sums, like row splits. INVALID_ARGUMENT if the type overflows.
  template <typename T>
  class Sums {
   public:
    explicit Sums(T* out) : out_(out) { *out_++ = 0; }

    absl::Status Add(int64_t size) {
      if (size < 0 || size > std::numeric_limits<T>::max() - sum_) {
        return InvalidRagged(
            "the rows of ragged tensors are too many together for "
            "row splits of type ",
            DataTypeName(DataTypeOf<T>::value));
      }
      sum_ += static_cast<T>(size);
      *out_++ = sum_;
      return absl::OkStatus();
    }

   private:
    T* out_;
    T sum_ = 0;
  };

  template <typename T>
  absl::Status SetSplits(OpKernelContext& context, const Parts& parts,
                         int64_t input_rank) const {
    const TensorShape& outer = context.input(0).shape();
    int next = 0;
    int64_t rows = outer.dim(0);
    for (int d = 1; d < outer.rank(); ++d, ++next) {
      ASSIGN_OR_RETURN(Tensor * splits,
                       context.AllocateOutput(next, {rows + 1}));
      Sums<T> sums(splits->mutable_flat<T>().data());
      for (int64_t i = 0; i < rows; ++i) {
        RETURN_IF_ERROR(sums.Add(outer.dim(d)));
      }
      rows *= outer.dim(d);
    }
    // The number of rows of each variant.
    ASSIGN_OR_RETURN(Tensor * splits,
                     context.AllocateOutput(next++, {rows + 1}));
    Sums<T> sums(splits->mutable_flat<T>().data());
    for (const auto* tensors : parts) {
      RETURN_IF_ERROR(sums.Add(input_rank == 0
                                   ? tensors->back().dim(0)
                                   : (*tensors)[0].num_elements() - 1));
    }
    for (int64_t k = 0; k < input_rank; ++k) {
      RETURN_IF_ERROR(JoinSplits<T>(context, parts, k, next++));
    }
    return absl::OkStatus();
  }

  // The splits `k` of all variants, concatenated with offsets.
  template <typename T>
  static absl::Status JoinSplits(OpKernelContext& context, const Parts& parts,
                                 int64_t k, int output) {
    int64_t count = 1;
    for (const auto* tensors : parts) count += (*tensors)[k].num_elements() - 1;
    ASSIGN_OR_RETURN(Tensor * splits, context.AllocateOutput(output, {count}));
    Sums<T> sums(splits->mutable_flat<T>().data());
    for (const auto* tensors : parts) {
      const auto own = (*tensors)[k].template flat<T>();
      for (size_t i = 1; i < own.size(); ++i) {
        int64_t size = 0;
        if (__builtin_sub_overflow(int64_t{own[i]}, int64_t{own[i - 1]},
                                   &size)) {
          size = -1;
        }
        if (size < 0) return InvalidRagged("Ragged splits must be in order");
        RETURN_IF_ERROR(sums.Add(size));
      }
    }
    return absl::OkStatus();
  }

  absl::Status SetValues(OpKernelContext& context, const Parts& parts) const {
    Dims dims = {0};
    if (!parts.empty()) {
      const auto first = parts[0]->back().shape().dims();
      dims.assign(first.begin(), first.end());
      dims[0] = 0;
    }
    for (size_t i = 0; i < parts.size(); ++i) {
      const TensorShape& shape = parts[i]->back().shape();
      if (shape.dims().subspan(1) != absl::MakeConstSpan(dims).subspan(1)) {
        return InvalidRagged(
            "Shapes of values must match for all components but for their "
            "first sizes; values shape at index 0: ",
            parts[0]->back().shape().ToString(), ", values shape at index ", i,
            ": ", shape.ToString());
      }
      if (__builtin_add_overflow(dims[0], shape.dim(0), &dims[0])) {
        return InvalidRagged("the values of ragged tensors are too many");
      }
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    ASSIGN_OR_RETURN(
        Tensor * values,
        context.AllocateOutput(static_cast<int>(output_rank_), shape));
    HeapCharge charge(context.host_allocator());
    int64_t at = 0;
    for (const auto* tensors : parts) {
      const Tensor& own = tensors->back();
      RETURN_IF_ERROR(
          CopyElements(charge, own, 0, own.num_elements(), *values, at));
      at += own.num_elements();
    }
    return absl::OkStatus();
  }

  int64_t input_rank_ = 0;
  int64_t output_rank_ = 0;
  DataType value_type_ = DT_INVALID;
  DataType split_type_ = DT_INVALID;
};

// ---- Ranges ----

// The number of elements from `start` up to `limit`.
template <typename T>
absl::StatusOr<int64_t> RangeSize(T start, T limit, T delta) {
  if (delta == 0) return InvalidRagged("Requires delta != 0");
  if ((delta > 0 && limit < start) || (delta < 0 && limit > start)) return 0;
  if constexpr (std::is_integral_v<T>) {
    // Unsigned, so that they do not overflow.
    const auto distance =
        delta > 0 ? static_cast<uint64_t>(limit) - static_cast<uint64_t>(start)
                  : static_cast<uint64_t>(start) - static_cast<uint64_t>(limit);
    const uint64_t step = delta > 0
                              ? static_cast<uint64_t>(delta)
                              : uint64_t{0} - static_cast<uint64_t>(delta);
    const uint64_t size = distance / step + (distance % step != 0);
    if (size <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return static_cast<int64_t>(size);
    }
  } else {
    // Computed in that type, as in TensorFlow: 0.3f / 0.1f is 3.
    const T size = std::ceil(std::abs((limit - start) / delta));
    constexpr T kMost = 9.0e18;
    if (size < kMost) return static_cast<int64_t>(size);
  }
  return InvalidRagged("Requires ((limit - start) / delta) <= ",
                       std::numeric_limits<int64_t>::max());
}

template <typename T>
class RaggedRange : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const int64_t count, CountRows(context));
    std::vector<int64_t> sizes;
    int64_t total = 0;
    for (int64_t row = 0; row < count; ++row) {
      ASSIGN_OR_RETURN(const int64_t size,
                       RangeSize(At(context, 0, row), At(context, 1, row),
                                 At(context, 2, row)));
      if (__builtin_add_overflow(total, size, &total)) {
        return InvalidRagged("the ranges have too many numbers together");
      }
      sizes.push_back(size);
    }
    RETURN_IF_ERROR(DispatchType(IndexTypes{}, context.output_type(0),
                                 [&]<typename S>(TypeTag<S>) {
                                   return SetSplits<S>(context, sizes, total);
                                 }));
    ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(1, {total}));
    T* out = values->mutable_flat<T>().data();
    for (int64_t row = 0; row < count; ++row) {
      T value = At(context, 0, row);
      const T delta = At(context, 2, row);
      for (int64_t i = 0; i < sizes[row]; ++i) {
        *out++ = value;
        // The number after the last one may overflow an integer.
        if (i + 1 < sizes[row]) value += delta;
      }
    }
    return absl::OkStatus();
  }

 private:
  // Each input is a scalar, or has a number for each row.
  static absl::StatusOr<int64_t> CountRows(const OpKernelContext& context) {
    int64_t count = -1;
    constexpr const char* kNames[] = {"starts", "limits", "deltas"};
    for (int i = 0; i < 3; ++i) {
      const TensorShape& shape = context.input(i).shape();
      if (shape.rank() > 1) {
        return InvalidRagged(kNames[i], " must be a scalar or vector");
      }
      if (shape.rank() == 0) continue;
      if (count >= 0 && count != shape.dim(0)) {
        return InvalidRagged(
            "starts, limits, and deltas must have the same shape");
      }
      count = shape.dim(0);
    }
    return count < 0 ? 1 : count;
  }

  static T At(const OpKernelContext& context, int i, int64_t row) {
    const Tensor& input = context.input(i);
    return input.flat<T>()[input.rank() == 0 ? 0 : row];
  }

  template <typename S>
  static absl::Status SetSplits(OpKernelContext& context,
                                absl::Span<const int64_t> sizes,
                                int64_t total) {
    if (total > std::numeric_limits<S>::max()) {
      return InvalidRagged("the ranges have ", total,
                           " numbers, too many for row splits of type ",
                           DataTypeName(DataTypeOf<S>::value));
    }
    const auto count = static_cast<int64_t>(sizes.size());
    ASSIGN_OR_RETURN(Tensor * splits, context.AllocateOutput(0, {count + 1}));
    S* out = splits->mutable_flat<S>().data();
    S sum = 0;
    *out++ = sum;
    for (const int64_t size : sizes) {
      sum += static_cast<S>(size);
      *out++ = sum;
    }
    return absl::OkStatus();
  }
};

template <typename T>
void RegisterRange(KernelRegistry& registry) {
  registry.Register<RaggedRange<T>>("RaggedRange",
                                    {{"T", {DataTypeOf<T>::value}}});
}

}  // namespace

void RegisterRaggedKernels(KernelRegistry& registry) {
  registry.Register({.op = "RaggedTensorToVariant"},
                    RaggedTensorToVariant::Make);
  registry.Register({.op = "RaggedTensorFromVariant"},
                    RaggedTensorFromVariant::Make);
  RegisterRange<float>(registry);
  RegisterRange<double>(registry);
  RegisterRange<int32_t>(registry);
  RegisterRange<int64_t>(registry);
}

}  // namespace weft
