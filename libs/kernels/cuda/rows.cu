// Launches of reductions, softmax and cross entropy: a block, or a part of one,
// computes each result, and combines its threads' parts in a fixed order.
#include "libs/kernels/cuda/dims.cu.h"
#include "libs/kernels/cuda/elements.cu.h"
#include "libs/kernels/cuda/math.cu.h"

namespace weft::cuda {
namespace {

// Infinity; the 16-bit floats use float's.
template <typename T>
__device__ T Infinity() {
  return static_cast<T>(__int_as_float(0x7f800000));
}

template <typename T>
__device__ T Lowest() {
  if constexpr (std::is_floating_point_v<T>) {
    return -Infinity<T>();
  } else if constexpr (sizeof(T) == 1) {
    return T(0);  // for bool
  } else {
    return static_cast<T>(T(1) << (sizeof(T) * 8 - 1));
  }
}

template <typename T>
__device__ T Highest() {
  if constexpr (std::is_floating_point_v<T>) {
    return Infinity<T>();
  } else if constexpr (sizeof(T) == 1) {
    return T(1);
  } else {
    return static_cast<T>(~Lowest<T>());
  }
}

template <typename T>
__device__ T IdentityOf(Reduction op) {
  switch (op) {
    case Reduction::kProd:
      return T(1);
    case Reduction::kMax:
      return Lowest<T>();
    case Reduction::kMin:
      return Highest<T>();
    default:
      return T(0);
  }
}

template <typename T>
__device__ T Join(Reduction op, T x, T y) {
  switch (op) {
    case Reduction::kProd:
      return Apply(BinaryOp::kMul, x, y);
    case Reduction::kMax:
      return Apply(BinaryOp::kMaximum, x, y);
    case Reduction::kMin:
      return Apply(BinaryOp::kMinimum, x, y);
    default:
      return Apply(BinaryOp::kAdd, x, y);
  }
}

// Reduces over the threads of a block with the same threadIdx.x, for all of
// them; blockDim.y is a power of two. `shared` has one element per thread.
template <typename T>
__device__ T JoinColumn(Reduction op, T part, T* shared) {
  const unsigned width = blockDim.x;
  T* const mine = shared + threadIdx.y * width + threadIdx.x;
  __syncthreads();
  *mine = part;
  for (unsigned step = blockDim.y / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.y < step) *mine = Join(op, *mine, mine[step * width]);
  }
  __syncthreads();
  return shared[threadIdx.x];
}

// Threads with the same threadIdx.x compute one result at a time. If the
// innermost dimension is kept, adjacent threads read adjacent elements; if it
// is reduced, a block has a single column of threads, which do so. blockIdx.y
// is the part of the reduced elements, and its row of `out`.
template <typename T, typename Out>
__global__ void Reduce(ReductionArgs args, int64_t part_size, const T* x,
                       Out* out) {
  using W = Wide<T>;
  __shared__ W shared[kThreads];
  const int64_t kept = args.kept;
  const int64_t begin = blockIdx.y * part_size;
  const int64_t end =
      begin + part_size < args.reduced ? begin + part_size : args.reduced;
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  // All threads of a block run the same rounds, because they synchronize.
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x;
       first < kept; first += step) {
    const int64_t i = first + threadIdx.x;
    W part = IdentityOf<W>(args.op);
    if (i < kept) {
      const T* const from = x + OffsetsAt<1>(args.kept_dims, kept, i).of[0];
      for (int64_t r = begin + threadIdx.y; r < end; r += blockDim.y) {
        const W value = ToWide(
            from[OffsetsAt<1>(args.reduced_dims, args.reduced, r).of[0]]);
        part = Join(args.op, part, args.squares ? W(value * value) : value);
      }
    }
    W sum = JoinColumn(args.op, part, shared);
    if constexpr (std::is_floating_point_v<W>) {
      if (args.divisor != 0) sum /= static_cast<W>(args.divisor);
    }
    if (i < kept && threadIdx.y == 0) {
      out[blockIdx.y * kept + i] = FromWide<Out>(sum);
    }
  }
}

// The maximum number of parts, and their minimum size, if there are too few
// results to occupy the GPU.
constexpr int64_t kMostParts = 256;
constexpr int64_t kLeastPart = 4096;
constexpr int64_t kFewResults = 4096;

int64_t PartsOf(const ReductionArgs& args) {
  if (args.kept > kFewResults || args.reduced < 2 * kLeastPart) return 1;
  const int64_t parts = args.reduced / kLeastPart;
  return parts < kMostParts ? parts : kMostParts;
}

