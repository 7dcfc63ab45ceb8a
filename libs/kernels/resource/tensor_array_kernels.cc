// Kernels of TensorArrays, which live as long as a step. The three versions of
// their ops differ in their handles, and the first version has two additional
// ops, Pack and Unpack.
#include "libs/kernels/resource/tensor_array_kernels.h"

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
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

class HostValues : public ArrayValues {
 public:
  absl::StatusOr<Tensor> Zeros(OpKernelContext& context, DataType dtype,
                               const TensorShape& shape) const override {
    ASSIGN_OR_RETURN(Tensor zeros,
                     Tensor::Allocate(context.allocator(), dtype, shape));
    RETURN_IF_ERROR(FillWithZeros(zeros));
    return zeros;
  }
  absl::Status Copy(OpKernelContext&, HeapCharge& charge, const Tensor& in,
                    int64_t in_begin, int64_t count, Tensor& out,
                    int64_t out_begin) const override {
    return CopyElements(charge, in, in_begin, count, out, out_begin);
  }
  absl::Status Add(OpKernelContext&, Tensor& sum,
                   const Tensor& added) const override {
    RETURN_IF_ERROR(MakeWritable(sum));
    return AddRange(sum, 0, added, 0, added.num_elements());
  }
};

using SharedValues = std::shared_ptr<const ArrayValues>;

// The size of an element in an array, or on its way there: its entry, and a
// small buffer with its header. A number in a graph may request any number of
// elements.
constexpr size_t kBytesOfElement = 256;

absl::Status ChargeElements(HeapCharge& charge, int64_t count) {
  return Append(charge.AddObjects(count, kBytesOfElement),
                absl::StrCat("for ", count, " elements of a TensorArray"));
}

// Rows without values cost the program nothing, but each becomes an element.
absl::Status CheckEmptyRows(const Tensor& value) {
  constexpr int64_t kMaxEmptyRows = int64_t{1} << 20;
  if (value.num_elements() > 0 || value.dim(0) <= kMaxEmptyRows) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(
      absl::StrCat("A TensorArray holds at most ", kMaxEmptyRows,
                   " rows without values, but the value has shape ",
                   value.shape().ToString()));
}

// Checks the cancellation of the step for element `i` of a long loop.
absl::Status CheckCancelled(const OpKernelContext& context, int64_t i) {
  constexpr int64_t kElementsBetween = 1024;
  return i % kElementsBetween == 0 ? context.cancellation().status()
                                   : absl::OkStatus();
}

// The base of kernels that access values.
class ValueKernel : public OpKernel {
 public:
  ValueKernel(const OpKernelConstruction& construction, SharedValues values)
      : OpKernel(construction), values_(std::move(values)) {}

 protected:
  const ArrayValues& values() const { return *values_; }

  absl::Status WriteElement(OpKernelContext& context, TensorArray& array,
                            int64_t index, Tensor value) const {
    return array.Write(index, std::move(value),
                       [&](Tensor& sum, const Tensor& added) {
                         return values_->Add(context, sum, added);
                       });
  }
  absl::StatusOr<Tensor> ReadElement(OpKernelContext& context,
                                     TensorArray& array, int64_t index) const {
    return array.Read(index, [&](DataType dtype, const TensorShape& shape) {
      return values_->Zeros(context, dtype, shape);
    });
  }
  // Copies rows [begin, end) of a tensor to new memory.
  absl::StatusOr<Tensor> CopyRows(OpKernelContext& context, HeapCharge& charge,
                                  const Tensor& tensor, int64_t begin,
                                  int64_t end, const TensorShape& shape) const {
    ASSIGN_OR_RETURN(Tensor rows, Tensor::Allocate(context.allocator(),
                                                   tensor.dtype(), shape));
    const int64_t row =
        tensor.dim(0) == 0 ? 0 : tensor.num_elements() / tensor.dim(0);
    RETURN_IF_ERROR(values_->Copy(context, charge, tensor, begin * row,
                                  (end - begin) * row, rows, 0));
    return rows;
  }

 private:
  const SharedValues values_;
};

// `what` is for the error text.
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

