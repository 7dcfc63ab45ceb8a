// Tensors filled from a position in a stream of random bits, for stateful and
// stateless ops. Each group of values has its own position in the stream
// (TensorFlow's core/kernels/random_op_cpu.h), so that the result does not
// depend on the number of threads.
#ifndef WEFT_LIBS_KERNELS_RANDOM_FILL_H_
#define WEFT_LIBS_KERNELS_RANDOM_FILL_H_

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/common/philox.h"
#include "libs/kernels/isa/random_loops.h"
#include "libs/kernels/random/distributions.h"
#include "libs/tensor/tensor.h"

namespace weft {

// The numbers that an op reserves in its stream for each value; distributions
// with redraws almost never need that many.
inline constexpr int64_t kReservedPerValue = 256;
// The cost of one value, in additions.
inline constexpr int64_t kCostOfValue = 8;

// A vector of sizes as a shape.
absl::StatusOr<TensorShape> ShapeFromTensor(const Tensor& tensor);
// Returns INVALID_ARGUMENT unless it is a scalar; `name` is for the text.
absl::Status CheckScalarBound(const Tensor& tensor, absl::string_view name);
// Returns INVALID_ARGUMENT unless low < high.
template <typename T>
absl::Status CheckBounds(T low, T high) {
  if (low < high) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Need minval < maxval, got ", low, " >= ", high));
}

// Fills values [begin, end) from the stream's groups of kGroup values;
// `make(group, values)` makes one group. The last group may be truncated.
template <int kGroup, typename T, typename Make>
void FillGroups(int64_t begin, int64_t end, absl::Span<T> out,
                const Make& make) {
  const auto size = static_cast<int64_t>(out.size());
  for (int64_t group = begin; group < end; ++group) {
    const int64_t at = group * kGroup;
    if (at + kGroup <= size) {
      make(group, out.data() + at);
    } else {
      T values[kGroup];
      make(group, values);
      std::copy_n(values, size - at, out.begin() + at);
    }
  }
}

// Like FillGroups, with one sample per group: `make(sample, values)`.
template <int kGroup, typename T, typename Make>
void FillFromSamples(const Philox& start, int64_t begin, int64_t end,
                     absl::Span<T> out, const Make& make) {
  constexpr int64_t kBlock = 256;
  Philox::Sample samples[kBlock];
  Philox philox = start;
  philox.Skip(static_cast<uint64_t>(begin));
  for (int64_t first = begin; first < end; first += kBlock) {
    const int64_t count = std::min(kBlock, end - first);
    BestPhiloxFill()(philox.key().data(), philox.counter().data(),
                     samples[0].data(), count);
    philox.Skip(static_cast<uint64_t>(count));
    FillGroups<kGroup>(first, first + count, out,
                       [&](int64_t group, T* values) {
                         make(samples[group - first], values);
                       });
  }
}

template <typename Distribution, typename T>
void FillRange(const Philox& start, int64_t begin, int64_t end,
               absl::Span<T> out) {
  constexpr int kGroup = Distribution::kGroup;
  if constexpr (Distribution::kVariable) {
    // Each group begins at its reserved part of the stream.
    FillGroups<kGroup>(begin, end, out, [&](int64_t group, T* values) {
      Philox philox = start;
      philox.Skip(static_cast<uint64_t>(group) * kGroup * kReservedPerValue /
                  4);
      PhiloxNumbers numbers(philox);
      Distribution::Make(numbers, values);
    });
  } else {
    FillFromSamples<kGroup>(start, begin, end, out,
                            [](const Philox::Sample& sample, T* values) {
                              Distribution::Make(sample, values);
                            });
  }
}

// Fills `out`, on several threads if that pays off.
template <typename Distribution, typename T>
void FillWith(OpKernelContext& context, const Philox& start,
              absl::Span<T> out) {
  constexpr int kGroup = Distribution::kGroup;
  const auto values = static_cast<int64_t>(out.size());
  ParallelLoop(context, (values + kGroup - 1) / kGroup, kGroup * kCostOfValue,
               [&](int64_t begin, int64_t end) {
                 FillRange<Distribution, T>(start, begin, end, out);
               });
}

// Fills `out` with integers that `make` computes from random bits of their
// size.
template <typename T, typename Make>
void FillWithBits(OpKernelContext& context, const Philox& start,
                  absl::Span<T> out, const Make& make) {
  constexpr int kGroup = kValuesPerSample<T>;
  using Unsigned = std::make_unsigned_t<T>;
  const auto make_group = [&](const Philox::Sample& x, T* values) {
    for (size_t i = 0; i < kGroup; ++i) {
      Unsigned bits = x[i];
      if constexpr (kGroup == 2) {
        bits = x[2 * i] | static_cast<Unsigned>(x[2 * i + 1]) << 32;
      }
      values[i] = static_cast<T>(make(bits));
    }
  };
  const auto values = static_cast<int64_t>(out.size());
  ParallelLoop(context, (values + kGroup - 1) / kGroup, kGroup * kCostOfValue,
               [&](int64_t begin, int64_t end) {
                 FillFromSamples<kGroup>(start, begin, end, out, make_group);
               });
}

// Uniform over [low, high). REQUIRES: low < high.
template <typename T>
void FillWithIntegers(OpKernelContext& context, const Philox& start, T low,
                      T high, absl::Span<T> out) {
  using Unsigned = std::make_unsigned_t<T>;
  // Unsigned, so that the full range does not overflow.
  const Unsigned range =
      static_cast<Unsigned>(high) - static_cast<Unsigned>(low);
  FillWithBits(context, start, out, [&](Unsigned bits) {
    return static_cast<Unsigned>(low) + bits % range;
  });
}

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_RANDOM_FILL_H_
