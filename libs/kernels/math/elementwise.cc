#include "libs/kernels/math/elementwise.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <utility>

#include "libs/base/status.h"
#include "libs/kernels/common/element_loops.h"
#include "libs/kernels/isa/instruction_set.h"
#include "libs/kernels/math/broadcast.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// The minimum number of light elements per thread: ten microseconds of work,
// about the time to start another thread.
constexpr int64_t kMinElements = 64 * 1024;

int64_t MinElements(LoopCost cost) {
  return kMinElements / static_cast<int64_t>(cost);
}

// Strings and other objects have no DataTypeSize.
int64_t ElementSize(DataType type) {
  return static_cast<int64_t>(type == DT_STRING ? sizeof(std::string)
                                                : DataTypeSize(type));
}

// One run of a binary loop over tensors, shared by the threads of a
// ParallelFor.
struct BinaryRun {
  const BinaryKernelSpec& spec;
  int64_t in_size;  // bytes of an element
  int64_t out_size;
  const char* x;
  const char* y;
  char* out;
  std::atomic<bool> ok{true};

  void Row(int64_t x_offset, int64_t x_step, int64_t y_offset, int64_t y_step,
           int64_t out_offset, int64_t n) {
    if (!spec.loop(x + x_offset * in_size, x_step, y + y_offset * in_size,
                   y_step, out + out_offset * out_size, n)) {
      ok.store(false, std::memory_order_relaxed);
    }
  }

  // One row of `n` elements.
  void OneRow(Scheduler& scheduler, int64_t n, int64_t x_step, int64_t y_step) {
    const int64_t min_range = MinElements(spec.cost);
    if (n < 2 * min_range) return Row(0, x_step, 0, y_step, 0, n);
    const auto range = [&](int64_t begin, int64_t end) {
      Row(begin * x_step, x_step, begin * y_step, y_step, begin, end - begin);
    };
    scheduler.ParallelFor(n, min_range, std::ref(range));
  }

  void AllRows(Scheduler& scheduler, const Broadcast& broadcast) {
    const int64_t size = broadcast.row_size();
    const int64_t min_rows = std::max<int64_t>(
        1, MinElements(spec.cost) / std::max<int64_t>(1, size));
    const auto range = [&](int64_t begin, int64_t end) {
      broadcast.ForEachRow(begin, end,
                           [&](int64_t row, const Broadcast::Offsets& offsets) {
                             Row(offsets[0], broadcast.step(0), offsets[1],
                                 broadcast.step(1), row * size, size);
                           });
    };
    if (broadcast.rows() < 2 * min_rows) return range(0, broadcast.rows());
    scheduler.ParallelFor(broadcast.rows(), min_rows, std::ref(range));
  }
};

class BinaryKernel : public ElementKernel {
 public:
  BinaryKernel(const OpKernelConstruction& construction,
               const BinaryKernelSpec& spec)
      : ElementKernel(construction),
        spec_(spec),
        in_size_(ElementSize(spec.in)),
        out_size_(ElementSize(spec.out)) {}

