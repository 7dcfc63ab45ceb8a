// SparseReduceSum and SparseReduceMax, with dense and with sparse results.
#include <complex>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "libs/base/status.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/common/narrow_sum.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/sparse/sparse_kernels.h"
#include "libs/kernels/sparse/sparse_tensor.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// The kept and the reduced dimensions, each in order. Empty axes reduce
// nothing.
struct Axes {
  std::vector<bool> is_reduced;
  std::vector<int> kept, reduced;
};

absl::StatusOr<Axes> ReadAxes(const Tensor& tensor, int rank) {
  if (tensor.rank() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Expected reduction_axes to be a scalar or a vector; got shape: ",
        tensor.shape().ToString()));
  }
  ASSIGN_OR_RETURN(const Dims numbers, IntegersOf(tensor));
  Axes axes;
  axes.is_reduced.resize(rank, false);
  for (const int64_t axis : numbers) {
    if (axis < -rank || axis >= rank) {
      return absl::InvalidArgumentError(
          absl::StrCat("Invalid reduction dimension ", axis,
                       ", for input with ", rank, " dimensions."));
    }
    axes.is_reduced[axis < 0 ? axis + rank : axis] = true;
  }
  for (int d = 0; d < rank; ++d) {
    (axes.is_reduced[d] ? axes.reduced : axes.kept).push_back(d);
  }
  return axes;
}

// Elements that are reduced to one: those at [begin, end) of an order.
struct Group {
  int64_t begin, end;
};

// The elements' numbers sorted by the kept coordinates, then by the others.
std::vector<int64_t> OrderOf(const SparseView& input, const Axes& axes) {
  std::vector<int> dims = axes.kept;
  dims.insert(dims.end(), axes.reduced.begin(), axes.reduced.end());
  std::vector<int64_t> order(input.count());
  std::iota(order.begin(), order.end(), 0);
  absl::c_stable_sort(order, [&](int64_t a, int64_t b) {
    for (const int d : dims) {
      if (input.index(a, d) != input.index(b, d)) {
        return input.index(a, d) < input.index(b, d);
      }
    }
    return false;
  });
  return order;
}

std::vector<Group> GroupsOf(const SparseView& input, const Axes& axes,
                            const std::vector<int64_t>& order) {
  std::vector<Group> groups;
  for (int64_t i = 0; i < input.count(); ++i) {
    const bool is_same =
        i > 0 && absl::c_all_of(axes.kept, [&](int d) {
          return input.index(order[i], d) == input.index(order[i - 1], d);
        });
    if (!is_same) groups.push_back({i, i});
    groups.back().end = i + 1;
  }
  return groups;
}

// For each element: its number in the order and in the sort's copy, a group, a
// result, and a position in a row.
constexpr size_t kBytesOfElement =
    2 * sizeof(int64_t) + sizeof(Group) + 2 * sizeof(std::complex<double>);

