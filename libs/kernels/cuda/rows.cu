// Reductions, softmax and cross entropy: a block or a part of one for each
// result, whose threads' parts are joined in a fixed order.
#include "libs/kernels/cuda/elements.cu.h"
#include "libs/kernels/cuda/math.cu.h"

namespace weft::cuda {
namespace {

// Infinity, which the 16-bit floats reach as floats.
template <typename T>
__device__ T Infinity() {
  return static_cast<T>(__int_as_float(0x7f800000));
}

template <typename T>
__device__ T IdentityOf(Reduction op) {
  switch (op) {
    case Reduction::kProd:
      return T(1);
    case Reduction::kMax:
      return -Infinity<T>();
    case Reduction::kMin:
      return Infinity<T>();
    default:
      return T(0);
  }
}

template <typename T>
__device__ T Join(Reduction op, T x, T y) {
  switch (op) {
    case Reduction::kProd:
      return x * y;
    case Reduction::kMax:
      return Apply(BinaryOp::kMaximum, x, y);
    case Reduction::kMin:
      return Apply(BinaryOp::kMinimum, x, y);
    default:
      return x + y;
  }
}

__device__ int64_t OffsetAt(const Dims& dims, int64_t i) {
  int64_t offset = 0;
  for (int d = 0; d < dims.rank; ++d) {
    offset += i % dims.sizes[d] * dims.strides[0][d];
    i /= dims.sizes[d];
  }
  return offset;
}

// Of the threads of a block that share threadIdx.x, in all of them; blockDim.y
// is a power of two. `shared` has a place for each thread.
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

// Threads of one threadIdx.x make one result at a time. Where the innermost
// dimension is kept, neighbours read neighbours; where it is reduced, a block
// has a single column of threads, which do.
template <typename T>
__global__ void Reduce(Reduction op, Dims kept_dims, int64_t kept,
                       Dims reduced_dims, int64_t reduced, const T* x, T* out) {
  using W = Wide<T>;
  __shared__ W shared[kThreads];
  const int64_t step = static_cast<int64_t>(gridDim.x) * blockDim.x;
  // All threads of a block make the same rounds: they wait for each other.
  for (int64_t first = static_cast<int64_t>(blockIdx.x) * blockDim.x;
       first < kept; first += step) {
    const int64_t i = first + threadIdx.x;
    W part = IdentityOf<W>(op);
    if (i < kept) {
      const T* const from = x + OffsetAt(kept_dims, i);
      for (int64_t r = threadIdx.y; r < reduced; r += blockDim.y) {
        part = Join(op, part, ToWide(from[OffsetAt(reduced_dims, r)]));
      }
    }
    W sum = JoinColumn(op, part, shared);
    if (op == Reduction::kMean) sum /= static_cast<W>(reduced);
    if (i < kept && threadIdx.y == 0) out[i] = FromWide<T>(sum);
  }
}

template <typename W>
struct RowSums {
  W most, sum;
};

// The largest of a row, and the sum of exp(x - most).
template <typename T>
__device__ RowSums<Wide<T>> SumsOf(const T* x, int64_t classes,
                                   Wide<T>* shared) {
  using W = Wide<T>;
  W most = -Infinity<W>();
  for (int64_t c = threadIdx.y; c < classes; c += blockDim.y) {
    most = Apply(BinaryOp::kMaximum, most, ToWide(x[c]));
  }
  most = JoinColumn(Reduction::kMax, most, shared);
  W sum = 0;
  for (int64_t c = threadIdx.y; c < classes; c += blockDim.y) {
    sum += exp(ToWide(x[c]) - most);
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
    const RowSums<W> sums = SumsOf(x, classes, shared);
    for (int64_t c = threadIdx.y; c < classes; c += blockDim.y) {
      const W shifted = ToWide(x[c]) - sums.most;
      const W result = is_log ? shifted - log(sums.sum)
                              : static_cast<W>(exp(shifted)) / sums.sum;
      out[r * classes + c] = FromWide<T>(result);
    }
  }
}

template <typename T, typename Label>
__global__ void CrossEntropy(int64_t rows, int64_t classes, const T* logits,
                             const Label* labels, T* loss, T* backprop) {
  using W = Wide<T>;
  __shared__ W shared[kThreads];
  for (int64_t r = blockIdx.x; r < rows; r += gridDim.x) {
    const T* const x = logits + r * classes;
    const RowSums<W> sums = SumsOf(x, classes, shared);
    const W log_sum = log(sums.sum);
    W part = 0;
    for (int64_t c = threadIdx.y; c < classes; c += blockDim.y) {
      const W shifted = ToWide(x[c]) - sums.most;
      W label;
      if constexpr (std::is_integral_v<Label>) {
        const auto wanted = static_cast<int64_t>(labels[r]);
        const bool is_class = wanted >= 0 && wanted < classes;
        label = is_class ? W(wanted == c) : Infinity<W>() - Infinity<W>();
      } else {
        label = ToWide(labels[r * classes + c]);
      }
      // A label of 0 takes no part, whatever the logit.
      if (label != W(0)) part += label * (log_sum - shifted);
      const W probability = static_cast<W>(exp(shifted)) / sums.sum;
      backprop[r * classes + c] = FromWide<T>(probability - label);
    }
    const W sum = JoinColumn(Reduction::kSum, part, shared);
    if (threadIdx.y == 0) loss[r] = FromWide<T>(sum);
  }
}

}  // namespace

void LaunchReduction(Reduction op, ElementType type, const Dims& kept_dims,
                     int64_t kept, const Dims& reduced_dims, int64_t reduced,
                     const void* x, void* out, cudaStream_t stream) {
  const bool is_inner_kept = kept_dims.rank > 0 && kept_dims.strides[0][0] == 1;
  const dim3 threads =
      is_inner_kept ? dim3(32, kThreads / 32) : dim3(1, kThreads);
  const unsigned blocks = BlocksFor(kept, static_cast<int>(threads.x));
  ForFloats(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    Reduce<T><<<blocks, threads, 0, stream>>>(op, kept_dims, kept, reduced_dims,
                                              reduced, static_cast<const T*>(x),
                                              static_cast<T*>(out));
  });
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

void LaunchCrossEntropy(ElementType type, ElementType label_type, int64_t rows,
                        int64_t classes, const void* logits, const void* labels,
                        void* loss, void* backprop, cudaStream_t stream) {
  ForFloats(type, [&](auto tag) {
    using T = typename decltype(tag)::type;
    const auto launch = [&](auto label_tag) {
      using Label = typename decltype(label_tag)::type;
      CrossEntropy<T, Label>
          <<<BlocksFor(rows, 1), dim3(1, kThreads), 0, stream>>>(
              rows, classes, static_cast<const T*>(logits),
              static_cast<const Label*>(labels), static_cast<T*>(loss),
              static_cast<T*>(backprop));
    };
    if (label_type == ElementType::kInt32) return launch(Tag<int32_t>());
    if (label_type == ElementType::kInt64) return launch(Tag<int64_t>());
    launch(tag);
  });
}

}  // namespace weft::cuda