  ElementLoops loops() const override { return {.binary = spec_.loop}; }

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    const Tensor& y = context.input(1);
    // Scalars are checked first, because this is fastest.
    if (y.rank() == 0) {
      return ComputeRow(context, x.shape(), 1, x.rank() == 0 ? 1 : 0);
    }
    if (x.shape() == y.shape()) return ComputeRow(context, x.shape(), 1, 1);
    if (x.rank() == 0) return ComputeRow(context, y.shape(), 0, 1);
    return ComputeBroadcast(context);
  }

 protected:
  absl::Status ComputeBroadcast(OpKernelContext& context) {
    ASSIGN_OR_RETURN(
        Broadcast broadcast,
        Broadcast::Of(context.input(0).shape(), context.input(1).shape()));
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({0, 1}, 0, broadcast.shape()));
    BinaryRun run = RunInto(context, *out);
    if (broadcast.rows() == 1) {
      run.OneRow(context.scheduler(), broadcast.row_size(), broadcast.step(0),
                 broadcast.step(1));
    } else {
      run.AllRows(context.scheduler(), broadcast);
    }
    return Result(run);
  }

 private:
  absl::Status ComputeRow(OpKernelContext& context, const TensorShape& shape,
                          int64_t x_step, int64_t y_step) {
    ASSIGN_OR_RETURN(Tensor * out, context.ForwardOrAllocate({0, 1}, 0, shape));
    if (out->num_elements() == 0) return absl::OkStatus();
    BinaryRun run = RunInto(context, *out);
    run.OneRow(context.scheduler(), out->num_elements(), x_step, y_step);
    return Result(run);
  }

  BinaryRun RunInto(OpKernelContext& context, Tensor& out) {
    return {spec_,
            in_size_,
            out_size_,
            static_cast<const char*>(context.input(0).data()),
            static_cast<const char*>(context.input(1).data()),
            static_cast<char*>(out.mutable_data())};
  }

  absl::Status Result(const BinaryRun& run) {
    if (run.ok.load(std::memory_order_relaxed)) return absl::OkStatus();
    return absl::InvalidArgumentError(spec_.domain_error);
  }

  const BinaryKernelSpec spec_;
  const int64_t in_size_;
  const int64_t out_size_;
};

// Equal and NotEqual with `incompatible_shape_error` false.
class LenientEqualityKernel : public BinaryKernel {
 public:
  LenientEqualityKernel(const OpKernelConstruction& construction,
                        const BinaryKernelSpec& spec)
      : BinaryKernel(construction, spec), unequal_(spec.op == "NotEqual") {}

  absl::Status Compute(OpKernelContext& context) override {
    const TensorShape& x = context.input(0).shape();
    const TensorShape& y = context.input(1).shape();
    if (x == y || BroadcastShape(x, y).ok()) {
      return BinaryKernel::Compute(context);
    }
    ASSIGN_OR_RETURN(Tensor * out, context.AllocateOutput(0, TensorShape()));
    out->mutable_scalar<bool>() = unequal_;
    return absl::OkStatus();
  }

 private:
  const bool unequal_;
};

// Concatenates strings. Both inputs are broadcast evenly.
class StringSumKernel : public BinaryKernel {
 public:
  using BinaryKernel::BinaryKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(
        const TensorShape shape,
        BroadcastShape(context.input(0).shape(), context.input(1).shape()));
    HeapCharge charge(context.host_allocator());
    for (int i = 0; i < 2 && shape.num_elements() > 0; ++i) {
      size_t bytes = 0;
      for (const std::string& text : context.input(i).flat<std::string>()) {
        bytes += text.size();
      }
      RETURN_IF_ERROR(charge.AddObjects(
          shape.num_elements() / context.input(i).num_elements(), bytes));
    }
    return BinaryKernel::Compute(context);
  }
};

class UnaryKernel : public ElementKernel {
 public:
  UnaryKernel(const OpKernelConstruction& construction,
              const UnaryKernelSpec& spec)
      : ElementKernel(construction), loop_(spec.loop), cost_(spec.cost) {}

  ElementLoops loops() const override { return {.unary = loop_}; }

  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    ASSIGN_OR_RETURN(Tensor * out,
                     context.ForwardOrAllocate({0}, 0, x.shape()));
    RunUnaryLoop(context.scheduler(), loop_, cost_, x, *out);
    return absl::OkStatus();
  }

 private:
  const UnaryLoop loop_;
  const LoopCost cost_;
};

template <typename Spec>
KernelDef Definition(const Spec& spec) {
  KernelDef def{spec.op};
  if (!spec.type_attr.empty()) def.types[spec.type_attr] = {spec.in};
  if (!spec.out_attr.empty()) def.types[spec.out_attr] = {spec.out};
  def.is_cheap = spec.cost == LoopCost::kLight;
  return def;
}

