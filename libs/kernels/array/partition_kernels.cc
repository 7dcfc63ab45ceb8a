// Kernels that distribute rows and join them again: DynamicPartition,
// DynamicStitch, ParallelDynamicStitch.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "libs/base/status.h"
#include "libs/kernels/array/array_kernels.h"
#include "libs/kernels/array/copy.h"
#include "libs/kernels/array/segment_ids.h"
#include "libs/kernels/common/parallel_loop.h"
#include "libs/kernels/common/row_copies.h"
#include "libs/kernels/common/string_charge.h"
#include "libs/tensor/heap_charge.h"

namespace weft {
namespace {

class DynamicPartitionKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& data = context.input(0);
    const Tensor& partitions = context.input(1);
    ASSIGN_OR_RETURN(const Partitions found, PreparePartitions(context));
    const std::vector<Tensor*>& outputs = found.outputs;
    if (data.num_elements() == 0) return absl::OkStatus();
    HeapCharge charge(context.host_allocator());
    RETURN_IF_ERROR(ChargeStrings(charge, data));
    const int64_t row = data.num_elements() / partitions.num_elements();
    const size_t row_bytes = DataTypeSize(data.dtype()) * row;
    if (row_bytes == sizeof(uint32_t)) {
      DivideWords<uint32_t>(data, partitions, outputs);
    } else if (row_bytes == sizeof(uint64_t)) {
      DivideWords<uint64_t>(data, partitions, outputs);
    } else {
      DivideRows(data, partitions, row, outputs);
    }
    return absl::OkStatus();
  }

 private:
  // Divides rows of the size of a number, such as ids.
  template <typename Word>
  static void DivideWords(const Tensor& data, const Tensor& partitions,
                          const std::vector<Tensor*>& outputs) {
    std::vector<char*> next;
    for (Tensor* output : outputs) {
      next.push_back(static_cast<char*>(output->mutable_data()));
    }
    const char* from = static_cast<const char*>(data.data());
    for (const int32_t partition : partitions.flat<int32_t>()) {
      std::memcpy(next[partition], from, sizeof(Word));
      next[partition] += sizeof(Word);
      from += sizeof(Word);
    }
  }

  static void DivideRows(const Tensor& data, const Tensor& partitions,
                         int64_t row, const std::vector<Tensor*>& outputs) {
    std::vector<int64_t> next(outputs.size(), 0);
    int64_t from = 0;
    for (const int32_t partition : partitions.flat<int32_t>()) {
      CopyElements(data, from, row, *outputs[partition],
                   next[partition]++ * row);
      from += row;
    }
  }
};

// DynamicStitchKernel sets rows of the output. If several rows have the same
// position, the last one is used. Rows without data are zero.
class DynamicStitchKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const int count = context.num_inputs() / 2;
    ASSIGN_OR_RETURN(int64_t rows, CountStitchedRows(context, count));
    ASSIGN_OR_RETURN(TensorShape shape,
                     ShapeOfRows(rows, context.input(count).shape(),
                                 context.input(0).rank()));
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, shape));
    const Coverage coverage = CoverageOf(context, count, rows);
    if (coverage == Coverage::kSome) RETURN_IF_ERROR(FillWithZeros(*output));
    if (shape.num_elements() == 0) return absl::OkStatus();
    const int64_t row = shape.num_elements() / rows;
    const auto bytes =
        row * static_cast<int64_t>(DataTypeSize(output->dtype()));
    HeapCharge charge(context.host_allocator());
    for (int i = 0; i < count; ++i) {
      const auto places = context.input(i).flat<int32_t>();
      const Tensor& data = context.input(count + i);
      RETURN_IF_ERROR(ChargeStrings(charge, data));
      const auto num_rows = static_cast<int64_t>(places.size());
      if (bytes == 0) {
        ScatterObjects(data, places, row, *output);
      } else if (coverage == Coverage::kEachOnce) {
        ParallelLoop(context, num_rows, CopyCost(bytes),
                     [&](int64_t begin, int64_t end) {
                       ScatterRows(data, places, begin, end, bytes, *output);
                     });
      } else {
        ScatterRows(data, places, 0, num_rows, bytes, *output);
      }
    }
    return absl::OkStatus();
  }

 private:
  // Describes which rows of the output have data.
  enum class Coverage {
    kSome,
    kEach,      // each row has data
    kEachOnce,  // exactly once: any order gives the same result
  };

  // Copies rows [begin, end) of an input, which are plain bytes, to their
  // places.
  static void ScatterRows(const Tensor& data, absl::Span<const int32_t> places,
                          int64_t begin, int64_t end, int64_t bytes,
                          Tensor& output) {
    const char* from = static_cast<const char*>(data.data()) + begin * bytes;
    char* const to = static_cast<char*>(output.mutable_data());
    for (int64_t i = begin; i < end; ++i, from += bytes) {
      std::memcpy(to + places[i] * bytes, from, bytes);
    }
  }

  static void ScatterObjects(const Tensor& data,
                             absl::Span<const int32_t> places, int64_t row,
                             Tensor& output) {
    int64_t from = 0;
    for (const int32_t place : places) {
      CopyElements(data, from, row, output, place * row);
      from += row;
    }
  }

  static Coverage CoverageOf(OpKernelContext& context, int count,
                             int64_t rows) {
    int64_t given = 0;
    for (int i = 0; i < count; ++i) given += context.input(i).num_elements();
    if (given < rows) return Coverage::kSome;
    std::vector<bool> is_set(rows, false);
    int64_t missing = rows;
    for (int i = 0; i < count; ++i) {
      for (const int32_t index : context.input(i).flat<int32_t>()) {
        missing -= is_set[index] ? 0 : 1;
        is_set[index] = true;
      }
    }
    if (missing > 0) return Coverage::kSome;
    return given == rows ? Coverage::kEachOnce : Coverage::kEach;
  }
};

}  // namespace

void RegisterArrayPartitionKernels(KernelRegistry& registry) {
  registry.Register<DynamicPartitionKernel>("DynamicPartition");
  registry.Register<DynamicStitchKernel>("DynamicStitch");
  registry.Register<DynamicStitchKernel>("ParallelDynamicStitch");
}

}  // namespace weft
