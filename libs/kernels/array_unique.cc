// Kernels that compare values of one tensor: Unique, UniqueV2,
// UniqueWithCounts, ListDiff.
#include <functional>
#include <limits>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "libs/base/status.h"
#include "libs/kernels/array_copy.h"
#include "libs/kernels/array_registration.h"
#include "libs/kernels/number_types.h"

namespace weft {
namespace {

// Values that can be told apart; the 16-bit floats are compared as floats.
using ComparableTypes =
    TypeList<float, double, half, bfloat16, int8_t, int16_t, int32_t, int64_t,
             uint8_t, uint16_t, uint32_t, uint64_t, bool, std::string>;

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

// Which slices are equal, in order of first appearance.
struct Groups {
  std::vector<int64_t> first;   // of each group, its first slice
  std::vector<int64_t> of;      // for each slice, its group
  std::vector<int64_t> counts;  // of each group
};

// A tensor as [before, count, after]; slice j is all elements (., j, .).
struct SliceSizes {
  int64_t before = 1;
  int64_t count = 1;
  int64_t after = 1;
};

// A NaN equals nothing, and no hash table takes a key that does not equal
// itself.
template <typename Key>
bool EqualsItself(const Key& key) {
  return std::equal_to<Key>()(key, key);
}

template <typename Key>
void AddToGroups(Key key, absl::flat_hash_map<Key, int64_t>& groups_by_key,
                 Groups& groups) {
  const auto next = static_cast<int64_t>(groups.first.size());
  int64_t group = next;
  if (EqualsItself(key)) {
    group = groups_by_key.emplace(std::move(key), next).first->second;
  }
  if (group == next) {
    groups.first.push_back(static_cast<int64_t>(groups.of.size()));
    groups.counts.push_back(0);
  }
  groups.of.push_back(group);
  ++groups.counts[group];
}

template <typename T>
Groups GroupValues(absl::Span<const T> values) {
  Groups groups;
  absl::flat_hash_map<Wide<T>, int64_t> groups_by_key;
  for (const T& value : values) {
    AddToGroups(static_cast<Wide<T>>(value), groups_by_key, groups);
  }
  return groups;
}

template <typename T>
Groups GroupSlices(absl::Span<const T> values, const SliceSizes& sizes) {
  Groups groups;
  absl::flat_hash_map<std::vector<Wide<T>>, int64_t> groups_by_key;
  for (int64_t j = 0; j < sizes.count; ++j) {
    std::vector<Wide<T>> key;  // empty where slices have no elements
    for (int64_t b = 0; !values.empty() && b < sizes.before; ++b) {
      for (int64_t a = 0; a < sizes.after; ++a) {
        key.push_back(static_cast<Wide<T>>(
            values[(b * sizes.count + j) * sizes.after + a]));
      }
    }
    AddToGroups(std::move(key), groups_by_key, groups);
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
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    ASSIGN_OR_RETURN(int axis, ReadAxis(context));
    const SliceSizes sizes = SlicesAlong(input.shape(), axis);
    // Before the groups, which take as much: there may be too many slices.
    ASSIGN_OR_RETURN(Tensor * group_of,
                     AllocatePositions(context, 1, sizes.count));
    Groups groups;
    RETURN_IF_ERROR(DispatchType(
        ComparableTypes{}, input.dtype(), [&]<typename T>(TypeTag<T>) {
          groups = input.rank() == 1 ? GroupValues(input.flat<T>())
                                     : GroupSlices(input.flat<T>(), sizes);
          return absl::OkStatus();
        }));
    TensorShape shape = input.shape();
    shape.set_dim(axis, static_cast<int64_t>(groups.first.size()));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    CopyFirst(input, sizes, groups, *output);
    RETURN_IF_ERROR(WritePositions(groups.of, *group_of));
    if (context.num_outputs() < 3) return absl::OkStatus();
    return SetPositions(context, 2, groups.counts);
  }

 private:
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

  static void CopyFirst(const Tensor& input, const SliceSizes& sizes,
                        const Groups& groups, Tensor& output) {
    if (output.num_elements() == 0) return;
    int64_t to = 0;
    for (int64_t b = 0; b < sizes.before; ++b) {
      for (int64_t first : groups.first) {
        CopyElements(input, (b * sizes.count + first) * sizes.after,
                     sizes.after, output, to);
        to += sizes.after;
      }
    }
  }
};

// The positions of the values of `x` that are not in `y`.
template <typename T>
std::vector<int64_t> PositionsNotIn(absl::Span<const T> x,
                                    absl::Span<const T> y) {
  absl::flat_hash_set<Wide<T>> in_y;
  for (const T& value : y) {
    const auto key = static_cast<Wide<T>>(value);
    if (EqualsItself(key)) in_y.insert(key);
  }
  std::vector<int64_t> positions;
  for (size_t i = 0; i < x.size(); ++i) {
    if (!in_y.contains(static_cast<Wide<T>>(x[i]))) {
      positions.push_back(static_cast<int64_t>(i));
    }
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
    std::vector<int64_t> left;
    RETURN_IF_ERROR(
        DispatchType(ComparableTypes{}, x.dtype(), [&]<typename T>(TypeTag<T>) {
          left = PositionsNotIn(x.flat<T>(), y.flat<T>());
          return absl::OkStatus();
        }));
    const int64_t count = static_cast<int64_t>(left.size());
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, {count}));
    for (int64_t i = 0; i < count; ++i) {
      CopyElements(x, left[i], 1, *output, i);
    }
    return SetPositions(context, 1, left);
  }
};

}  // namespace

void RegisterArrayUniqueKernels(KernelRegistry& registry) {
  const std::map<std::string, std::vector<DataType>> types = {
      {"T", DataTypesOf(ComparableTypes{})}};
  registry.Register<UniqueKernel>("Unique", types);
  registry.Register<UniqueKernel>("UniqueV2", types);
  registry.Register<UniqueKernel>("UniqueWithCounts", types);
  registry.Register<ListDiffKernel>("ListDiff", types);
}

}  // namespace weft
