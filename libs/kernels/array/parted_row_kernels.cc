// Kernels of the ops that passes substitute for lookups in tables of several
// parts (libs/passes/parted_lookup_fusion.h): _UniquePartition, _GatherStitched
// and _SumToParts. Results are bitwise equal to those of the replaced nodes.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/chosen_rows.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/id_bounds.h"
#include "libs/kernels/array/number_groups.h"
#include "libs/kernels/array/segment_ids.h"
#include "libs/kernels/common/number_types.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/common/row_copies.h"

namespace weft {
namespace {

// The part of an id is the id modulo the number of parts; its row there is the
// quotient, rounded down.
struct PartAndRow {
  int64_t part;
  int64_t row;
};

PartAndRow Divide(int64_t id, int64_t parts) {
  // Small numbers are divided as 32-bit numbers, which takes a fraction of the
  // time.
  constexpr int64_t kSmall = std::numeric_limits<uint32_t>::max();
  if (id >= 0 && id <= kSmall && parts <= kSmall) {
    const auto x = static_cast<uint32_t>(id), n = static_cast<uint32_t>(parts);
    return {int64_t{x % n}, int64_t{x / n}};
  }
  const int64_t quotient = id / parts, rest = id % parts;
  if (rest < 0) return {rest + parts, quotient - 1};
  return {rest, quotient};
}

class UniquePartitionKernel : public OpKernel {
 public:
  explicit UniquePartitionKernel(const OpKernelConstruction& construction)
      : OpKernel(construction), bounds_(construction) {}
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& ids = context.input(0);
    if (ids.rank() != 1) {
      return absl::InvalidArgumentError("unique expects a 1D vector.");
    }
    if (ids.num_elements() > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(
          "more than 2^31 elements need out_idx int64");
    }
    return DispatchType(IndexTypes{}, ids.dtype(), [&]<typename T>(TypeTag<T>) {
      RETURN_IF_ERROR(bounds_.Check<T>(ids.flat<T>()));
      return Write(context, ids.flat<T>());
    });
  }

 private:
  template <typename T>
  static absl::Status Write(OpKernelContext& context, absl::Span<const T> ids) {
    ASSIGN_OR_RETURN(Tensor * idx, context.AllocateOutput(
                                       1, {static_cast<int64_t>(ids.size())}));
    int32_t* to = idx->mutable_flat<int32_t>().data();
    NumberGroups<uint32_t> groups(static_cast<int64_t>(ids.size()));
    for (const T id : ids) {
      *to++ = static_cast<int32_t>(groups.FindOrAdd(static_cast<uint64_t>(id)));
    }
    RETURN_IF_ERROR(WriteDistinct<T>(context, groups.keys()));
    return WriteParts<T>(context, groups.keys());
  }

  template <typename T>
  static absl::Status WriteDistinct(OpKernelContext& context,
                                    absl::Span<const uint64_t> ids) {
    ASSIGN_OR_RETURN(Tensor * y, context.AllocateOutput(
                                     0, {static_cast<int64_t>(ids.size())}));
    T* to = y->mutable_flat<T>().data();
    for (const uint64_t id : ids) *to++ = static_cast<T>(id);
    return absl::OkStatus();
  }

  // The position of the next id in each part.
  template <typename T>
  struct Next {
    T* row;
    int32_t* place;
  };

  template <typename T>
  static absl::Status WriteParts(OpKernelContext& context,
                                 absl::Span<const uint64_t> ids) {
    const int64_t parts = (context.num_outputs() - 2) / 2;
    absl::InlinedVector<PartAndRow, kInlinedGroups> divided;
    divided.reserve(ids.size());
    std::vector<int64_t> counts(parts, 0);
    for (const uint64_t id : ids) {
      divided.push_back(Divide(static_cast<T>(id), parts));
      ++counts[divided.back().part];
    }
    std::vector<Next<T>> next;
    for (int64_t i = 0; i < parts; ++i) {
      const auto output = static_cast<int>(2 + i);
      const auto shift = static_cast<int>(parts);
      ASSIGN_OR_RETURN(Tensor * rows,
                       context.AllocateOutput(output, {counts[i]}));
      ASSIGN_OR_RETURN(Tensor * places,
                       context.AllocateOutput(output + shift, {counts[i]}));
      next.push_back({rows->mutable_flat<T>().data(),
                      places->mutable_flat<int32_t>().data()});
    }
    int32_t place = 0;
    for (const PartAndRow& at : divided) {
      *next[at.part].row++ = static_cast<T>(at.row);
      *next[at.part].place++ = place++;
    }
    return absl::OkStatus();
  }

