#include "libs/kernels/math/dnnl_matmul.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "absl/status/statusor.h"
#include "libs/base/status.h"
#include "libs/kernels/common/dnnl_library.h"
#include "libs/kernels/isa/instruction_set.h"

namespace weft {
namespace {

using SharedPrimitive = std::shared_ptr<const DnnlPrimitive>;

// The number of operations below which another thread does not pay off: about
// 10 us of one core.
constexpr double kMinFlops = 4e6;
// Rows or columns of a thread's part are a multiple of this, so that its
// vectors are full.
constexpr int64_t kGranule = 32;

// oneDNN's sizes have 64 bits, but its loops over a dimension use 32.
bool FitsInt(const MatMulArgs& args) {
  constexpr int64_t kMax = std::numeric_limits<int32_t>::max();
  const auto fits = [](int64_t rows, int64_t stride) {
    return rows <= kMax && stride <= kMax && rows <= kMax / stride;
  };
  return fits(args.transpose_a ? args.k : args.m, args.a_stride) &&
         fits(args.transpose_b ? args.n : args.k, args.b_stride) &&
         fits(args.m, args.c_stride);
}

// A part of the result: some rows or some columns.
struct Piece {
  MatMulArgs args;
  int64_t a_offset, b_offset, c_offset;  // in numbers
};

std::vector<Piece> Cut(const MatMulArgs& args, int threads) {
  const double flops = 2.0 * static_cast<double>(args.m) *
                       static_cast<double>(args.n) *
                       static_cast<double>(args.k);
  const bool by_rows = args.m >= args.n;
  const int64_t total = by_rows ? args.m : args.n;
  const int64_t granules = (total + kGranule - 1) / kGranule;
  const int64_t parts = std::max<int64_t>(
      1, std::min<int64_t>(
             {threads, granules, static_cast<int64_t>(flops / kMinFlops)}));
  const int64_t step = (granules + parts - 1) / parts * kGranule;
  std::vector<Piece> pieces;
  for (int64_t i = 0; i < total; i += step) {
    Piece piece{args, 0, 0, 0};
    const int64_t count = std::min(step, total - i);
    if (by_rows) {
      piece.args.m = count;
      piece.a_offset = i * (args.transpose_a ? 1 : args.a_stride);
      piece.c_offset = i * args.c_stride;
    } else {
      piece.args.n = count;
      piece.b_offset = i * (args.transpose_b ? args.b_stride : 1);
      piece.c_offset = i;
    }
    pieces.push_back(piece);
  }
  return pieces;
}

absl::StatusOr<dnnl_memory_desc_t> LayoutOf(const DnnlLibrary& library,
                                            int64_t rows, int64_t columns,
                                            int64_t stride, bool transposed) {
  const dnnl_dims_t dims = {rows, columns};
  const dnnl_dims_t strides = {transposed ? 1 : stride,
                               transposed ? stride : 1};
  dnnl_memory_desc_t layout;
  if (library.memory_desc_init_by_strides(&layout, 2, dims, dnnl_bf16,
                                          strides) != dnnl_success) {
    return absl::UnimplementedError("oneDNN does not support the layout");
  }
  return layout;
}

absl::StatusOr<SharedPrimitive> NewPrimitive(const DnnlLibrary& library,
                                             const MatMulArgs& args) {
  ASSIGN_OR_RETURN(
      const dnnl_memory_desc_t a,
      LayoutOf(library, args.m, args.k, args.a_stride, args.transpose_a));
  ASSIGN_OR_RETURN(
      const dnnl_memory_desc_t b,
      LayoutOf(library, args.k, args.n, args.b_stride, args.transpose_b));
  ASSIGN_OR_RETURN(const dnnl_memory_desc_t c,
                   LayoutOf(library, args.m, args.n, args.c_stride, false));
  dnnl_matmul_desc_t desc;
  if (library.matmul_desc_init(&desc, &a, &b, nullptr, &c) != dnnl_success) {
    return absl::UnimplementedError("oneDNN does not support the product");
  }
  ASSIGN_OR_RETURN(DnnlDescriptor descriptor,
                   DnnlDescriptor::Create(library, &desc, nullptr));
  return DnnlPrimitive::Create(std::move(descriptor));
}

// Each part's scratchpad is aligned to a cache line.
int64_t RoundUpToLine(size_t bytes) {
  return (static_cast<int64_t>(bytes) + 63) / 64 * 64;
}

}  // namespace

// The parts of a product, and their oneDNN primitives.
class DnnlMatMul::Plan {
 public:
  static absl::StatusOr<SharedPlan> Create(const DnnlLibrary& library,
                                           const MatMulArgs& args,
                                           int threads) {
    auto plan = std::make_shared<Plan>();
    for (const Piece& piece : Cut(args, threads)) {
      ASSIGN_OR_RETURN(SharedPrimitive primitive,
                       plan->PrimitiveFor(library, piece.args));
      plan->scratchpad_ = std::max(
          plan->scratchpad_, RoundUpToLine(primitive->scratchpad_bytes()));
      plan->parts_.push_back({piece, std::move(primitive)});
    }
    return plan;
  }

