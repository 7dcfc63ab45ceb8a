#include "libs/kernels/array/copy.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <type_traits>

#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/kernels/array/elements.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/kernels/isa/transpose_loops.h"

namespace weft {
namespace {

// Returns the same pattern with the fewest dimensions: dimensions of size 1 are
// removed, and contiguous neighbors are joined.
ElementPattern Simplify(const ElementPattern& pattern) {
  ElementPattern result;
  result.offset = pattern.offset;
  for (size_t i = 0; i < pattern.dims.size(); ++i) {
    const int64_t size = pattern.dims[i], stride = pattern.strides[i];
    if (size == 1) continue;
    if (!result.dims.empty() && result.strides.back() == stride * size) {
      result.dims.back() *= size;
      result.strides.back() = stride;
      continue;
    }
    result.dims.push_back(size);
    result.strides.push_back(stride);
  }
  return result;
}

// Calls `fn(place)` with the position of the first element of each innermost
// run, in order. REQUIRES: no dimension has size 0.
template <typename Fn>
void ForEachRun(const ElementPattern& pattern, const Fn& fn) {
  const int outer = static_cast<int>(pattern.dims.size()) - 1;
  Dims index(std::max(outer, 0), 0);
  int64_t place = pattern.offset;
  while (true) {
    fn(place);
    int d = outer - 1;
    for (; d >= 0; --d) {
      place += pattern.strides[d];
      if (++index[d] < pattern.dims[d]) break;
      place -= pattern.strides[d] * pattern.dims[d];
      index[d] = 0;
    }
    if (d < 0) return;
  }
}

struct Run {
  int64_t length = 1;
  int64_t stride = 1;
};

Run InnermostRun(const ElementPattern& pattern) {
  if (pattern.dims.empty()) return {};
  return {pattern.dims.back(), pattern.strides.back()};
}

bool IsEmpty(const ElementPattern& pattern) {
  return std::find(pattern.dims.begin(), pattern.dims.end(), 0) !=
         pattern.dims.end();
}

// Copies a run. Common strides are written as constants, which lets the
// compiler copy whole vectors.
template <typename E>
void ReadRun(const E* in, const Run& run, E* out) {
  if (run.stride == 1) {
    std::copy_n(in, run.length, out);
  } else if (run.stride == 0) {
    std::fill_n(out, run.length, *in);
  } else {
    for (int64_t i = 0; i < run.length; ++i) out[i] = in[i * run.stride];
  }
}

template <typename E>
void WriteRun(const E* in, const Run& run, E* out) {
  if (run.stride == 1) {
    std::copy_n(in, run.length, out);
  } else {
    for (int64_t i = 0; i < run.length; ++i) out[i * run.stride] = in[i];
  }
}

// A transposed matrix: out[r * cols + c] = in[r + c * col_stride].
template <typename E>
struct Transposition {
  // A block has the elements of a cache line, so that lines are read and
  // written whole.
  static constexpr int64_t kBlock = sizeof(E) < 16 ? 64 / sizeof(E) : 4;

  int64_t rows, cols, col_stride;

  void Run(const E* in, E* out) const {
    for (int64_t r = 0; r < rows; r += kBlock) {
      for (int64_t c = 0; c < cols; c += kBlock) {
        const E* from = in + r + c * col_stride;
        E* to = out + r * cols + c;
        const bool is_whole = r + kBlock <= rows && c + kBlock <= cols;
        if (std::is_trivially_copyable_v<E> && is_whole) {
          const bool has_next = c + 2 * kBlock <= cols;
          Block(from, from + (has_next ? kBlock * col_stride : 0), to);
        } else {
          Edge(from, std::min(kBlock, rows - r), std::min(kBlock, cols - c),
               to);
        }
      }
    }
  }

  // Copies through a contiguous block: lines at distances of powers of two
  // would evict each other from the cache. The lines of `next` are prefetched,
  // because the processor does not predict such wide strides.
  void Block(const E* in, const E* next, E* out) const {
    E block[kBlock][kBlock];
    for (int64_t c = 0; c < kBlock; ++c) {
      __builtin_prefetch(next + c * col_stride);
      for (int64_t r = 0; r < kBlock; ++r) block[r][c] = in[r + c * col_stride];
    }
    for (int64_t r = 0; r < kBlock; ++r) {
      std::copy_n(block[r], kBlock, out + r * cols);
    }
  }

