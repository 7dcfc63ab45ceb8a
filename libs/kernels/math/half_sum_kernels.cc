// Sum of half, rounded to half after each addition in TensorFlow's order, so
// that results are bitwise equal; summing in float would be more accurate.
#include <algorithm>
#include <memory>
#include <vector>

#include "libs/base/status.h"
#include "libs/kernels/common/narrow_sum.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/math/axes.h"
#include "libs/kernels/math/math_kernels.h"
#include "libs/kernels/math/planned_reduction.h"

namespace weft {
namespace {

using HalfSum = NarrowSum<half>;

// A reduction in progress. The shape determines TensorFlow's order.
class HalfReduction {
 public:
  HalfReduction(const ReductionPlan& plan, const half* in, half* out)
      : plan_(plan), in_(in), out_(out), count_(plan.reduced_count()) {}

  void Run(OpKernelContext& context, int64_t results) const {
    ParallelLoop(context, results, count_, [&](int64_t begin, int64_t end) {
      if (HasColumns()) return SumColumns(begin, end, results);
      for (int64_t i = begin; i < end; ++i) out_[i] = SumOf(i);
    });
  }

 private:
  bool HasColumns() const {
    return !plan_.inner_is_reduced() && plan_.outer_kept().size() <= 1 &&
           plan_.outer_reduced().size() == 1;
  }

  // Result `i` of a reduction without columns.
  half SumOf(int64_t i) const {
    const bool has_one_dim = plan_.outer_reduced().empty();
    if (has_one_dim) return HalfSum::Of(in_ + i * count_, count_, i * count_);
    const bool has_two_dims = plan_.inner_is_reduced() &&
                              plan_.outer_kept().size() == 1 &&
                              plan_.outer_reduced().size() == 1;
    if (has_two_dims) return SumAcross(in_ + i * plan_.inner_size());
    // TensorFlow first makes the elements contiguous.
    const std::vector<half> row = Gather(i);
    return HalfSum::Of(row.data(), count_, i * count_);
  }

  // Sums over the outer dimension first, one element after another.
  half SumAcross(const half* x) const {
    const ReductionPlan::Dim outer = plan_.outer_reduced().front();
    half sum(0.0f);
    for (int64_t j = 0; j < plan_.inner_size(); ++j) {
      sum = HalfSum::Continue(sum, x + j, outer.size, outer.stride);
    }
    return sum;
  }

  // The elements of result `i`, in row-major order.
  std::vector<half> Gather(int64_t i) const {
    const int64_t inner = plan_.inner_size();
    const bool is_run = plan_.inner_is_reduced();
    const int64_t column = is_run ? 0 : i % inner;
    const DimWalker kept(plan_.outer_kept(), is_run ? i : i / inner);
    const half* from = in_ + kept.offset() + column;
    const int64_t run = is_run ? inner : 1;
    std::vector<half> row(count_);
    DimWalker walker(plan_.outer_reduced());
    for (int64_t at = 0; at < count_; at += run, walker.Next()) {
      std::copy_n(from + walker.offset(), run, row.begin() + at);
    }
    return row;
  }

  // Eight adjacent columns are summed in parallel if they are in one vector of
  // the output, others one by one.
  void SumColumns(int64_t begin, int64_t end, int64_t results) const {
    const int64_t inner = plan_.inner_size();
    const ReductionPlan::Dim rows = plan_.outer_reduced().front();
    for (int64_t i = begin; i < end;) {
      const half* x = in_ + i / inner * rows.size * inner + i % inner;
      const int64_t next = std::min(EndOfVectors(i, results), end);
      if (next > i) {
        HalfSum::OfLanes(x, rows.size, rows.stride, next - i, out_ + i);
        i = next;
      } else {
        out_[i++] = HalfSum::Continue(half(0.0f), x, rows.size, rows.stride);
      }
    }
  }

  // The end of the full, consecutive output vectors in one row, if result `i`
  // is in the first of them; otherwise at most `i`.
  int64_t EndOfVectors(int64_t i, int64_t results) const {
    constexpr int64_t kLanes = HalfSum::kLanes;
    const int64_t inner = plan_.inner_size();
    const int64_t begin = i / kLanes * kLanes;
    const int64_t row = i / inner * inner;
    if (begin < row) return i;
    return std::min(row + inner, results) / kLanes * kLanes;
  }

  const ReductionPlan& plan_;
  const half* const in_;
  half* const out_;
  const int64_t count_;
};

class HalfSumKernel : public PlannedReduction {
 public:
  using PlannedReduction::PlannedReduction;

 private:
  void Reduce(OpKernelContext& context, const ReductionPlan& plan,
              const Tensor& input, Tensor& out) override {
    const absl::Span<half> sums = out.mutable_flat<half>();
    if (input.num_elements() == 0) {
      std::fill(sums.begin(), sums.end(), half(0.0f));
      return;
    }
    HalfReduction(plan, input.flat<half>().data(), sums.data())
        .Run(context, out.num_elements());
  }
};

}  // namespace

void RegisterHalfSumKernel(KernelRegistry& registry) {
  registry.Register(
      {.op = "Sum", .types = {{"T", {DT_HALF}}}, .is_cheap = true},
      [](const OpKernelConstruction& construction)
          -> absl::StatusOr<std::unique_ptr<OpKernel>> {
        ASSIGN_OR_RETURN(const bool keep_dims,
                         construction.GetAttr<bool>("keep_dims"));
        return std::make_unique<HalfSumKernel>(construction, keep_dims);
      });
}

}  // namespace weft
