// Kernels that compare values of one tensor: Unique, UniqueV2,
// UniqueWithCounts, ListDiff.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

#include "libs/base/hash_tables.h"
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/id_bounds.h"
#include "libs/kernels/array/number_groups.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/common/row_copies.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

// The types of values that can be compared, besides strings.
using ComparableNumbers =
    TypeList<float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t,
             uint8_t, uint16_t, uint32_t, uint64_t, bool>;

// Positions as `output`'s type, int32 or int64.
absl::Status WritePositions(const std::vector<int64_t>& positions,
                            Tensor& output) {
  if (output.dtype() == DT_INT64) {
    std::copy(positions.begin(), positions.end(),
              output.mutable_flat<int64_t>().begin());
    return absl::OkStatus();
  }
  absl::Span<int32_t> out = output.mutable_flat<int32_t>();
  for (size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<int32_t>(positions[i]);
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor*> AllocatePositions(OpKernelContext& context, int i,
                                          int64_t size) {
  if (context.output_type(i) == DT_INT32 &&
      size > std::numeric_limits<int32_t>::max()) {
    return absl::InvalidArgumentError(
        "more than 2^31 elements need out_idx int64");
  }
  return context.AllocateOutput(i, {size});
}

absl::Status SetPositions(OpKernelContext& context, int i,
                          const std::vector<int64_t>& positions) {
  ASSIGN_OR_RETURN(
      Tensor * output,
      AllocatePositions(context, i, static_cast<int64_t>(positions.size())));
  return WritePositions(positions, *output);
}

// Groups of equal slices, in order of first appearance.
struct Groups {
  std::vector<int64_t> first;  // the first slice of each group

  int64_t size() const { return static_cast<int64_t>(first.size()); }
};

// The number of slices in each group. Position is int32 or int64.
template <typename Position>
std::vector<int64_t> CountsOf(const Groups& groups,
                              absl::Span<const Position> group_of) {
  std::vector<int64_t> counts(groups.first.size(), 0);
  for (const Position group : group_of) ++counts[group];
  return counts;
}

// A tensor viewed as [before, count, after]; slice j is all elements (., j, .).
struct SliceSizes {
  int64_t before = 1;
  int64_t count = 1;
  int64_t after = 1;
};

// Elements are compared by keys, so that one hash table serves many types: a
// number of up to 64 bits, or the bytes of slices and strings. NaN equals
// nothing, not even itself. -0 equals 0, except for half: TensorFlow uses
// std::hash, which is equal for both zeros except of Eigen::half, where it
// hashes the bits.
template <typename T>
constexpr bool kZerosAreEqual = !std::is_same_v<T, half>;

template <typename T>
uint64_t KeyOf(T x) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<uint64_t>(x);
  } else {
    const double wide = x;
    const bool is_any_zero = kZerosAreEqual<T> && wide == 0;
    return std::bit_cast<uint64_t>(is_any_zero ? 0.0 : wide);
  }
}

bool IsNaN(uint64_t key) { return std::isnan(std::bit_cast<double>(key)); }

template <typename T>
void WriteKeys(const Tensor& values, int64_t begin, int64_t n, uint64_t* keys) {
  const T* const x = values.flat<T>().data() + begin;
  for (int64_t i = 0; i < n; ++i) keys[i] = KeyOf(x[i]);
}

// Calls fn(key, equals_itself) for each number of `values`, in order, until it
// returns false.
template <typename Fn>
absl::Status ForEachKey(const Tensor& values, const Fn& fn) {
  constexpr int64_t kBlock = 256;
  uint64_t keys[kBlock];
  void (*write)(const Tensor&, int64_t, int64_t, uint64_t*) = nullptr;
  RETURN_IF_ERROR(DispatchType(ComparableNumbers{}, values.dtype(),
                               [&]<typename T>(TypeTag<T>) {
                                 write = &WriteKeys<T>;
                                 return absl::OkStatus();
                               }));
  const bool may_be_nan = IsFloatingType(values.dtype());
  const int64_t count = values.num_elements();
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t n = std::min(kBlock, count - begin);
    write(values, begin, n, keys);
    for (int64_t i = 0; i < n; ++i) {
      const bool equals_itself = !may_be_nan || !IsNaN(keys[i]);
      if (!fn(keys[i], equals_itself)) return absl::OkStatus();
    }
  }
  return absl::OkStatus();
}