class TensorArrayKernel : public ValueKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction, SharedValues values) {
    auto kernel =
        std::make_unique<TensorArrayKernel>(construction, std::move(values));
    TensorArrayOptions& options = kernel->options_;
    ASSIGN_OR_RETURN(options.dtype, construction.GetAttr<DataType>("dtype"));
    ASSIGN_OR_RETURN(options.element_shape,
                     construction.GetAttr<PartialShape>("element_shape"));
    ASSIGN_OR_RETURN(options.dynamic_size,
                     construction.GetAttr<bool>("dynamic_size"));
    ASSIGN_OR_RETURN(options.clear_after_read,
                     construction.GetAttr<bool>("clear_after_read"));
    // Older versions lack this attr.
    options.identical_element_shapes =
        construction.GetAttr<bool>("identical_element_shapes").value_or(false);
    return kernel;
  }
  using ValueKernel::ValueKernel;

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
    if (context.num_outputs() == 1) return absl::OkStatus();
    ASSIGN_OR_RETURN(Tensor flow, values().Zeros(context, DT_FLOAT, {}));
    context.SetOutput(1, std::move(flow));
    return absl::OkStatus();
  }

 private:
  TensorArrayOptions options_;
  std::atomic<int64_t> count_{0};
};

// There is one array of gradients for each source, created by the first
// request.
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

class WriteKernel : public ValueKernel {
 public:
  using ValueKernel::ValueKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto array, FindStepResource<TensorArray>(context, 0));
    ASSIGN_OR_RETURN(const int64_t index, IntegerOf("index", context.input(1)));
    RETURN_IF_ERROR(WriteElement(context, *array, index, context.TakeInput(2)));
    context.SetOutput(0, context.input(3));
    return absl::OkStatus();
  }
};

class ReadKernel : public ValueKernel {
 public:
  using ValueKernel::ValueKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto array, FindStepResource<TensorArray>(context, 0));
    RETURN_IF_ERROR(CheckType(*array, context.output_type(0)));
    ASSIGN_OR_RETURN(const int64_t index, IntegerOf("index", context.input(1)));
    ASSIGN_OR_RETURN(Tensor value, ReadElement(context, *array, index));
    context.SetOutput(0, std::move(value));
    return absl::OkStatus();
  }
};

absl::StatusOr<TensorShape> WithFirstDimension(int64_t size,
                                               const TensorShape& shape) {
  Dims dims = {size};
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return TensorShape::Create(dims);
}

// Returns the elements at the indices, or all of them (Pack), stacked.
class GatherKernel : public ValueKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction, SharedValues values) {
    auto kernel =
        std::make_unique<GatherKernel>(construction, std::move(values));
    ASSIGN_OR_RETURN(kernel->element_shape_,
                     construction.GetAttr<PartialShape>("element_shape"));
    return kernel;
  }
  using ValueKernel::ValueKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto array, FindStepResource<TensorArray>(context, 0));
    RETURN_IF_ERROR(CheckType(*array, context.output_type(0)));
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(const std::vector<Tensor> values,
                     context.num_inputs() == 2
                         ? ReadAll(context, *array, charge)
                         : ReadSome(context, *array, charge));
    ASSIGN_OR_RETURN(const TensorShape row, RowShape(*array, values));
    return Stack(context, values, row, charge);
  }

 private:
  absl::StatusOr<std::vector<Tensor>> ReadSome(OpKernelContext& context,
                                               TensorArray& array,
                                               HeapCharge& charge) const {
    const Tensor& indices = context.input(1);
    if (!indices.shape().IsVector()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected indices to be a vector, but received shape: ",
                       indices.shape().ToString()));
    }
    const auto at = indices.flat<int32_t>();
    return ReadMany(context, array, charge, static_cast<int64_t>(at.size()),
                    [&](int64_t i) { return at[i]; });
  }

  absl::StatusOr<std::vector<Tensor>> ReadAll(OpKernelContext& context,
                                              TensorArray& array,
                                              HeapCharge& charge) const {
    ASSIGN_OR_RETURN(const int64_t size, array.Size());
    return ReadMany(context, array, charge, size, [](int64_t i) { return i; });
  }

  // The elements index(0), index(1), ...
  template <typename Index>
  absl::StatusOr<std::vector<Tensor>> ReadMany(OpKernelContext& context,
                                               TensorArray& array,
                                               HeapCharge& charge,
                                               int64_t count,
                                               const Index& index) const {
    RETURN_IF_ERROR(ChargeElements(charge, count));
    std::vector<Tensor> values;
    values.reserve(count);
    for (int64_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(CheckCancelled(context, i));
      ASSIGN_OR_RETURN(Tensor value, ReadElement(context, array, index(i)));
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

  absl::Status Stack(OpKernelContext& context,
                     const std::vector<Tensor>& elements,
                     const TensorShape& row, HeapCharge& charge) const {
    ASSIGN_OR_RETURN(
        const TensorShape shape,
        WithFirstDimension(static_cast<int64_t>(elements.size()), row));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    for (size_t i = 0; i < elements.size(); ++i) {
      RETURN_IF_ERROR(
          values().Copy(context, charge, elements[i], 0, row.num_elements(),
                        *output, static_cast<int64_t>(i) * row.num_elements()));
    }
    return absl::OkStatus();
  }

  PartialShape element_shape_;
};

// Makes the rows of a tensor elements.
class ScatterKernel : public ValueKernel {
 public:
  using ValueKernel::ValueKernel;
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
    RETURN_IF_ERROR(CheckEmptyRows(value));
    const auto at = indices.flat<int32_t>();
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeElements(charge, value.dim(0)));
    for (size_t i = 0; i < at.size(); ++i) {
      RETURN_IF_ERROR(CheckCancelled(context, static_cast<int64_t>(i)));
      const int64_t begin = static_cast<int64_t>(i);
      ASSIGN_OR_RETURN(Tensor element,
                       CopyRows(context, charge, value, begin, begin + 1, row));
      RETURN_IF_ERROR(WriteElement(context, *array, at[i], std::move(element)));
    }
    context.SetOutput(0, context.input(3));
    return absl::OkStatus();
  }
};