  const IdBounds bounds_;
};

// Inputs [first, first + parts) hold, for each row of each part, its number
// among all rows. Calls Fn(part, row of the part, number) for each. Returns
// INVALID_ARGUMENT unless each of the `rows` occurs once.
template <typename Fn>
absl::Status ForEachPlace(const OpKernelContext& context, int first, int parts,
                          int64_t rows, const Fn& fn) {
  std::vector<bool> is_set(rows, false);
  int64_t missing = rows;
  for (int i = 0; i < parts; ++i) {
    int64_t row = 0;
    for (const int32_t place : context.input(first + i).flat<int32_t>()) {
      if (place < 0 || place >= rows || is_set[place]) {
        return absl::InvalidArgumentError(
            absl::StrCat("places[", i, "] has row ", place,
                         ", which is not in [0, ", rows, ") or occurs twice"));
      }
      is_set[place] = true;
      --missing;
      fn(i, row++, place);
    }
  }
  if (missing == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("places name all but ", missing, " of ", rows, " rows"));
}

class GatherStitchedKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const int parts = (context.num_inputs() - 1) / 2;
    const Tensor& indices = context.input(2 * parts);
    ASSIGN_OR_RETURN(const int64_t rows, CountStitchedRows(context, parts));
    RETURN_IF_ERROR(CheckIndices(indices, rows));
    ASSIGN_OR_RETURN(
        const TensorShape row,
        ShapeOfRows(1, context.input(parts).shape(), context.input(0).rank()));
    ASSIGN_OR_RETURN(Tensor * output, AllocateRows(context, indices, row));
    const auto bytes =
        row.num_elements() *
        static_cast<int64_t>(DataTypeSize(context.input(parts).dtype()));
    ASSIGN_OR_RETURN(const std::vector<const char*> sources,
                     SourcesOf(context, parts, rows, bytes));
    if (output->num_elements() == 0) return absl::OkStatus();
    const int32_t* const at = indices.flat<int32_t>().data();
    ParallelLoop(context, indices.num_elements(), CopyCost(bytes),
                 [&](int64_t begin, int64_t end) {
                   CopyRows(sources, at, begin, end, bytes,
                            static_cast<char*>(output->mutable_data()));
                 });
    return absl::OkStatus();
  }

 private:
  // Returns the error that GatherV2 returns for the stitched rows.
  static absl::Status CheckIndices(const Tensor& indices, int64_t rows) {
    const absl::Span<const int32_t> values = indices.flat<int32_t>();
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] >= 0 && values[i] < rows) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "indices", CoordinatesOf(indices.shape(), static_cast<int64_t>(i)),
          " = ", values[i], " is not in [0, ", rows, ")"));
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<Tensor*> AllocateRows(OpKernelContext& context,
                                              const Tensor& indices,
                                              const TensorShape& row) {
    Dims dims(indices.shape().dims().begin(), indices.shape().dims().end());
    dims.insert(dims.end(), row.dims().begin() + 1, row.dims().end());
    ASSIGN_OR_RETURN(const TensorShape shape, TensorShape::Create(dims));
    return context.AllocateOutput(0, shape);
  }

  // Returns the address of each row.
  static absl::StatusOr<std::vector<const char*>> SourcesOf(
      const OpKernelContext& context, int parts, int64_t rows, int64_t bytes) {
    // The number of rows is bounded by the number of positions, so that an
    // index cannot cause a large allocation.
    int64_t given = 0;
    for (int i = 0; i < parts; ++i) given += context.input(i).num_elements();
    if (given != rows) {
      return absl::InvalidArgumentError(
          absl::StrCat("there are ", given, " places for ", rows, " rows"));
    }
    std::vector<const char*> sources(rows);
    RETURN_IF_ERROR(ForEachPlace(
        context, 0, parts, rows, [&](int part, int64_t row, int32_t place) {
          const void* const data = context.input(parts + part).data();
          sources[place] = static_cast<const char*>(data) + row * bytes;
        }));
    return sources;
  }

  static void CopyRows(const std::vector<const char*>& sources,
                       const int32_t* at, int64_t begin, int64_t end,
                       int64_t bytes, char* out) {
    char* to = out + begin * bytes;
    for (int64_t i = begin; i < end; ++i, to += bytes) {
      if (i + kRowsAhead < end) {
        PrefetchRow(sources[at[i + kRowsAhead]], bytes);
      }
      std::memcpy(to, sources[at[i]], bytes);
    }
  }
};

class SumToPartsKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& data = context.input(0);
    const Tensor& ids = context.input(1);
    RETURN_IF_ERROR(CheckSegmentPrefix(data.shape(), ids.shape()));
    int64_t rows = 0;
    for (int i = 2; i < context.num_inputs(); ++i) {
      rows += context.input(i).num_elements();
    }
    RETURN_IF_ERROR(CheckIds(ids, rows));
    return DispatchType(FloatingTypes{}, data.dtype(),
                        [&]<typename T>(TypeTag<T>) {
                          return Sum(context, data.flat<T>().data(), ids, rows);
                        });
  }

 private:
  static absl::Status CheckIds(const Tensor& ids, int64_t rows) {
    const absl::Span<const int32_t> values = ids.flat<int32_t>();
    for (size_t i = 0; i < values.size(); ++i) {
      if (values[i] < rows) continue;
      return SegmentOutOfRange(ids.shape(), static_cast<int64_t>(i), values[i],
                               rows);
    }
    return absl::OkStatus();
  }

  template <typename T>
  static absl::Status Sum(OpKernelContext& context, const T* data,
                          const Tensor& ids, int64_t rows) {
    std::vector<T*> parts;
    int64_t row = 0;
    for (int i = 0; i < context.num_outputs(); ++i) {
      ASSIGN_OR_RETURN(const TensorShape shape,
                       ShapeOfRows(context.input(2 + i).num_elements(),
                                   context.input(0).shape(), ids.rank()));
      row = 1;
      for (int d = 1; d < shape.rank(); ++d) row *= shape.dim(d);
      ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(i, shape));
      parts.push_back(output->mutable_flat<T>().data());
    }
    std::vector<T*> sums(rows);
    RETURN_IF_ERROR(ForEachPlace(context, 2, context.num_outputs(), rows,
                                 [&](int part, int64_t at, int32_t place) {
                                   sums[place] = parts[part] + at * row;
                                 }));
    if (row == 0) return absl::OkStatus();
    SumColumns(context, data, ids.flat<int32_t>(), row, sums);
    return absl::OkStatus();
  }

  // Sums the columns on several threads. Each thread has some of the columns,
  // so that the order of additions is always the same. Columns are divided by
  // pairs of cache lines, because the processor fetches these together.
  template <typename T>
  static void SumColumns(OpKernelContext& context, const T* data,
                         absl::Span<const int32_t> ids, int64_t row,
                         const std::vector<T*>& sums) {
    constexpr int64_t kPair = 128 / sizeof(T);
    ParallelLoop(context, (row + kPair - 1) / kPair,
                 kPair * static_cast<int64_t>(ids.size()),
                 [&](int64_t begin, int64_t end) {
                   const int64_t first = begin * kPair;
                   AddRows(data, ids, row, first,
                           std::min(end * kPair, row) - first, sums);
                 });
  }

  // out[i] = out[i] + in[i]
  template <typename T>
  static void AddRow(const T* in, int64_t n, T* out) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
      AddRowOfFloats(in, n, out);
    } else {
      for (int64_t i = 0; i < n; ++i) out[i] = AddElements(out[i], in[i]);
    }
  }

  // Sums `n` columns starting at `first`. A sum is set to 0 when its first row
  // is added, while its memory is in the cache; sums without rows are set at
  // the end.
  template <typename T>
  static void AddRows(const T* in, absl::Span<const int32_t> ids, int64_t row,
                      int64_t first, int64_t n, const std::vector<T*>& sums) {
    const auto zero = static_cast<T>(Wide<T>(0));
    std::vector<bool> has_rows(sums.size(), false);
    in += first;
    for (const int32_t id : ids) {
      // Rows of negative ids belong to no segment.
      if (id >= 0) {
        T* const sum = sums[id] + first;
        if (!has_rows[id]) std::fill_n(sum, n, zero);
        has_rows[id] = true;
        AddRow(in, n, sum);
      }
      in += row;
    }
    for (size_t id = 0; id < sums.size(); ++id) {
      if (!has_rows[id]) std::fill_n(sums[id] + first, n, zero);
    }
  }
};

}  // namespace

void RegisterArrayPartedRowKernels(KernelRegistry& registry) {
  registry.Register<UniquePartitionKernel>("_UniquePartition",
                                           {{"T", DataTypesOf(IndexTypes{})}});
  std::vector<DataType> plain = DataTypesOf(Numbers{});
  plain.push_back(DT_BOOL);
  registry.Register<GatherStitchedKernel>("_GatherStitched", {{"T", plain}});
  registry.Register<SumToPartsKernel>("_SumToParts",
                                      {{"T", DataTypesOf(FloatingTypes{})}});
}

}  // namespace weft