// Gives equal floats equal bytes. Returns false if there is a NaN.
template <typename T>
bool NormalizeFloats(char* bytes, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    T x;
    std::memcpy(&x, bytes + i * sizeof(T), sizeof(T));
    if (std::isnan(static_cast<Wide<T>>(x))) return false;
    if (kZerosAreEqual<T> && static_cast<Wide<T>>(x) == 0) {
      std::memset(bytes + i * sizeof(T), 0, sizeof(T));
    }
  }
  return true;
}
bool Normalize(DataType type, char* bytes, int64_t n) {
  switch (type) {
    case DT_FLOAT:
      return NormalizeFloats<float>(bytes, n);
    case DT_DOUBLE:
      return NormalizeFloats<double>(bytes, n);
    case DT_HALF:
      return NormalizeFloats<half>(bytes, n);
    case DT_BFLOAT16:
      return NormalizeFloats<bfloat16>(bytes, n);
    default:
      return true;
  }
}

// Appends `n` elements to the bytes of a key. Returns false if they equal
// nothing.
bool AppendToKey(const Tensor& values, int64_t begin, int64_t n,
                 std::string& key) {
  if (values.dtype() == DT_STRING) {
    for (const std::string& text : values.flat<std::string>().subspan(
             static_cast<size_t>(begin), static_cast<size_t>(n))) {
      const size_t size = text.size();
      key.append(reinterpret_cast<const char*>(&size), sizeof(size));
      key.append(text);
    }
    return true;
  }
  const size_t size = DataTypeSize(values.dtype());
  const size_t end = key.size();
  key.append(static_cast<const char*>(values.data()) + begin * size, n * size);
  return Normalize(values.dtype(), key.data() + end, n);
}

using NumberSet = FlatHashSet<uint64_t>;
using StringTable = FlatHashMap<std::string, int64_t>;
// The size of an entry of a table that was rehashed, without characters; and of
// a group.
constexpr size_t kBytesOfEntry = 4 * sizeof(StringTable::value_type);

// Position is int32 or int64. `group_of` receives the group of each slice.
template <typename Slot, typename Position>
absl::StatusOr<Groups> GroupNumbersBy(const Tensor& values, HeapCharge& charge,
                                      Position* group_of) {
  Groups groups;
  groups.first.reserve(std::min(values.num_elements(), kMaxReserved));
  NumberGroups<Slot> by_key(values.num_elements());
  int64_t next = 0;
  // In `groups` and `by_key`, including their growth.
  constexpr size_t kBytesOfGroup =
      2 * sizeof(int64_t) + 2 * sizeof(uint64_t) + 4 * sizeof(Slot);
  absl::Status status;
  RETURN_IF_ERROR(ForEachKey(values, [&](uint64_t key, bool equals_itself) {
    const int64_t group =
        equals_itself ? by_key.FindOrAdd(key) : by_key.Add(key);
    group_of[next++] = static_cast<Position>(group);
    if (group < groups.size()) return true;
    groups.first.push_back(next - 1);
    status = charge.Add(kBytesOfGroup);
    return status.ok();
  }));
  RETURN_IF_ERROR(status);
  return groups;
}

template <typename Position>
absl::StatusOr<Groups> GroupNumbers(const Tensor& values, HeapCharge& charge,
                                    Position* group_of) {
  if (values.num_elements() < std::numeric_limits<uint32_t>::max()) {
    return GroupNumbersBy<uint32_t>(values, charge, group_of);
  }
  return GroupNumbersBy<uint64_t>(values, charge, group_of);
}

template <typename Position>
absl::StatusOr<Groups> GroupSlices(const Tensor& values,
                                   const SliceSizes& sizes, HeapCharge& charge,
                                   Position* group_of) {
  Groups groups;
  StringTable table;
  const int64_t runs = values.num_elements() == 0 ? 0 : sizes.before;
  std::string key;
  for (int64_t j = 0; j < sizes.count; ++j) {
    key.clear();  // and stays empty where slices have no elements
    bool equals_itself = true;
    for (int64_t b = 0; equals_itself && b < runs; ++b) {
      equals_itself = AppendToKey(values, (b * sizes.count + j) * sizes.after,
                                  sizes.after, key);
    }
    const int64_t next = groups.size();
    int64_t group = next;
    if (equals_itself) group = table.emplace(key, next).first->second;
    if (group == next) {
      RETURN_IF_ERROR(charge.Add(kBytesOfEntry + key.size()));
      groups.first.push_back(j);
    }
    group_of[j] = static_cast<Position>(group);
  }
  return groups;
}