std::optional<LoopType> LoopTypeOf(DataType type) {
  switch (type) {
    case DT_FLOAT:
      return LoopType::kFloat;
    case DT_DOUBLE:
      return LoopType::kDouble;
    case DT_HALF:
      return LoopType::kHalf;
    case DT_BFLOAT16:
      return LoopType::kBfloat16;
    case DT_INT32:
      return LoopType::kInt32;
    case DT_INT64:
      return LoopType::kInt64;
    default:
      return std::nullopt;
  }
}

}  // namespace

void RegisterBinaryKernel(KernelRegistry& registry, BinaryKernelSpec spec) {
  KernelDef def = Definition(spec);
  registry.Register(
      std::move(def),
      [spec](const OpKernelConstruction& construction)
          -> absl::StatusOr<std::unique_ptr<OpKernel>> {
        const bool* strict =
            construction.node().attr<bool>("incompatible_shape_error");
        if (strict != nullptr && !*strict) {
          return std::make_unique<LenientEqualityKernel>(construction, spec);
        }
        if (spec.out == DT_STRING) {
          return std::make_unique<StringSumKernel>(construction, spec);
        }
        return std::make_unique<BinaryKernel>(construction, spec);
      });
}

void RegisterUnaryKernel(KernelRegistry& registry, UnaryKernelSpec spec) {
  KernelDef def = Definition(spec);
  registry.Register(std::move(def),
                    [spec](const OpKernelConstruction& construction)
                        -> absl::StatusOr<std::unique_ptr<OpKernel>> {
                      return std::make_unique<UnaryKernel>(construction, spec);
                    });
}

void RunUnaryLoop(Scheduler& scheduler, UnaryLoop loop, LoopCost cost,
                  const Tensor& x, Tensor& out) {
  const int64_t n = x.num_elements();
  const char* from = static_cast<const char*>(x.data());
  char* to = static_cast<char*>(out.mutable_data());
  const int64_t min_range = MinElements(cost);
  if (n == 0) return;
  if (n < 2 * min_range) return loop(from, to, n);
  const int64_t in_size = ElementSize(x.dtype());
  const int64_t out_size = ElementSize(out.dtype());
  const auto range = [&](int64_t begin, int64_t end) {
    loop(from + begin * in_size, to + begin * out_size, end - begin);
  };
  scheduler.ParallelFor(n, min_range, std::ref(range));
}

const ElementwiseFunctions& BestElementwise() {
  static const ElementwiseFunctions functions =
      ForInstructionSet(BestInstructionSet(), &v1::Elementwise,
                        &v3::Elementwise, &v4::Elementwise)();
  return functions;
}

BinaryLoop BestBinaryLoop(const char* name, DataType type,
                          BinaryLoop otherwise) {
  const std::optional<LoopType> loop_type = LoopTypeOf(type);
  if (!loop_type) return otherwise;
  BinaryLoop loop = BestElementwise().find_binary(name, *loop_type);
  return loop != nullptr ? loop : otherwise;
}

UnaryLoop BestUnaryLoop(const char* name, DataType type, UnaryLoop otherwise) {
  const std::optional<LoopType> loop_type = LoopTypeOf(type);
  if (!loop_type) return otherwise;
  UnaryLoop loop = BestElementwise().find_unary(name, *loop_type);
  return loop != nullptr ? loop : otherwise;
}

const FloatLoops& BestFloatLoops() {
  const auto binary = [](const char* name) {
    return BestElementwise().find_binary(name, LoopType::kFloat);
  };
  const auto unary = [](const char* name) {
    return BestElementwise().find_unary(name, LoopType::kFloat);
  };
  static const FloatLoops loops = {.add = binary("Add"),
                                   .subtract = binary("Sub"),
                                   .multiply = binary("Mul"),
                                   .divide = binary("Div"),
                                   .maximum = binary("Maximum"),
                                   .square = unary("Square"),
                                   .log = unary("Log"),
                                   .exp = unary("Exp"),
                                   .rsqrt = unary("Rsqrt"),
                                   .reciprocal = unary("Reciprocal")};
  return loops;
}

}  // namespace weft