  void Edge(const E* in, int64_t height, int64_t width, E* out) const {
    for (int64_t r = 0; r < height; ++r) {
      for (int64_t c = 0; c < width; ++c) {
        out[r * cols + c] = in[r + c * col_stride];
      }
    }
  }
};

// Returns whether the pattern's last two dimensions are a transposed matrix.
template <typename E>
void ReadTransposed(const E* in, const ElementPattern& pattern, E* out) {
  const size_t outer = pattern.dims.size() - 2;
  const Transposition<E> matrix{pattern.dims[outer], pattern.dims[outer + 1],
                                pattern.strides[outer + 1]};
  ElementPattern matrices{
      Dims(pattern.dims.begin(), pattern.dims.begin() + outer),
      Dims(pattern.strides.begin(), pattern.strides.begin() + outer),
      pattern.offset};
  matrices.dims.push_back(1);
  matrices.strides.push_back(1);
  ForEachRun(matrices, [&](int64_t place) {
    if constexpr (std::is_same_v<E, Element4>) {
      BestTransposeWords()(in + place, matrix.col_stride, matrix.rows,
                           matrix.cols, out);
    } else {
      matrix.Run(in + place, out);
    }
    out += matrix.rows * matrix.cols;
  });
}

bool IsTransposed(const ElementPattern& pattern) {
  const size_t rank = pattern.dims.size();
  return rank >= 2 && pattern.strides[rank - 2] == 1;
}

template <typename E>
void ReadPattern(const E* in, const ElementPattern& pattern, E* out) {
  if (IsTransposed(pattern)) return ReadTransposed(in, pattern, out);
  const Run run = InnermostRun(pattern);
  ForEachRun(pattern, [&](int64_t place) {
    ReadRun(in + place, run, out);
    out += run.length;
  });
}

template <typename E>
void WritePattern(const E* in, const ElementPattern& pattern, E* out) {
  const Run run = InnermostRun(pattern);
  ForEachRun(pattern, [&](int64_t place) {
    WriteRun(in, run, out + place);
    in += run.length;
  });
}

// The minimum number of bytes for which waking another thread pays off.
constexpr int64_t kBytesPerThread = 128 << 10;
// The number of parts per thread. There are several, so that a late thread does
// not delay the others.
constexpr int64_t kPartsPerThread = 4;
// The rows of a transposed matrix that are read together.
constexpr int64_t kRowsOfPart = 16;

// A pattern divided into ranges of one dimension, for each position in the
// dimensions before it. REQUIRES: it is simplified, has a dimension and is not
// empty.
class Parts {
 public:
  Parts(const ElementPattern& pattern, int64_t wanted) : pattern_(pattern) {
    // The columns of a transposed matrix are not divided, because their output
    // is not contiguous.
    const size_t last = pattern.dims.size() - (IsTransposed(pattern) ? 2 : 1);
    while (dim_ < last && outer_ * pattern.dims[dim_] < wanted) {
      outer_ *= pattern.dims[dim_++];
    }
    for (size_t i = dim_ + 1; i < pattern.dims.size(); ++i) {
      inner_ *= pattern.dims[i];
    }
    const int64_t size = pattern.dims[dim_];
    const int64_t ranges = std::clamp<int64_t>(wanted / outer_, 1, size);
    step_ = (size + ranges - 1) / ranges;
    if (IsTransposed(pattern) && dim_ == last) {
      step_ = (step_ + kRowsOfPart - 1) / kRowsOfPart * kRowsOfPart;
    }
    ranges_ = (size + step_ - 1) / step_;
  }

  int64_t count() const { return outer_ * ranges_; }

  // The number of elements before part `i`, and its positions.
  struct Part {
    int64_t first;
    ElementPattern pattern;
  };
  Part At(int64_t i) const {
    const int64_t begin = i % ranges_ * step_;
    int64_t outer = i / ranges_;
    Part part = {(outer * pattern_.dims[dim_] + begin) * inner_, {}};
    part.pattern.offset = pattern_.offset + begin * pattern_.strides[dim_];
    for (size_t d = dim_; d-- > 0; outer /= pattern_.dims[d]) {
      part.pattern.offset += outer % pattern_.dims[d] * pattern_.strides[d];
    }
    part.pattern.dims.assign(pattern_.dims.begin() + dim_, pattern_.dims.end());
    part.pattern.strides.assign(pattern_.strides.begin() + dim_,
                                pattern_.strides.end());
    part.pattern.dims[0] = std::min(step_, pattern_.dims[dim_] - begin);
    return part;
  }

