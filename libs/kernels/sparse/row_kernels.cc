// SparseFillEmptyRows and RaggedFillEmptyRows: add a value to each empty row;
// and their gradients.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/sparse/sparse_tensor.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// Elements in rows: those of a sparse tensor, whose indices have `width`
// coordinates with the row first; or those of a ragged tensor, given only by
// their rows.
struct RowElements {
  const int64_t* indices = nullptr;
  int64_t count = 0, width = 1, num_rows = 0;

  int64_t row(int64_t i) const { return indices[i * width]; }
};

absl::Status CheckRows(const RowElements& elements) {
  if (elements.num_rows < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Expected shape dimensions to be non-negative, got ",
                     elements.num_rows));
  }
  if (elements.num_rows == 0 && elements.count > 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("Received SparseTensor with dense_shape[0] = 0 but "
                     "indices.shape[0] = ",
                     elements.count));
  }
  for (int64_t i = 0; i < elements.count; ++i) {
    const int64_t row = elements.row(i);
    if (row >= 0 && row < elements.num_rows) continue;
    return RowOutOfBounds(i, row, elements.num_rows);
  }
  return absl::OkStatus();
}

// The elements' numbers sorted by row. `charge` counts them.
absl::StatusOr<std::vector<int64_t>> SortedByRow(HeapCharge& charge,
                                                 const RowElements& elements) {
  const auto count = static_cast<size_t>(elements.count);
  RETURN_IF_ERROR(charge.AddObjects(count, sizeof(int64_t)));
  std::vector<int64_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  const auto is_before = [&](int64_t a, int64_t b) {
    return elements.row(a) < elements.row(b);
  };
  if (std::is_sorted(order.begin(), order.end(), is_before)) return order;
  // Charges the copy that the sort makes.
  RETURN_IF_ERROR(charge.AddObjects(count, sizeof(int64_t)));
  std::stable_sort(order.begin(), order.end(), is_before);
  return order;
}

// The common arguments of both ops. Inputs 0, 1 and 3: indices, values, and the
// default value. Outputs: indices, values, which rows were empty, and the new
// position of each element. The other coordinates of a default value are 0.
class FillEmptyRowsKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const RowElements elements, ReadElements(context));
    if (!context.input(3).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("default_value must be a scalar, saw: ",
                       context.input(3).shape().ToString()));
    }
    RETURN_IF_ERROR(CheckRows(elements));
    return Fill(context, elements);
  }

 private:
  virtual absl::StatusOr<RowElements> ReadElements(
      const OpKernelContext& context) const = 0;
  virtual TensorShape IndicesShape(const RowElements& elements,
                                   int64_t total) const = 0;

  // Only the outputs' memory depends on the number of rows; the memory of the
  // elements' order is charged.
  absl::Status Fill(OpKernelContext& context,
                    const RowElements& elements) const {
    const int64_t num_rows = elements.num_rows;
    ASSIGN_OR_RETURN(Tensor * empty, context.AllocateOutput(2, {num_rows}));
    bool* const is_empty = empty->mutable_flat<bool>().data();
    std::fill_n(is_empty, num_rows, true);
    for (int64_t i = 0; i < elements.count; ++i) {
      is_empty[elements.row(i)] = false;
    }
    const int64_t total =
        elements.count + std::count(is_empty, is_empty + num_rows, true);
    ASSIGN_OR_RETURN(Tensor * indices,
                     context.AllocateOutput(0, IndicesShape(elements, total)));
    ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(1, {total}));
    ASSIGN_OR_RETURN(Tensor * reverse,
                     context.AllocateOutput(3, {elements.count}));
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeStrings(charge, context.input(1)));
    RETURN_IF_ERROR(
        ChargeStrings(charge, context.input(3), total - elements.count));
    ASSIGN_OR_RETURN(const std::vector<int64_t> order,
                     SortedByRow(charge, elements));
    Write(context, elements, order, is_empty, *indices, *values,
          reverse->mutable_flat<int64_t>().data());
    return absl::OkStatus();
  }

  static void Write(OpKernelContext& context, const RowElements& elements,
                    const std::vector<int64_t>& order, const bool* is_empty,
                    Tensor& indices, Tensor& values, int64_t* reverse) {
    int64_t* out = indices.mutable_flat<int64_t>().data();
    auto next = order.begin();
    int64_t at = 0;
    for (int64_t row = 0; row < elements.num_rows; ++row) {
      if (is_empty[row]) {
        *out++ = row;
        out = std::fill_n(out, elements.width - 1, 0);
        CopyElements(context.input(3), 0, 1, values, at++);
        continue;
      }
      for (; next != order.end() && elements.row(*next) == row; ++next) {
        out = std::copy_n(elements.indices + *next * elements.width,
                          elements.width, out);
        CopyElements(context.input(1), *next, 1, values, at);
        reverse[*next] = at++;
      }
    }
  }
};