SliceSizes SlicesAlong(const TensorShape& shape, int axis) {
  SliceSizes sizes;
  for (int i = 0; i < axis; ++i) sizes.before *= shape.dim(i);
  sizes.count = shape.dim(axis);
  for (int i = axis + 1; i < shape.rank(); ++i) sizes.after *= shape.dim(i);
  return sizes;
}

// Unique, UniqueWithCounts (three outputs) and UniqueV2 (two inputs).
class UniqueKernel : public OpKernel {
 public:
  explicit UniqueKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), bounds_(construction) {}
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    RETURN_IF_ERROR(CheckBounds(input));
    ASSIGN_OR_RETURN(int axis, ReadAxis(context));
    const SliceSizes sizes = SlicesAlong(input.shape(), axis);
    // Allocated before the groups, which need as much memory: there may be too
    // many slices.
    ASSIGN_OR_RETURN(Tensor * group_of,
                     AllocatePositions(context, 1, sizes.count));
    HeapCharge charge(context.host_allocator());
    return DispatchType(
        IndexTypes{}, group_of->dtype(),
        [&]<typename Position>(TypeTag<Position>) -> absl::Status {
          const auto positions = group_of->mutable_flat<Position>();
          ASSIGN_OR_RETURN(const Groups groups,
                           GroupsOf(input, sizes, charge, positions.data()));
          RETURN_IF_ERROR(
              SetFirst(context, input, axis, sizes, groups, charge));
          if (context.num_outputs() < 3) return absl::OkStatus();
          return SetPositions(
              context, 2,
              CountsOf(groups, absl::Span<const Position>(positions)));
        });
  }

 private:
  absl::Status CheckBounds(const Tensor& ids) const {
    if (!bounds_.is_known()) return absl::OkStatus();
    return DispatchType(IndexTypes{}, ids.dtype(), [&]<typename T>(TypeTag<T>) {
      return bounds_.Check<T>(ids.flat<T>());
    });
  }

  template <typename Position>
  static absl::StatusOr<Groups> GroupsOf(const Tensor& input,
                                         const SliceSizes& sizes,
                                         HeapCharge& charge,
                                         Position* group_of) {
    if (input.rank() == 1 && input.dtype() != DT_STRING) {
      return GroupNumbers(input, charge, group_of);
    }
    return GroupSlices(input, sizes, charge, group_of);
  }

  static absl::StatusOr<int> ReadAxis(OpKernelContext& context) {
    const int rank = context.input(0).rank();
    if (context.num_inputs() == 1 || context.input(1).num_elements() == 0) {
      if (rank == 1) return 0;
      return absl::InvalidArgumentError("unique expects a 1D vector.");
    }
    const Tensor& axis = context.input(1);
    if (axis.rank() > 1 || axis.num_elements() != 1) {
      return absl::InvalidArgumentError(
          "axis tensor should have less than or equal to 1 elements");
    }
    ASSIGN_OR_RETURN(Dims values, IntegersOf(axis));
    const int64_t at = values[0] < 0 ? values[0] + rank : values[0];
    if (at < 0 || at >= rank) {
      return absl::InvalidArgumentError(absl::StrCat("axis has to be between [",
                                                     -rank, ", ", rank,
                                                     "), but is ", values[0]));
    }
    return static_cast<int>(at);
  }

  // Outputs the first slice of each group as output 0.
  static absl::Status SetFirst(OpKernelContext& context, const Tensor& input,
                               int axis, const SliceSizes& sizes,
                               const Groups& groups, HeapCharge& charge) {
    TensorShape shape = input.shape();
    shape.set_dim(axis, groups.size());
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    return CopyFirst(input, sizes, groups, charge, *output);
  }

  static absl::Status CopyFirst(const Tensor& input, const SliceSizes& sizes,
                                const Groups& groups, HeapCharge& charge,
                                Tensor& output) {
    if (output.num_elements() == 0) return absl::OkStatus();
    const auto bytes =
        static_cast<int64_t>(DataTypeSize(input.dtype())) * sizes.after;
    if (bytes > 0 && sizes.before == 1) {
      GatherRows(input.data(), groups.first.data(), groups.size(), bytes,
                 output.mutable_data());
      return absl::OkStatus();
    }
    int64_t to = 0;
    for (int64_t b = 0; b < sizes.before; ++b) {
      for (int64_t first : groups.first) {
        RETURN_IF_ERROR(CopyElements(charge, input,
                                     (b * sizes.count + first) * sizes.after,
                                     sizes.after, output, to));
        to += sizes.after;
      }
    }
    return absl::OkStatus();
  }

  const IdBounds bounds_;
};

