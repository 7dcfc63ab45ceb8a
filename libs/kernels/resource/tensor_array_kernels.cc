// Kernels of TensorArrays: arrays of tensors that live as long as a step. The
// three versions of their ops differ in their handles, and the first has two
// ops on all elements, Pack and Unpack.
#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/kernels/math/tensor_sum.h"
#include "libs/kernels/resource/resource_kernels.h"
#include "libs/kernels/resource/resource_lookup.h"
#include "libs/resource/tensor_array.h"

namespace weft {
namespace {

absl::Status WriteElement(TensorArray& array, int64_t index, Tensor value) {
  return array.Write(index, std::move(value),
                     [](Tensor& sum, const Tensor& added) -> absl::Status {
                       RETURN_IF_ERROR(MakeWritable(sum));
                       return AddRange(sum, 0, added, 0, added.num_elements());
                     });
}

// `what` is for the error's text.
absl::StatusOr<int64_t> IntegerOf(absl::string_view what,
                                  const Tensor& integer) {
  if (integer.shape().IsScalar()) return integer.scalar<int32_t>();
  return absl::InvalidArgumentError(absl::StrCat(
      "TensorArray ", what,
      " must be scalar, but had shape: ", integer.shape().ToString()));
}

absl::Status CheckType(const TensorArray& array, DataType wanted) {
  if (array.dtype() == wanted) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("TensorArray dtype is ", DataTypeName(array.dtype()),
                   " but op has dtype ", DataTypeName(wanted), "."));
}

class TensorArrayKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<TensorArrayKernel>(construction);
    TensorArrayOptions& options = kernel->options_;
    ASSIGN_OR_RETURN(options.dtype, construction.GetAttr<DataType>("dtype"));
    ASSIGN_OR_RETURN(options.element_shape,
                     construction.GetAttr<PartialShape>("element_shape"));
    ASSIGN_OR_RETURN(options.dynamic_size,
                     construction.GetAttr<bool>("dynamic_size"));
    ASSIGN_OR_RETURN(options.clear_after_read,
                     construction.GetAttr<bool>("clear_after_read"));
    // Older versions have no such attr.
    options.identical_element_shapes =
        construction.GetAttr<bool>("identical_element_shapes").value_or(false);
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const int64_t size, IntegerOf("size", context.input(0)));
    if (size < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Size should be >= 0, but is ", size));
    }
    TensorArrayOptions options = options_;
    options.size = size;
    const std::string name =
        absl::StrCat(context.node_name(), "_", count_.fetch_add(1));
    RETURN_IF_ERROR(context.step_resources().LookupOrCreate<TensorArray>(
        context.cancellation(), "", name,
        [&]() -> absl::StatusOr<std::shared_ptr<TensorArray>> {
          return std::make_shared<TensorArray>(name, std::move(options));
        }));
    RETURN_IF_ERROR(SetStepHandle(context, name, TensorArray::kTypeName));
    if (context.num_outputs() > 1) context.SetOutput(1, Tensor::Scalar(0.0f));
    return absl::OkStatus();
  }

 private:
  TensorArrayOptions options_;
  std::atomic<int64_t> count_{0};
};

// The array of gradients is one for each source, whoever asks first.
class TensorArrayGradKernel : public OpKernel {
 public:
  explicit TensorArrayGradKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        source_(construction.GetAttr<std::string>("source").value_or("")) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto array, FindStepResource<TensorArray>(context, 0));
    const std::string name = absl::StrCat(array->name(), "@", source_);
    RETURN_IF_ERROR(context.step_resources().LookupOrCreate<TensorArray>(
        context.cancellation(), "", name,
        [&] { return array->NewGradients(name); }));
    RETURN_IF_ERROR(SetStepHandle(context, name, TensorArray::kTypeName));
    if (context.num_outputs() > 1) context.SetOutput(1, context.input(1));
    return absl::OkStatus();
  }

 private:
  const std::string source_;
};

class WriteKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto array, FindStepResource<TensorArray>(context, 0));
    ASSIGN_OR_RETURN(const int64_t index, IntegerOf("index", context.input(1)));
    RETURN_IF_ERROR(WriteElement(*array, index, context.TakeInput(2)));
    context.SetOutput(0, context.input(3));
    return absl::OkStatus();
  }
};

class ReadKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto array, FindStepResource<TensorArray>(context, 0));
    RETURN_IF_ERROR(CheckType(*array, context.output_type(0)));
    ASSIGN_OR_RETURN(const int64_t index, IntegerOf("index", context.input(1)));
    ASSIGN_OR_RETURN(Tensor value, array->Read(index, context.allocator()));
    context.SetOutput(0, std::move(value));
    return absl::OkStatus();
  }
};