template <typename T, typename Out>
void Launch(const ReductionArgs& args, int64_t parts, const T* x, Out* out,
            cudaStream_t stream) {
  const bool is_inner_kept =
      args.kept_dims.rank > 0 && args.kept_dims.strides[0][0] == 1;
  const dim3 threads =
      is_inner_kept ? dim3(32, kThreads / 32) : dim3(1, kThreads);
  const dim3 blocks(BlocksFor(args.kept, static_cast<int>(threads.x)),
                    static_cast<unsigned>(parts));
  Reduce<T, Out><<<blocks, threads, 0, stream>>>(
      args, (args.reduced + parts - 1) / parts, x, out);
}

// Sums the parts' results, each of which is a row.
ReductionArgs OfParts(const ReductionArgs& args, int64_t parts) {
  ReductionArgs rest = args;
  rest.squares = false;
  rest.kept_dims = {};
  rest.kept_dims.rank = 1;
  rest.kept_dims.sizes[0] = args.kept;
  rest.kept_dims.strides[0][0] = 1;
  rest.reduced_dims = {};
  rest.reduced_dims.rank = 1;
  rest.reduced_dims.sizes[0] = parts;
  rest.reduced_dims.strides[0][0] = args.kept;
  rest.reduced = parts;
  return rest;
}

template <typename T>
void LaunchAll(const ReductionArgs& args, const void* x, void* scratch,
               void* out, cudaStream_t stream) {
  using W = Wide<T>;
  const int64_t parts = PartsOf(args);
  if (parts == 1) {
    return Launch(args, 1, static_cast<const T*>(x), static_cast<T*>(out),
                  stream);
  }
  ReductionArgs first = args;
  first.divisor = 0;
  Launch(first, parts, static_cast<const T*>(x), static_cast<W*>(scratch),
         stream);
  Launch(OfParts(args, parts), 1, static_cast<const W*>(scratch),
         static_cast<T*>(out), stream);
}

template <typename T, typename Index>
__global__ void ArgExtreme(bool is_max, int64_t outer, int64_t size,
                           int64_t inner, const T* x, Index* out) {
  const int64_t n = outer * inner;
  for (int64_t i = FirstItem(); i < n; i += ItemStep()) {
    const T* const column = x + i / inner * size * inner + i % inner;
    Wide<T> best_value = ToWide(column[0]);
    // As on the CPU: a value beats NaN if it beats infinity.
    if (best_value != best_value) {
      best_value = is_max ? Lowest<Wide<T>>() : Highest<Wide<T>>();
    }
    int64_t best = 0;
    for (int64_t s = 1; s < size; ++s) {
      const Wide<T> value = ToWide(column[s * inner]);
      if (!(is_max ? value > best_value : value < best_value)) continue;
      best = s;
      best_value = value;
    }
    out[i] = static_cast<Index>(best);
  }
}

template <typename W>
struct RowSums {
  W most, sum;
};

// The maximum of a row, and the sum of exp(x - most).
template <typename T>
__device__ RowSums<Wide<T>> SumsOf(const T* x, int64_t step, int64_t classes,
                                   Wide<T>* shared) {
  using W = Wide<T>;
  W most = -Infinity<W>();
  for (int64_t c = threadIdx.y; c < classes; c += blockDim.y) {
    most = Apply(BinaryOp::kMaximum, most, ToWide(x[c * step]));
  }
  most = JoinColumn(Reduction::kMax, most, shared);
  W sum = 0;
  for (int64_t c = threadIdx.y; c < classes; c += blockDim.y) {
    sum += exp(ToWide(x[c * step]) - most);
  }
  return {most, JoinColumn(Reduction::kSum, sum, shared)};
}

// `out` may be `logits`.
template <typename T>
__global__ void Softmax(bool is_log, int64_t rows, int64_t classes,
                        const T* logits, T* out) {
  using W = Wide<T>;
  __shared__ W shared[kThreads];
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T* const x = logits + r * classes;
    const RowSums<W> sums = SumsOf(x, 1, classes, shared);
    for (int64_t c = threadIdx.y; c < classes; c += blockDim.y) {
      const W shifted = ToWide(x[c]) - sums.most;
      const W result = is_log ? shifted - log(sums.sum)
                              : static_cast<W>(exp(shifted)) / sums.sum;
      out[r * classes + c] = FromWide<T>(result);
    }
  }
}