// The positions of the values of `x` that are not in `y`.
absl::StatusOr<std::vector<int64_t>> NumbersNotIn(const Tensor& x,
                                                  const Tensor& y,
                                                  HeapCharge& charge) {
  NumberSet in_y;
  absl::Status status;
  RETURN_IF_ERROR(ForEachKey(y, [&](uint64_t key, bool equals_itself) {
    if (!equals_itself || !in_y.insert(key).second) return true;
    status = charge.Add(4 * sizeof(uint64_t));
    return status.ok();
  }));
  RETURN_IF_ERROR(status);
  std::vector<int64_t> positions;
  int64_t position = 0;
  RETURN_IF_ERROR(ForEachKey(x, [&](uint64_t key, bool) {
    const int64_t at = position++;
    if (in_y.contains(key)) return true;
    positions.push_back(at);
    status = charge.Add(2 * sizeof(int64_t));
    return status.ok();
  }));
  RETURN_IF_ERROR(status);
  return positions;
}

absl::StatusOr<std::vector<int64_t>> StringsNotIn(
    absl::Span<const std::string> x, absl::Span<const std::string> y,
    HeapCharge& charge) {
  StringTable in_y;
  for (const std::string& text : y) {
    if (!in_y.emplace(text, 0).second) continue;
    RETURN_IF_ERROR(charge.Add(kBytesOfEntry + text.size()));
  }
  std::vector<int64_t> positions;
  for (size_t i = 0; i < x.size(); ++i) {
    if (in_y.contains(x[i])) continue;
    RETURN_IF_ERROR(charge.Add(2 * sizeof(int64_t)));
    positions.push_back(static_cast<int64_t>(i));
  }
  return positions;
}

class ListDiffKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& x = context.input(0);
    const Tensor& y = context.input(1);
    if (x.rank() != 1) {
      return absl::InvalidArgumentError("x should be a 1D vector.");
    }
    if (y.rank() != 1) {
      return absl::InvalidArgumentError("y should be a 1D vector.");
    }
    HeapCharge charge(context.host_allocator());
    ASSIGN_OR_RETURN(const std::vector<int64_t> left,
                     PositionsNotIn(x, y, charge));
    const int64_t count = static_cast<int64_t>(left.size());
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, {count}));
    for (int64_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(CopyElements(charge, x, left[i], 1, *output, i));
    }
    return SetPositions(context, 1, left);
  }

 private:
  static absl::StatusOr<std::vector<int64_t>> PositionsNotIn(
      const Tensor& x, const Tensor& y, HeapCharge& charge) {
    if (x.dtype() != DT_STRING) return NumbersNotIn(x, y, charge);
    return StringsNotIn(x.flat<std::string>(), y.flat<std::string>(), charge);
  }
};

}  // namespace

void RegisterArrayUniqueKernels(KernelRegistry& registry) {
  std::vector<DataType> comparable = DataTypesOf(ComparableNumbers{});
  comparable.push_back(DT_STRING);
  const std::map<std::string, std::vector<DataType>> types = {
      {"T", comparable}};
  registry.Register<UniqueKernel>("Unique", types);
  registry.Register<UniqueKernel>("UniqueV2", types);
  registry.Register<UniqueKernel>("UniqueWithCounts", types);
  registry.Register<ListDiffKernel>("ListDiff", types);
}

}  // namespace weft