absl::StatusOr<TensorShape> WithFirst(int64_t size, const TensorShape& shape) {
  Dims dims = {size};
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return TensorShape::Create(dims);
}

// The elements named, or all of them (Pack), as the rows of one tensor.
class GatherKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<GatherKernel>(construction);
    ASSIGN_OR_RETURN(kernel->element_shape_,
                     construction.GetAttr<PartialShape>("element_shape"));
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto array, FindStepResource<TensorArray>(context, 0));
    RETURN_IF_ERROR(CheckType(*array, context.output_type(0)));
    ASSIGN_OR_RETURN(const std::vector<Tensor> values,
                     context.num_inputs() == 2 ? ReadAll(context, *array)
                                               : ReadSome(context, *array));
    ASSIGN_OR_RETURN(const TensorShape row, RowShape(*array, values));
    return Stack(context, values, row);
  }

 private:
  static absl::StatusOr<std::vector<Tensor>> ReadSome(
      const OpKernelContext& context, TensorArray& array) {
    const Tensor& indices = context.input(1);
    if (!indices.shape().IsVector()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected indices to be a vector, but received shape: ",
                       indices.shape().ToString()));
    }
    std::vector<Tensor> values;
    for (int32_t index : indices.flat<int32_t>()) {
      ASSIGN_OR_RETURN(Tensor value, array.Read(index, context.allocator()));
      values.push_back(std::move(value));
    }
    return values;
  }

  static absl::StatusOr<std::vector<Tensor>> ReadAll(
      const OpKernelContext& context, TensorArray& array) {
    ASSIGN_OR_RETURN(const int64_t size, array.Size());
    std::vector<Tensor> values;
    for (int64_t i = 0; i < size; ++i) {
      ASSIGN_OR_RETURN(Tensor value, array.Read(i, context.allocator()));
      values.push_back(std::move(value));
    }
    return values;
  }

  absl::StatusOr<TensorShape> RowShape(
      const TensorArray& array, const std::vector<Tensor>& values) const {
    if (values.empty()) {
      ASSIGN_OR_RETURN(const PartialShape known,
                       element_shape_.MergeWith(array.element_shape()));
      if (known.IsFullyDefined()) return known.ToShape();
      return absl::UnimplementedError(absl::StrCat(
          "TensorArray has size zero, but element shape ", known.ToString(),
          " is not fully defined. Currently only static shapes are supported "
          "when packing zero-size TensorArrays."));
    }
    if (!element_shape_.IsCompatibleWith(values[0].shape())) {
      return absl::InvalidArgumentError(absl::StrCat(
          "TensorArray was passed element_shape ", element_shape_.ToString(),
          " which does not match the Tensor at index 0: ",
          values[0].shape().ToString()));
    }
    for (size_t i = 1; i < values.size(); ++i) {
      if (values[i].shape() == values[0].shape()) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "TensorArray has inconsistent shapes.  Index 0 has shape: ",
          values[0].shape().ToString(), " but index ", i,
          " has shape: ", values[i].shape().ToString()));
    }
    return values[0].shape();
  }

  static absl::Status Stack(OpKernelContext& context,
                            const std::vector<Tensor>& values,
                            const TensorShape& row) {
    ASSIGN_OR_RETURN(const TensorShape shape,
                     WithFirst(static_cast<int64_t>(values.size()), row));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    for (size_t i = 0; i < values.size(); ++i) {
      CopyElements(values[i], 0, row.num_elements(), *output,
                   static_cast<int64_t>(i) * row.num_elements());
    }
    return absl::OkStatus();
  }

  PartialShape element_shape_;
};

// Rows [begin, end) of a tensor, in memory of their own.
absl::StatusOr<Tensor> CopyRows(const Tensor& tensor, int64_t begin,
                                int64_t end, const TensorShape& shape,
                                Allocator& allocator) {
  ASSIGN_OR_RETURN(Tensor rows,
                   Tensor::Allocate(allocator, tensor.dtype(), shape));
  const int64_t row =
      tensor.dim(0) == 0 ? 0 : tensor.num_elements() / tensor.dim(0);
  CopyElements(tensor, begin * row, (end - begin) * row, rows, 0);
  return rows;
}