// Requires as many rows as elements.
class UnpackKernel : public ValueKernel {
 public:
  using ValueKernel::ValueKernel;
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
    RETURN_IF_ERROR(CheckEmptyRows(value));
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeElements(charge, size));
    const TensorShape row(value.shape().dims().subspan(1));
    for (int64_t i = 0; i < size; ++i) {
      RETURN_IF_ERROR(CheckCancelled(context, i));
      ASSIGN_OR_RETURN(Tensor element,
                       CopyRows(context, charge, value, i, i + 1, row));
      RETURN_IF_ERROR(WriteElement(context, *array, i, std::move(element)));
    }
    context.SetOutput(0, context.input(2));
    return absl::OkStatus();
  }
};

// Concatenates all elements along the first dimension.
class ConcatKernel : public ValueKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction, SharedValues values) {
    auto kernel =
        std::make_unique<ConcatKernel>(construction, std::move(values));
    ASSIGN_OR_RETURN(kernel->row_shape_, construction.GetAttr<PartialShape>(
                                             "element_shape_except0"));
    return kernel;
  }
  using ValueKernel::ValueKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto array, FindStepResource<TensorArray>(context, 0));
    RETURN_IF_ERROR(CheckType(*array, context.output_type(0)));
    ASSIGN_OR_RETURN(const int64_t size, array->Size());
    // Allocated first, because an array may claim to be larger than memory.
    ASSIGN_OR_RETURN(Tensor * lengths, context.AllocateOutput(1, {size}));
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeElements(charge, size));
    std::vector<Tensor> values;
    for (int64_t i = 0; i < size; ++i) {
      RETURN_IF_ERROR(CheckCancelled(context, i));
      ASSIGN_OR_RETURN(Tensor value, ReadElement(context, *array, i));
      RETURN_IF_ERROR(CheckElement(values.empty() ? value : values[0], value));
      lengths->mutable_flat<int64_t>()[i] = value.dim(0);
      values.push_back(std::move(value));
    }
    return Join(context, values, charge);
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

  // The shape after the first dimension; without elements the attr must state
  // it.
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
                    const std::vector<Tensor>& elements,
                    HeapCharge& charge) const {
    int64_t rows = 0;
    for (const Tensor& value : elements) {
      if (__builtin_add_overflow(rows, value.dim(0), &rows)) {
        return absl::InvalidArgumentError("the rows of a TensorArray overflow");
      }
    }
    ASSIGN_OR_RETURN(const TensorShape row, RowShape(elements));
    ASSIGN_OR_RETURN(const TensorShape shape, WithFirstDimension(rows, row));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    int64_t at = 0;
    for (const Tensor& value : elements) {
      RETURN_IF_ERROR(values().Copy(context, charge, value, 0,
                                    value.num_elements(), *output, at));
      at += value.num_elements();
    }
    return absl::OkStatus();
  }

  PartialShape row_shape_;
};