// `backprop` may be `logits`: only the writing thread still reads the element.
template <typename T, typename Label>
__global__ void CrossEntropy(CrossEntropyArgs args, const T* logits,
                             const Label* labels, T* loss, T* backprop) {
  using W = Wide<T>;
  __shared__ W shared[kThreads];
  const int64_t classes = args.classes;
  const int64_t step = args.logits_steps.column;
  for (int64_t r = blockIdx.x; r < args.rows; r += gridDim.x) {
    const T* const x = logits + r * args.logits_steps.row;
    const Label* const y = labels + r * args.labels_steps.row;
    const RowSums<W> sums = SumsOf(x, step, classes, shared);
    const W log_sum = log(sums.sum);
    W part = 0;
    for (int64_t c = threadIdx.y; c < classes; c += blockDim.y) {
      const W shifted = ToWide(x[c * step]) - sums.most;
      W label;
      if constexpr (std::is_integral_v<Label>) {
        const auto wanted = static_cast<int64_t>(*y);
        const bool is_class = wanted >= 0 && wanted < classes;
        label = is_class ? W(wanted == c) : Infinity<W>() - Infinity<W>();
      } else {
        label = ToWide(y[c * args.labels_steps.column]);
      }
      // A label of 0 is ignored, whatever the logit is.
      if (label != W(0)) part += label * (log_sum - shifted);
      const W probability = static_cast<W>(exp(shifted)) / sums.sum;
      backprop[r * classes + c] = FromWide<T>(probability - label);
    }
    const W sum = JoinColumn(Reduction::kSum, part, shared);
    if (threadIdx.y == 0) loss[r] = FromWide<T>(sum);
  }
}

}  // namespace

int64_t ReductionScratch(const ReductionArgs& args) {
  constexpr int64_t kMostSize = sizeof(double);
  const int64_t parts = PartsOf(args);
  return parts == 1 ? 0 : parts * args.kept * kMostSize;
}

void LaunchReduction(const ReductionArgs& args, const void* x, void* scratch,
                     void* out, cudaStream_t stream) {
  const auto launch = [&](auto tag) {
    LaunchAll<typename decltype(tag)::type>(args, x, scratch, out, stream);
  };
  if (args.type == ElementType::kBool) return launch(Tag<uint8_t>());
  if (args.type == ElementType::kInt32) return launch(Tag<int32_t>());
  ForNumbers(args.type, launch);
}

void LaunchArgExtreme(bool is_max, ElementType type, ElementType index_type,
                      int64_t outer, int64_t size, int64_t inner, const void* x,
                      void* out, cudaStream_t stream) {
  const unsigned blocks = BlocksFor(outer * inner);
  const auto launch = [&](auto tag) {
    using T = typename decltype(tag)::type;
    const T* const from = static_cast<const T*>(x);
    if (index_type == ElementType::kInt32) {
      ArgExtreme<<<blocks, kThreads, 0, stream>>>(
          is_max, outer, size, inner, from, static_cast<int32_t*>(out));
    } else {
      ArgExtreme<<<blocks, kThreads, 0, stream>>>(
          is_max, outer, size, inner, from, static_cast<int64_t*>(out));
    }
  };
  if (type == ElementType::kBool) return launch(Tag<uint8_t>());
  ForFloats(type, launch);
}

void LaunchSoftmax(ElementType type, bool is_log, int64_t rows, int64_t classes,
                   const void* logits, void* out, cudaStream_t stream) {
  ForFloats(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Softmax<T><<<BlocksFor(rows, 1), dim3(1, kThreads), 0, stream>>>(
        is_log, rows, classes, static_cast<const T*>(logits),
        static_cast<T*>(out));
  });
}

void LaunchCrossEntropy(const CrossEntropyArgs& args, const void* logits,
                        const void* labels, void* loss, void* backprop,
                        cudaStream_t stream) {
  ForFloats(args.type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto launch = [&](auto label_tag) {
      using Label = typename decltype(label_tag)::type;
      CrossEntropy<T, Label>
          <<<BlocksFor(args.rows, 1), dim3(1, kThreads), 0, stream>>>(
              args, static_cast<const T*>(logits),
              static_cast<const Label*>(labels), static_cast<T*>(loss),
              static_cast<T*>(backprop));
    };
    if (args.label_type == ElementType::kInt32) return launch(Tag<int32_t>());
    if (args.label_type == ElementType::kInt64) return launch(Tag<int64_t>());
    launch(tag);
  });
}

}  // namespace weft::cuda