// kSparse: a sparse result with an element for each nonempty group; indices may
// then be out of bounds.
template <bool kMaximum, bool kSparse>
class SparseReductionKernel : public OpKernel {
 public:
  explicit SparseReductionKernel(const OpKernelConstruction& construction)
      : OpKernel(construction),
        keep_dims_(construction.GetAttr<bool>("keep_dims").value_or(false)) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(
        const SparseView input,
        SparseView::Of(context.input(0), &context.input(1), context.input(2)));
    ASSIGN_OR_RETURN(const Axes axes, ReadAxes(context.input(3), input.rank()));
    Dims dims;
    for (int d = 0; d < input.rank(); ++d) {
      if (!axes.is_reduced[d]) dims.push_back(input.sizes()[d]);
      if (axes.is_reduced[d] && keep_dims_) dims.push_back(1);
    }
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(
        charge.AddObjects(static_cast<size_t>(input.count()), kBytesOfElement));
    const std::vector<int64_t> order = OrderOf(input, axes);
    const std::vector<Group> groups = GroupsOf(input, axes, order);
    using Types = std::conditional_t<kMaximum, RealNumbers, Numbers>;
    return DispatchType(
        Types{}, context.input(1).dtype(), [&]<typename T>(TypeTag<T>) {
          const std::vector<T> results =
              Reduce<T>(context.input(1), order, groups);
          return kSparse ? SetSparse(context, input, axes, order, groups,
                                     results, shape)
                         : SetDense(context, input, axes, order, groups,
                                    results, shape);
        });
  }

 private:
  template <typename T>
  static std::vector<T> Reduce(const Tensor& values,
                               const std::vector<int64_t>& order,
                               const std::vector<Group>& groups) {
    const absl::Span<const T> all = values.flat<T>();
    std::vector<T> results, row;
    results.reserve(groups.size());
    for (const Group& group : groups) {
      const auto members = absl::MakeConstSpan(order).subspan(
          static_cast<size_t>(group.begin),
          static_cast<size_t>(group.end - group.begin));
      results.push_back(ReduceGroup<T>(all, members, row));
    }
    return results;
  }

  // REQUIRES: at least one member. `row` is a scratch buffer.
  template <typename T>
  static T ReduceGroup(absl::Span<const T> all,
                       absl::Span<const int64_t> members, std::vector<T>& row) {
    if constexpr (!kMaximum && !std::is_same_v<T, Wide<T>>) {
      row.clear();
      for (const int64_t i : members) row.push_back(all[i]);
      return NarrowSum<T>::Of(row.data(), static_cast<int64_t>(row.size()), 0);
    } else {
      auto result = static_cast<Wide<T>>(all[members.front()]);
      if constexpr (!kMaximum) result = AddElements(Wide<T>(0), result);
      for (const int64_t i : members.subspan(1)) {
        result = Combine(result, static_cast<Wide<T>>(all[i]));
      }
      return static_cast<T>(result);
    }
  }

  // If one operand is NaN, the later one counts as greater, as in TensorFlow.
  template <typename W>
  static W Combine(W a, W b) {
    if constexpr (kMaximum) {
      return a > b ? a : b;
    } else {
      return AddElements(a, b);
    }
  }

  template <typename T>
  static absl::Status SetDense(OpKernelContext& context,
                               const SparseView& input, const Axes& axes,
                               const std::vector<int64_t>& order,
                               const std::vector<Group>& groups,
                               const std::vector<T>& results,
                               const TensorShape& shape) {
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    RETURN_IF_ERROR(FillWithZeros(*output));
    auto out = output->mutable_flat<T>();
    for (size_t g = 0; g < groups.size(); ++g) {
      // An index out of bounds may still be within the memory, at the position
      // of another index, which TensorFlow uses.
      int64_t at = 0;
      for (const int d : axes.kept) {
        at = AddElements(MultiplyElements(at, input.sizes()[d]),
                         input.index(order[groups[g].begin], d));
      }
      if (at < 0 || at >= output->num_elements()) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Obtained a write index of ", at, " which is outside of bounds of ",
            "[0, ", output->num_elements(), ")"));
      }
      out[at] = results[g];
    }
    return absl::OkStatus();
  }

  template <typename T>
  absl::Status SetSparse(OpKernelContext& context, const SparseView& input,
                         const Axes& axes, const std::vector<int64_t>& order,
                         const std::vector<Group>& groups,
                         const std::vector<T>& results,
                         const TensorShape& shape) const {
    const auto count = static_cast<int64_t>(groups.size());
    ASSIGN_OR_RETURN(Tensor * indices,
                     context.AllocateOutput(0, {count, shape.rank()}));
    ASSIGN_OR_RETURN(Tensor * values, context.AllocateOutput(1, {count}));
    int64_t* out = indices->mutable_flat<int64_t>().data();
    for (const Group& group : groups) {
      for (int d = 0; d < input.rank(); ++d) {
        if (!axes.is_reduced[d]) *out++ = input.index(order[group.begin], d);
        if (axes.is_reduced[d] && keep_dims_) *out++ = 0;
      }
    }
    absl::c_copy(results, values->mutable_flat<T>().begin());
    return SetVector(context, 2, shape.dims());
  }

  const bool keep_dims_;
};

}  // namespace

void RegisterSparseReductionKernels(KernelRegistry& registry) {
  const std::map<std::string, std::vector<DataType>> numbers = {
      {"T", DataTypesOf(Numbers{})}};
  const std::map<std::string, std::vector<DataType>> reals = {
      {"T", DataTypesOf(RealNumbers{})}};
  registry.Register<SparseReductionKernel<false, false>>("SparseReduceSum",
                                                         numbers);
  registry.Register<SparseReductionKernel<false, true>>("SparseReduceSumSparse",
                                                        numbers);
  registry.Register<SparseReductionKernel<true, false>>("SparseReduceMax",
                                                        reals);
  registry.Register<SparseReductionKernel<true, true>>("SparseReduceMaxSparse",
                                                       reals);
}

}  // namespace weft
