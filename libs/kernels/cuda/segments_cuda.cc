// SegmentSum, SegmentMean, SparseSegmentSum, -Mean, -SqrtN and their gradients
// on GPUs. Ids and indices are in host memory, because the shape of the result
// depends on them. They are checked as on a CPU, and the resulting sums are
// copied to the GPU.
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/casts.h"
#include "absl/types/span.h"
#include "libs/base/status.h"
#include "libs/kernels/array/chosen_rows.h"
#include "libs/kernels/array/segment_ids.h"
#include "libs/kernels/cuda/array.cu.h"
#include "libs/kernels/cuda/cuda_context.h"
#include "libs/kernels/cuda/cuda_kernels.h"
#include "libs/kernels/cuda/patterns.h"

namespace weft {
namespace {

// cuda::ChosenRows, in host memory.
struct SumsOfRows {
  Dims chosen, begins, targets;
  std::vector<double> scales, divisors;  // may be empty

  // Starts a sum.
  void AddTarget(int64_t target) {
    targets.push_back(target);
    begins.push_back(static_cast<int64_t>(chosen.size()));
  }
};

// Packs all parts for a single copy.
std::vector<int64_t> Packed(const SumsOfRows& sums) {
  std::vector<int64_t> all(sums.chosen.begin(), sums.chosen.end());
  all.insert(all.end(), sums.begins.begin(), sums.begins.end());
  all.insert(all.end(), sums.targets.begin(), sums.targets.end());
  for (const auto* doubles : {&sums.scales, &sums.divisors}) {
    for (const double number : *doubles) {
      all.push_back(absl::bit_cast<int64_t>(number));
    }
  }
  return all;
}

// Writes sums of rows of `in` to `out`; the other rows become 0.
absl::Status Sum(OpKernelContext& context, SumsOfRows sums, const Tensor& in,
                 Tensor& out) {
  RETURN_IF_ERROR(SetToZero(context, out));
  if (out.num_elements() == 0 || sums.targets.empty()) return absl::OkStatus();
  sums.begins.push_back(static_cast<int64_t>(sums.chosen.size()));
  ASSIGN_OR_RETURN(const Tensor numbers, Upload(context, Packed(sums)));
  cuda::ChosenRows rows;
  rows.targets_count = static_cast<int64_t>(sums.targets.size());
  rows.row = out.num_elements() / out.dim(0);
  rows.chosen = static_cast<const int64_t*>(numbers.data());
  rows.begins = rows.chosen + sums.chosen.size();
  rows.targets = rows.begins + sums.begins.size();
  const auto* const doubles =
      reinterpret_cast<const double*>(rows.targets + sums.targets.size());
  if (!sums.scales.empty()) rows.scales = doubles;
  if (!sums.divisors.empty()) rows.divisors = doubles + sums.scales.size();
  LaunchSumsOfRows(ElementTypeOf(in.dtype()), rows, in.data(),
                   out.mutable_data(), StreamOf(context));
  return LaunchStatus();
}

// Adds the sums of the rows of each id; equal ids are consecutive.
void AddSegments(SparseReduction reduction, const Dims& ids,
                 const Dims& indices, SumsOfRows& sums) {
  for (size_t begin = 0, end = 0; begin < ids.size(); begin = end) {
    sums.AddTarget(ids[begin]);
    while (end < ids.size() && ids[end] == ids[begin]) {
      sums.chosen.push_back(indices[end++]);
    }
    if (reduction == SparseReduction::kSum) continue;
    sums.divisors.push_back(
        Divisor(reduction, static_cast<int64_t>(end - begin)));
  }
}

// SegmentSum and SegmentMean.
class SegmentKernel : public OpKernel {
 public:
  SegmentKernel(const OpKernelConstruction& construction,
                SparseReduction reduction)
      : OpKernel(construction), reduction_(reduction) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const Segments segments, PrepareSegments(context));
    Dims rows(segments.ids.size());
    std::iota(rows.begin(), rows.end(), 0);
    SumsOfRows sums;
    AddSegments(reduction_, segments.ids, rows, sums);
    return Sum(context, std::move(sums), context.input(0), *segments.output);
  }

 private:
  const SparseReduction reduction_;
};

class SparseSegmentKernel : public OpKernel {
 public:
  SparseSegmentKernel(const OpKernelConstruction& construction,
                      SparseReduction reduction)
      : OpKernel(construction), reduction_(reduction) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const SparseSegments segments,
                     PrepareSparseSegments(context));
    SumsOfRows sums;
    AddSegments(reduction_, segments.ids, segments.indices, sums);
    return Sum(context, std::move(sums), context.input(0), *segments.output);
  }

 private:
  const SparseReduction reduction_;
};

