// SparseFillEmptyRows: a value for each row that has none; and its gradient.
#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/number_types.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/sparse/sparse_tensor.h"

namespace weft {
namespace {

class FillEmptyRowsKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(
        const SparseView input,
        SparseView::Of(context.input(0), &context.input(1), context.input(2)));
    if (input.rank() == 0) {
      return absl::InvalidArgumentError("Dense shape cannot be empty.");
    }
    if (!context.input(3).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("default_value must be a scalar, saw: ",
                       context.input(3).shape().ToString()));
    }
    RETURN_IF_ERROR(input.CheckBounds());
    return Fill(context, input);
  }

 private:
  // Memory that grows with the number of rows is the outputs' alone.
  static absl::Status Fill(OpKernelContext& context, const SparseView& input) {
    const int64_t num_rows = input.shape().dim(0);
    ASSIGN_OR_RETURN(Tensor * empty, context.AllocateOutput(2, {num_rows}));
    bool* const is_empty = empty->mutable_flat<bool>().data();
    std::fill(is_empty, is_empty + num_rows, true);
    std::vector<int64_t> by_row(input.count());
    for (int64_t i = 0; i < input.count(); ++i) {
      is_empty[input.index(i, 0)] = false;
      by_row[i] = i;
    }
    std::stable_sort(by_row.begin(), by_row.end(), [&](int64_t a, int64_t b) {
      return input.index(a, 0) < input.index(b, 0);
    });
    const int64_t total =
        input.count() + std::count(is_empty, is_empty + num_rows, true);
    ASSIGN_OR_RETURN(Tensor * indices,
                     context.AllocateOutput(0, {total, input.rank()}));
    ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(1, {total}));
    std::vector<int64_t> reverse(input.count());
    auto next = by_row.begin();
    int64_t at = 0;
    for (int64_t row = 0; row < num_rows; ++row) {
      if (is_empty[row]) {
        SetEmptyRow(row, at, *indices);
        CopyElements(context.input(3), 0, 1, *values, at++);
      }
      for (; next != by_row.end() && input.index(*next, 0) == row; ++next) {
        const auto position = input.position(*next);
        std::copy(position.begin(), position.end(),
                  indices->mutable_flat<int64_t>().data() + at * input.rank());
        CopyElements(context.input(1), *next, 1, *values, at);
        reverse[*next] = at++;
      }
    }
    return SetVector(context, 3, reverse);
  }

  // It gets its first element.
  static void SetEmptyRow(int64_t row, int64_t at, Tensor& indices) {
    const int64_t rank = indices.dim(1);
    int64_t* const out = indices.mutable_flat<int64_t>().data() + at * rank;
    std::fill(out, out + rank, 0);
    out[0] = row;
  }
};

// What no input element became is the default value's.
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
    std::vector<bool> is_used(grads.num_elements());
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
      Wide<T> sum{0};
      for (size_t i = 0; i < is_used.size(); ++i) {
        if (is_used[i]) continue;
        sum = AddElements(sum, static_cast<Wide<T>>(grads.flat<T>()[i]));
      }
      rest->mutable_scalar<T>() = static_cast<T>(sum);
      return absl::OkStatus();
    });
  }
};

}  // namespace

void RegisterSparseRowKernels(KernelRegistry& registry) {
  registry.Register<FillEmptyRowsKernel>("SparseFillEmptyRows");
  for (const char* op :
       {"SparseFillEmptyRowsGrad", "RaggedFillEmptyRowsGrad"}) {
    registry.Register<FillEmptyRowsGradKernel>(op,
                                               {{"T", DataTypesOf(Numbers{})}});
  }
}

}  // namespace weft