 private:
  const ElementPattern& pattern_;
  size_t dim_ = 0;  // the divided dimension
  int64_t outer_ = 1, inner_ = 1;
  int64_t step_ = 1, ranges_ = 1;
};

// Calls `copy(pattern, first)` for parts of a pattern of elements of `size`
// bytes; see Parts::Part.
template <typename Copy>
void ForEachPart(Scheduler* scheduler, const ElementPattern& pattern,
                 size_t size, const Copy& copy) {
  double bytes = static_cast<double>(size);
  for (const int64_t dim : pattern.dims) bytes *= static_cast<double>(dim);
  if (scheduler == nullptr || bytes < 2 * kBytesPerThread) {
    return copy(pattern, 0);
  }
  const Parts parts(
      pattern,
      std::min<int64_t>(kPartsPerThread * scheduler->num_compute_threads(),
                        static_cast<int64_t>(bytes) / kBytesPerThread));
  const auto range = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Parts::Part part = parts.At(i);
      copy(part.pattern, part.first);
    }
  };
  scheduler->ParallelFor(parts.count(), 1, std::ref(range));
}

// Returns the heap memory of the strings in the pattern, counting repeated ones
// each time.
size_t HeapBytesOf(absl::Span<const std::string> strings,
                   const ElementPattern& pattern) {
  const Run run = InnermostRun(pattern);
  size_t bytes = 0;
  ForEachRun(pattern, [&](int64_t place) {
    for (int64_t i = 0; i < run.length; ++i) {
      bytes +=
          HeapCharge::BytesOfString(strings[place + i * run.stride].size());
    }
  });
  return bytes;
}

}  // namespace

Dims PackedStrides(absl::Span<const int64_t> dims) {
  Dims strides(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= dims[i];
  }
  return strides;
}

absl::Status CopyFromPattern(const Tensor& in, const ElementPattern& pattern,
                             Tensor& out, Scheduler* scheduler) {
  if (IsEmpty(pattern)) return absl::OkStatus();
  return DispatchElement(in.dtype(), [&]<typename E>(TypeTag<E>) {
    ForEachPart(scheduler, Simplify(pattern), sizeof(E),
                [&](const ElementPattern& part, int64_t first) {
                  ReadPattern(Elements<E>(in), part,
                              MutableElements<E>(out) + first);
                });
    return absl::OkStatus();
  });
}

absl::Status CopyToPattern(const Tensor& in, const ElementPattern& pattern,
                           Tensor& out, Scheduler* scheduler) {
  if (IsEmpty(pattern)) return absl::OkStatus();
  return DispatchElement(in.dtype(), [&]<typename E>(TypeTag<E>) {
    ForEachPart(scheduler, Simplify(pattern), sizeof(E),
                [&](const ElementPattern& part, int64_t first) {
                  WritePattern(Elements<E>(in) + first, part,
                               MutableElements<E>(out));
                });
    return absl::OkStatus();
  });
}

absl::Status CopyFromPattern(OpKernelContext& context, const Tensor& in,
                             const ElementPattern& pattern, Tensor& out) {
  HeapCharge charge(context.host_allocator());
  if (in.dtype() == DT_STRING && !IsEmpty(pattern)) {
    RETURN_IF_ERROR(
        charge.Add(HeapBytesOf(in.flat<std::string>(), Simplify(pattern))));
  }
  return CopyFromPattern(in, pattern, out, &context.scheduler());
}

absl::Status CopyToPattern(OpKernelContext& context, const Tensor& in,
                           const ElementPattern& pattern, Tensor& out) {
  HeapCharge charge(context.host_allocator());
  RETURN_IF_ERROR(ChargeStrings(charge, in));
  return CopyToPattern(in, pattern, out, &context.scheduler());
}

absl::Status CopyElements(HeapCharge& charge, const Tensor& in,
                          int64_t in_begin, int64_t count, Tensor& out,
                          int64_t out_begin) {
  if (in.dtype() == DT_STRING) {
    RETURN_IF_ERROR(charge.Add(HeapBytesOf(in.flat<std::string>().subspan(
        static_cast<size_t>(in_begin), static_cast<size_t>(count)))));
  }
  CopyElements(in, in_begin, count, out, out_begin);
  return absl::OkStatus();
}