  bool Run(OpKernelContext& context, const bfloat16* a, const bfloat16* b,
           bfloat16* c) const {
    const int64_t count = static_cast<int64_t>(parts_.size());
    absl::StatusOr<Tensor> room = context.AllocateTemp(
        DT_UINT8, TensorShape({count * std::max<int64_t>(64, scratchpad_)}));
    if (!room.ok()) return false;
    uint8_t* const scratchpads = room->mutable_flat<uint8_t>().data();
    const auto run = [&](int64_t i) {
      const Piece& piece = parts_[i].piece;
      return parts_[i]
          .primitive
          ->Run({{DNNL_ARG_SRC, a + piece.a_offset},
                 {DNNL_ARG_WEIGHTS, b + piece.b_offset},
                 {DNNL_ARG_DST, c + piece.c_offset}},
                scratchpads + i * scratchpad_)
          .ok();
    };
    if (count == 1) return run(0);
    std::atomic<bool> is_done{true};
    context.scheduler().ParallelFor(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (!run(i)) is_done = false;
      }
    });
    return is_done;
  }

 private:
  struct Part {
    Piece piece;
    SharedPrimitive primitive;
  };

  // Pieces of the same shape share a primitive.
  absl::StatusOr<SharedPrimitive> PrimitiveFor(const DnnlLibrary& library,
                                               const MatMulArgs& args) const {
    for (const Part& part : parts_) {
      const MatMulArgs& sizes = part.piece.args;
      if (sizes.m == args.m && sizes.n == args.n) return part.primitive;
    }
    return NewPrimitive(library, args);
  }

  std::vector<Part> parts_;  // at least one
  int64_t scratchpad_ = 0;   // bytes of a part
};

DnnlMatMul::DnnlMatMul()
    : library_(HasBfloat16Products() ? DnnlLibrary::Best() : nullptr) {}

DnnlMatMul::~DnnlMatMul() = default;

DnnlMatMul::SharedPlan DnnlMatMul::PlanFor(const MatMulArgs& args,
                                           int threads) {
  const Key key = {args.m,
                   args.n,
                   args.k,
                   args.a_stride,
                   args.b_stride,
                   args.c_stride,
                   args.transpose_a ? 1 : 0,
                   args.transpose_b ? 1 : 0};
  return plans_.Find(key,
                     [&] { return Plan::Create(*library_, args, threads); });
}

bool DnnlMatMul::Run(OpKernelContext& context, const MatMulArgs& args,
                     const bfloat16* a, const bfloat16* b, bfloat16* c) {
  if (library_ == nullptr || !FitsInt(args)) return false;
  const SharedPlan plan =
      PlanFor(args, context.scheduler().num_compute_threads());
  return plan != nullptr && plan->Run(context, a, b, c);
}

}  // namespace weft