// The rows of a tensor become elements.
class ScatterKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto array, FindStepResource<TensorArray>(context, 0));
    const Tensor& indices = context.input(1);
    const Tensor& value = context.input(2);
    if (!indices.shape().IsVector() || value.rank() == 0 ||
        indices.dim(0) != value.dim(0)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Expected len(indices) == values.shape[0], but saw shapes ",
          indices.shape().ToString(), " and ", value.shape().ToString()));
    }
    const TensorShape row(value.shape().dims().subspan(1));
    const auto at = indices.flat<int32_t>();
    for (size_t i = 0; i < at.size(); ++i) {
      const int64_t begin = static_cast<int64_t>(i);
      ASSIGN_OR_RETURN(Tensor element, CopyRows(value, begin, begin + 1, row,
                                                context.allocator()));
      RETURN_IF_ERROR(WriteElement(*array, at[i], std::move(element)));
    }
    context.SetOutput(0, context.input(3));
    return absl::OkStatus();
  }
};

// As many rows as elements.
class UnpackKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto array, FindStepResource<TensorArray>(context, 0));
    const Tensor& value = context.input(1);
    if (value.rank() == 0) {
      return absl::InvalidArgumentError(
          "Input value for unpack must be at least a vector but received "
          "shape: []");
    }
    ASSIGN_OR_RETURN(const int64_t size, array->SizeToHold(value.dim(0)));
    if (value.dim(0) != size) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Input value must have first dimension equal to the array size (",
          value.dim(0), " vs. ", size, ")"));
    }
    const TensorShape row(value.shape().dims().subspan(1));
    for (int64_t i = 0; i < size; ++i) {
      ASSIGN_OR_RETURN(Tensor element,
                       CopyRows(value, i, i + 1, row, context.allocator()));
      RETURN_IF_ERROR(WriteElement(*array, i, std::move(element)));
    }
    context.SetOutput(0, context.input(2));
    return absl::OkStatus();
  }
};

// All elements, one after the other along the first dimension.
class ConcatKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<ConcatKernel>(construction);
    ASSIGN_OR_RETURN(kernel->row_shape_, construction.GetAttr<PartialShape>(
                                             "element_shape_except0"));
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto array, FindStepResource<TensorArray>(context, 0));
    RETURN_IF_ERROR(CheckType(*array, context.output_type(0)));
    ASSIGN_OR_RETURN(const int64_t size, array->Size());
    // First, because an array may say that it is larger than memory.
    ASSIGN_OR_RETURN(Tensor * lengths, context.AllocateOutput(1, {size}));
    std::vector<Tensor> values;
    for (int64_t i = 0; i < size; ++i) {
      ASSIGN_OR_RETURN(Tensor value, array->Read(i, context.allocator()));
      RETURN_IF_ERROR(CheckElement(values.empty() ? value : values[0], value));
      lengths->mutable_flat<int64_t>()[i] = value.dim(0);
      values.push_back(std::move(value));
    }
    return Join(context, values);
  }

 private:
  static absl::Status CheckElement(const Tensor& first, const Tensor& value) {
    if (value.rank() == 0) {
      return absl::InvalidArgumentError(
          "Concat saw a scalar shape, but requires all elements to have at "
          "least one dimension");
    }
    if (value.rank() == first.rank() &&
        std::equal(value.shape().dims().begin() + 1, value.shape().dims().end(),
                   first.shape().dims().begin() + 1)) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "TensorArray has inconsistent shapes.  Index 0 has shape: ",
        first.shape().ToString(),
        " but another has shape: ", value.shape().ToString()));
  }

  // What follows the first dimension; of no elements the attr must say it.
  absl::StatusOr<TensorShape> RowShape(
      const std::vector<Tensor>& values) const {
    if (!values.empty()) {
      const auto dims = values[0].shape().dims().subspan(1);
      return TensorShape::Create(Dims(dims.begin(), dims.end()));
    }
    if (row_shape_.IsFullyDefined()) return row_shape_.ToShape();
    return absl::UnimplementedError(absl::StrCat(
        "TensorArray has size zero, but element_shape_except0 ",
        row_shape_.ToString(),
        " is not fully defined. Currently only static shapes are supported "
        "when concatenating zero-size TensorArrays."));
  }

  absl::Status Join(OpKernelContext& context,
                    const std::vector<Tensor>& values) const {
    int64_t rows = 0;
    for (const Tensor& value : values) {
      if (__builtin_add_overflow(rows, value.dim(0), &rows)) {
        return absl::InvalidArgumentError("the rows of a TensorArray overflow");
      }
    }
    ASSIGN_OR_RETURN(const TensorShape row, RowShape(values));
    ASSIGN_OR_RETURN(const TensorShape shape, WithFirst(rows, row));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    int64_t at = 0;
    for (const Tensor& value : values) {
      CopyElements(value, 0, value.num_elements(), *output, at);
      at += value.num_elements();
    }
    return absl::OkStatus();
  }

  PartialShape row_shape_;
};