void CopyElements(const Tensor& in, int64_t in_begin, int64_t count,
                  Tensor& out, int64_t out_begin) {
  if (count == 0) return;
  const size_t size = DataTypeSize(in.dtype());
  if (size != 0) {
    std::memcpy(static_cast<char*>(out.mutable_data()) + out_begin * size,
                static_cast<const char*>(in.data()) + in_begin * size,
                count * size);
    return;
  }
  DispatchElement(in.dtype(), [&]<typename E>(TypeTag<E>) {
    std::copy_n(Elements<E>(in) + in_begin, count,
                MutableElements<E>(out) + out_begin);
    return absl::OkStatus();
  }).IgnoreError();
}

absl::Status FillWithZeros(Tensor& tensor) {
  if (DataTypeSize(tensor.dtype()) != 0) {
    if (tensor.num_elements() > 0) {
      std::memset(tensor.mutable_data(), 0, tensor.num_bytes());
    }
    return absl::OkStatus();
  }
  return DispatchElement(tensor.dtype(), [&]<typename E>(TypeTag<E>) {
    std::fill_n(MutableElements<E>(tensor), tensor.num_elements(), E());
    return absl::OkStatus();
  });
}

absl::Status FillWithValue(OpKernelContext& context, const Tensor& value,
                           Tensor& tensor) {
  HeapCharge charge(context.host_allocator());
  RETURN_IF_ERROR(ChargeStrings(charge, value, tensor.num_elements()));
  return FillWithValue(value, tensor);
}

absl::Status FillWithValue(const Tensor& value, Tensor& tensor) {
  return DispatchElement(tensor.dtype(), [&]<typename E>(TypeTag<E>) {
    std::fill_n(MutableElements<E>(tensor), tensor.num_elements(),
                *Elements<E>(value));
    return absl::OkStatus();
  });
}

absl::StatusOr<Dims> IntegersOf(const Tensor& tensor) {
  using Integers =
      TypeList<int32_t, int64_t, int8_t, int16_t, uint8_t, uint16_t>;
  Dims result;
  const absl::Status status =
      DispatchType(Integers{}, tensor.dtype(), [&]<typename T>(TypeTag<T>) {
        const absl::Span<const T> values = tensor.flat<T>();
        result.assign(values.begin(), values.end());
        return absl::OkStatus();
      });
  if (!status.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "expected integers, but got ", DataTypeName(tensor.dtype())));
  }
  return result;
}

void WriteCoordinates(const TensorShape& shape, int64_t position,
                      int64_t* coordinates) {
  for (int i = shape.rank() - 1; i >= 0; --i) {
    const int64_t size = std::max<int64_t>(shape.dim(i), 1);
    coordinates[i] = position % size;
    position /= size;
  }
}

std::string CoordinatesOf(const TensorShape& shape, int64_t position) {
  if (shape.rank() == 0) return "";
  Dims coordinates(shape.rank());
  WriteCoordinates(shape, position, coordinates.data());
  return absl::StrCat("[", absl::StrJoin(coordinates, ","), "]");
}

absl::StatusOr<TensorShape> ShapeFromDims(const Tensor& dims) {
  if (dims.rank() > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "dims must represent a vector, got shape ", dims.shape().ToString()));
  }
  ASSIGN_OR_RETURN(Dims sizes, IntegersOf(dims));
  for (int64_t size : sizes) {
    if (size < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("Dimension ", size, " must be >= 0"));
    }
  }
  return TensorShape::Create(sizes);
}

ElementPattern BoxPattern(const TensorShape& whole, const Dims& begin,
                          const Dims& steps, absl::Span<const int64_t> dims) {
  ElementPattern pattern;
  const Dims strides = PackedStrides(whole.dims());
  pattern.dims.assign(dims.begin(), dims.end());
  for (int i = 0; i < whole.rank(); ++i) {
    pattern.offset += begin[i] * strides[i];
    // The step of a single element is unused, and may be any number.
    pattern.strides.push_back(dims[i] > 1 ? steps[i] * strides[i] : 0);
  }
  return pattern;
}

ElementPattern BroadcastPattern(absl::Span<const int64_t> from,
                                absl::Span<const int64_t> to) {
  ElementPattern pattern{Dims(to.begin(), to.end()), Dims(to.size(), 0), 0};
  const Dims strides = PackedStrides(from);
  const size_t missing = to.size() - from.size();
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] != 1) pattern.strides[missing + d] = strides[d];
  }
  return pattern;
}

}  // namespace weft