// The reverse of Concat.
class SplitKernel : public ValueKernel {
 public:
  using ValueKernel::ValueKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto array, FindStepResource<TensorArray>(context, 0));
    const Tensor& value = context.input(1);
    RETURN_IF_ERROR(CheckRanks(value, context.input(2)));
    const auto lengths = context.input(2).flat<int64_t>();
    RETURN_IF_ERROR(CheckSum(lengths, value.shape()));
    RETURN_IF_ERROR(CheckCount(static_cast<int64_t>(lengths.size()), *array));
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(
        ChargeElements(charge, static_cast<int64_t>(lengths.size())));
    int64_t begin = 0;
    int64_t index = 0;
    for (int64_t length : lengths) {
      RETURN_IF_ERROR(CheckCancelled(context, index));
      TensorShape shape = value.shape();
      shape.set_dim(0, length);
      ASSIGN_OR_RETURN(Tensor element, CopyRows(context, charge, value, begin,
                                                begin + length, shape));
      RETURN_IF_ERROR(
          WriteElement(context, *array, index++, std::move(element)));
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

  // TensorFlow returns the same error for a larger array, and for a dynamic
  // one.
  static absl::Status CheckCount(int64_t count, const TensorArray& array) {
    ASSIGN_OR_RETURN(const int64_t size, array.SizeToHold(count));
    if (size == count) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "TensorArray's size is not equal to the size of lengths (", size,
        " vs. ", count,
        "), and the TensorArray is not marked as dynamically resizeable"));
  }
};

class TensorArraySizeKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto array, FindStepResource<TensorArray>(context, 0));
    ASSIGN_OR_RETURN(const int64_t size, array->Size());
    context.SetOutput(0, Tensor::Scalar(static_cast<int32_t>(size)));
    return absl::OkStatus();
  }
};

class TensorArrayCloseKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(auto array, FindStepResource<TensorArray>(context, 0));
    array->Close();
    return absl::OkStatus();
  }
};

// For kernels that access no values.
template <typename Kernel>
absl::StatusOr<std::unique_ptr<OpKernel>> Create(
    const OpKernelConstruction& construction) {
  return std::make_unique<Kernel>(construction);
}

template <typename Kernel>
KernelFactory FactoryOf(const SharedValues& values) {
  return [values](const OpKernelConstruction& construction)
             -> absl::StatusOr<std::unique_ptr<OpKernel>> {
    if constexpr (requires { Kernel::Make(construction, values); }) {
      return Kernel::Make(construction, values);
    } else {
      return std::make_unique<Kernel>(construction, values);
    }
  };
}

// The ops without their version; `attr` is the type of the values that a kernel
// accesses, and `host` lists the arguments in host memory.
struct ArrayOp {
  const char* name;
  const char* attr;
  std::vector<std::string> host;
  KernelFactory factory;
};

std::vector<ArrayOp> OpsOf(const SharedValues& values) {
  return {
      {"", "dtype", {"handle", "size"}, FactoryOf<TensorArrayKernel>(values)},
      {"Gather",
       "dtype",
       {"handle", "indices"},
       FactoryOf<GatherKernel>(values)},
      {"Grad", "", {"handle", "grad_handle"}, Create<TensorArrayGradKernel>},
      {"Write", "T", {"handle", "index"}, FactoryOf<WriteKernel>(values)},
      {"Read", "dtype", {"handle", "index"}, FactoryOf<ReadKernel>(values)},
      {"Scatter", "T", {"handle", "indices"}, FactoryOf<ScatterKernel>(values)},
      {"Concat",
       "dtype",
       {"handle", "lengths"},
       FactoryOf<ConcatKernel>(values)},
      {"Split", "T", {"handle", "lengths"}, FactoryOf<SplitKernel>(values)},
      {"Size", "", {"handle", "size"}, Create<TensorArraySizeKernel>},
      {"Close", "", {"handle"}, Create<TensorArrayCloseKernel>},
  };
}

}  // namespace

void RegisterTensorArrayKernels(KernelRegistry& registry) {
  const auto values = std::make_shared<HostValues>();
  for (const ArrayOp& op : OpsOf(values)) {
    for (const char* version : {"", "V2", "V3"}) {
      registry.Register({.op = absl::StrCat("TensorArray", op.name, version)},
                        op.factory);
    }
  }
  registry.Register({.op = "TensorArrayPack"}, FactoryOf<GatherKernel>(values));
  registry.Register({.op = "TensorArrayUnpack"},
                    FactoryOf<UnpackKernel>(values));
}

void RegisterTensorArrayV3Kernels(KernelRegistry& registry,
                                  const std::string& device_type,
                                  const std::vector<DataType>& types,
                                  SharedValues values) {
  for (const ArrayOp& op : OpsOf(values)) {
    KernelDef def{absl::StrCat("TensorArray", op.name, "V3"), device_type};
    if (*op.attr != '\0') def.types[op.attr] = types;
    def.host_memory = op.host;
    registry.Register(std::move(def), op.factory);
  }
}

}  // namespace weft