// Adds row ids[i] of the gradient, divided as in the forward kernel, to row
// indices[i] of the output.
class SparseSegmentGradKernel : public OpKernel {
 public:
  SparseSegmentGradKernel(const OpKernelConstruction& construction,
                          SparseReduction reduction)
      : OpKernel(construction), reduction_(reduction) {}

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& grad = context.input(0);
    ASSIGN_OR_RETURN(const SparseSegments segments,
                     PrepareSparseSegmentGradient(context));
    return Sum(context, SumsOf(segments.indices, segments.ids, grad.dim(0)),
               grad, *segments.output);
  }

 private:
  SumsOfRows SumsOf(const Dims& indices, const Dims& ids,
                    int64_t segments) const {
    Dims counts(segments, 0);
    for (const int64_t id : ids) ++counts[id];
    Dims order(indices.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      return indices[a] < indices[b];
    });
    SumsOfRows sums;
    for (const int64_t i : order) {
      const bool is_new =
          sums.targets.empty() || sums.targets.back() != indices[i];
      if (is_new) sums.AddTarget(indices[i]);
      sums.chosen.push_back(ids[i]);
      if (reduction_ == SparseReduction::kSum) continue;
      sums.scales.push_back(1 / Divisor(reduction_, counts[ids[i]]));
    }
    return sums;
  }

  const SparseReduction reduction_;
};

// DynamicStitch and ParallelDynamicStitch, with indices in host memory. Later
// rows win; rows without data are zero.
class StitchKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    const int count = context.num_inputs() / 2;
    ASSIGN_OR_RETURN(const int64_t rows, CountStitchedRows(context, count));
    ASSIGN_OR_RETURN(const TensorShape shape,
                     ShapeOfRows(rows, context.input(count).shape(),
                                 context.input(0).rank()));
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, shape));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const int64_t bytes = shape.num_elements() / rows * ElementSize(*out);
    const std::vector<Row> last = LastRows(context, count, bytes);
    const auto set = static_cast<int64_t>(last.size());
    if (set < rows) RETURN_IF_ERROR(SetToZero(context, *out));
    if (set == 0) return absl::OkStatus();
    std::vector<int64_t> pairs;
    for (const Row& row : last) pairs.insert(pairs.end(), {row.to, row.from});
    ASSIGN_OR_RETURN(const Tensor numbers, Upload(context, pairs));
    cuda::LaunchRowsFrom(set, bytes,
                         static_cast<const int64_t*>(numbers.data()),
                         out->mutable_data(), StreamOf(context));
    return LaunchStatus();
  }

 private:
  struct Row {
    int64_t to, from;  // numbers of the target row and the source row
  };

  // For each row with data, the last one given.
  static std::vector<Row> LastRows(const OpKernelContext& context, int count,
                                   int64_t bytes) {
    std::vector<Row> rows;
    for (int i = count - 1; i >= 0; --i) {
      const auto data =
          reinterpret_cast<intptr_t>(context.input(count + i).data());
      const absl::Span<const int32_t> places = context.input(i).flat<int32_t>();
      for (int64_t j = static_cast<int64_t>(places.size()) - 1; j >= 0; --j) {
        rows.push_back({places[j], data + j * bytes});
      }
    }
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.to < b.to; });
    rows.erase(
        std::unique(rows.begin(), rows.end(),
                    [](const Row& a, const Row& b) { return a.to == b.to; }),
        rows.end());
    return rows;
  }
};

template <typename Kernel>
void Register(KernelRegistry& registry, const std::string& op,
              SparseReduction reduction, std::vector<std::string> host_memory) {
  KernelDef def = DefOf(op, CudaFloats());
  def.host_memory = std::move(host_memory);
  RegisterForGpu<Kernel>(registry, std::move(def), reduction);
}

}  // namespace

void RegisterCudaSegmentKernels(KernelRegistry& registry) {
  for (const char* op : {"DynamicStitch", "ParallelDynamicStitch"}) {
    KernelDef def = DefOf(op, CudaNumbers());
    def.host_memory = {"indices"};
    RegisterForGpu<StitchKernel>(registry, std::move(def));
  }
  Register<SegmentKernel>(registry, "SegmentSum", SparseReduction::kSum,
                          {"segment_ids"});
  Register<SegmentKernel>(registry, "SegmentMean", SparseReduction::kMean,
                          {"segment_ids"});
  const std::pair<std::string, SparseReduction> ops[] = {
      {"SparseSegmentSum", SparseReduction::kSum},
      {"SparseSegmentMean", SparseReduction::kMean},
      {"SparseSegmentSqrtN", SparseReduction::kSqrtN}};
  for (const auto& [op, reduction] : ops) {
    Register<SparseSegmentKernel>(registry, op, reduction,
                                  {"indices", "segment_ids"});
    Register<SparseSegmentGradKernel>(
        registry, op + "Grad", reduction,
        {"indices", "segment_ids", "output_dim0"});
    if (reduction == SparseReduction::kSqrtN) continue;
    Register<SparseSegmentGradKernel>(
        registry, op + "GradV2", reduction,
        {"indices", "segment_ids", "dense_output_dim0",
         "sorted_unique_indices"});
  }
}

}  // namespace weft