class SparseFillEmptyRowsKernel : public FillEmptyRowsKernel {
 public:
  using FillEmptyRowsKernel::FillEmptyRowsKernel;

 private:
  // Only the rows must be within the shape.
  absl::StatusOr<RowElements> ReadElements(
      const OpKernelContext& context) const override {
    ASSIGN_OR_RETURN(const SparseView input,
                     SparseView::OfAnySizes(context.input(0), &context.input(1),
                                            context.input(2)));
    if (input.rank() == 0) {
      return absl::InvalidArgumentError("Dense shape cannot be empty.");
    }
    return RowElements{context.input(0).flat<int64_t>().data(), input.count(),
                       input.rank(), input.sizes()[0]};
  }
  TensorShape IndicesShape(const RowElements& elements,
                           int64_t total) const override {
    return {total, elements.width};
  }
};

class RaggedFillEmptyRowsKernel : public FillEmptyRowsKernel {
 public:
  using FillEmptyRowsKernel::FillEmptyRowsKernel;

 private:
  absl::StatusOr<RowElements> ReadElements(
      const OpKernelContext& context) const override {
    const Tensor& rowids = context.input(0);
    const Tensor& values = context.input(1);
    const Tensor& rows = context.input(2);
    if (!rowids.shape().IsVector() || !values.shape().IsVector()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "value_rowids and values must be vectors, saw: ",
          rowids.shape().ToString(), " and ", values.shape().ToString()));
    }
    if (rowids.dim(0) != values.dim(0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("The length of `values` (", values.dim(0),
                       ") must match the first dimension of `value_rowids` (",
                       rowids.dim(0), ")."));
    }
    if (!rows.shape().IsScalar()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "nrows must be a scalar, saw: ", rows.shape().ToString()));
    }
    return RowElements{rowids.flat<int64_t>().data(), rowids.dim(0), 1,
                       rows.scalar<int64_t>()};
  }
  // TensorFlow's result has one dimension more if there are no rows.
  TensorShape IndicesShape(const RowElements& elements,
                           int64_t total) const override {
    return elements.num_rows == 0 ? TensorShape({0, 1}) : TensorShape({total});
  }
};

// Elements without a source belong to the default value. Each addition is
// rounded to the type, as in TensorFlow: a sum of 16-bit floats may stop
// changing.
class FillEmptyRowsGradKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& reverse = context.input(0);
    const Tensor& grads = context.input(1);
    if (!reverse.shape().IsVector() || !grads.shape().IsVector()) {
      return absl::InvalidArgumentError(
          "reverse_index_map and grad_values must be vectors");
    }
    HeapCharge charge(context.host_allocator());
    const auto count = static_cast<size_t>(grads.num_elements());
    RETURN_IF_ERROR(charge.Add(count / 8));
    std::vector<bool> is_used(count);
    for (int64_t at : reverse.flat<int64_t>()) {
      if (at < 0 || at >= grads.num_elements()) {
        return absl::InvalidArgumentError(
            absl::StrCat("Elements in reverse index must be in [0, ",
                         grads.num_elements(), ") but got ", at));
      }
      is_used[at] = true;
    }
    RETURN_IF_ERROR(SetChosen(context, 0, grads, reverse.flat<int64_t>()));
    ASSIGN_OR_RETURN(Tensor * rest, context.AllocateOutput(1, {}));
    return DispatchType(Numbers{}, grads.dtype(), [&]<typename T>(TypeTag<T>) {
      T sum(0);
      for (size_t i = 0; i < is_used.size(); ++i) {
        if (!is_used[i]) sum = AddElements(sum, grads.flat<T>()[i]);
      }
      rest->mutable_scalar<T>() = sum;
      return absl::OkStatus();
    });
  }
};

}  // namespace

void RegisterSparseRowKernels(KernelRegistry& registry) {
  registry.Register<SparseFillEmptyRowsKernel>("SparseFillEmptyRows");
  registry.Register<RaggedFillEmptyRowsKernel>("RaggedFillEmptyRows");
  for (const char* op :
       {"SparseFillEmptyRowsGrad", "RaggedFillEmptyRowsGrad"}) {
    registry.Register<FillEmptyRowsGradKernel>(op,
                                               {{"T", DataTypesOf(Numbers{})}});
  }
}

}  // namespace weft