// The reverse of Concat.
class SplitKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto array, FindStepResource<TensorArray>(context, 0));
    const Tensor& value = context.input(1);
    RETURN_IF_ERROR(CheckRanks(value, context.input(2)));
    const auto lengths = context.input(2).flat<int64_t>();
    RETURN_IF_ERROR(CheckSum(lengths, value.shape()));
    RETURN_IF_ERROR(CheckCount(static_cast<int64_t>(lengths.size()), *array));
    int64_t begin = 0;
    int64_t index = 0;
    for (int64_t length : lengths) {
      TensorShape shape = value.shape();
      shape.set_dim(0, length);
      ASSIGN_OR_RETURN(Tensor element, CopyRows(value, begin, begin + length,
                                                shape, context.allocator()));
      RETURN_IF_ERROR(WriteElement(*array, index++, std::move(element)));
      begin += length;
    }
    context.SetOutput(0, context.input(3));
    return absl::OkStatus();
  }

 private:
  static absl::Status CheckRanks(const Tensor& value, const Tensor& lengths) {
    if (!lengths.shape().IsVector()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected lengths to be a vector, received shape: ",
                       lengths.shape().ToString()));
    }
    if (value.rank() > 0) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "Expected value to be at least a vector, but received shape: []");
  }

  static absl::Status CheckSum(absl::Span<const int64_t> lengths,
                               const TensorShape& shape) {
    constexpr absl::string_view kExpected =
        "Expected sum of lengths to be equal to values.shape[0], but ";
    int64_t sum = 0;
    for (int64_t length : lengths) {
      if (length < 0 || __builtin_add_overflow(sum, length, &sum)) {
        return absl::InvalidArgumentError(
            absl::StrCat(kExpected, "one of the lengths is ", length));
      }
    }
    if (sum == shape.dim(0)) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat(kExpected, "sum of lengths is ", sum,
                     " and value's shape is: ", shape.ToString()));
  }

  // TensorFlow says the same of an array that is larger and could grow.
  static absl::Status CheckCount(int64_t count, const TensorArray& array) {
    ASSIGN_OR_RETURN(const int64_t size, array.SizeToHold(count));
    if (size == count) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "TensorArray's size is not equal to the size of lengths (", size,
        " vs. ", count,
        "), and the TensorArray is not marked as dynamically resizeable"));
  }
};

class SizeKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto array, FindStepResource<TensorArray>(context, 0));
    ASSIGN_OR_RETURN(const int64_t size, array->Size());
    context.SetOutput(0, Tensor::Scalar(static_cast<int32_t>(size)));
    return absl::OkStatus();
  }
};

class CloseKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto array, FindStepResource<TensorArray>(context, 0));
    array->Close();
    return absl::OkStatus();
  }
};

// Of one op for the three kinds of handle.
using OpNames = std::initializer_list<const char*>;

template <typename Kernel>
void RegisterAll(KernelRegistry& registry, OpNames ops) {
  for (const char* op : ops) registry.Register<Kernel>(op);
}

}  // namespace

void RegisterTensorArrayKernels(KernelRegistry& registry) {
  for (const char* op : {"TensorArray", "TensorArrayV2", "TensorArrayV3"}) {
    registry.Register({.op = op}, TensorArrayKernel::Make);
  }
  for (const char* op : {"TensorArrayGather", "TensorArrayGatherV2",
                         "TensorArrayGatherV3", "TensorArrayPack"}) {
    registry.Register({.op = op}, GatherKernel::Make);
  }
  RegisterAll<TensorArrayGradKernel>(
      registry, {"TensorArrayGrad", "TensorArrayGradV2", "TensorArrayGradV3"});
  RegisterAll<WriteKernel>(registry, {"TensorArrayWrite", "TensorArrayWriteV2",
                                      "TensorArrayWriteV3"});
  RegisterAll<ReadKernel>(
      registry, {"TensorArrayRead", "TensorArrayReadV2", "TensorArrayReadV3"});
  RegisterAll<ScatterKernel>(
      registry,
      {"TensorArrayScatter", "TensorArrayScatterV2", "TensorArrayScatterV3"});
  for (const char* op :
       {"TensorArrayConcat", "TensorArrayConcatV2", "TensorArrayConcatV3"}) {
    registry.Register({.op = op}, ConcatKernel::Make);
  }
  RegisterAll<SplitKernel>(registry, {"TensorArraySplit", "TensorArraySplitV2",
                                      "TensorArraySplitV3"});
  RegisterAll<SizeKernel>(
      registry, {"TensorArraySize", "TensorArraySizeV2", "TensorArraySizeV3"});
  RegisterAll<CloseKernel>(registry, {"TensorArrayClose", "TensorArrayCloseV2",
                                      "TensorArrayCloseV3"});
  registry.Register<UnpackKernel>("TensorArrayUnpack");
}

}  // namespace weft
