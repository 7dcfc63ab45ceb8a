// DatasetHarness: data sets without a graph: made by their kernels, and walked
// through by the thread of the test.
//
//   DatasetHarness harness;
//   auto lines = harness.Make("TextLineDataset", {paths, Text(""), buffer});
//   EXPECT_EQ(harness.All(lines), ...);
//
// Files are those of a file system in memory.
#ifndef WEFT_LIBS_KERNELS_DATA_TESTING_DATASET_HARNESS_H_
#define WEFT_LIBS_KERNELS_DATA_TESTING_DATASET_HARNESS_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "libs/fs/memory_file_system.h"
#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset.h"
#include "libs/kernels/data/iterator_state.h"
#include "libs/kernels/testing/kernel_test_harness.h"

namespace weft {

class DatasetHarness {
 public:
  DatasetHarness() : kernels_(RegisterDataKernels) {
    kernels_.set_file_system(files_);
  }

  // Files of the data sets made from now on.
  void set_file_system(FileSystem& files) {
    used_files_ = &files;
    kernels_.set_file_system(files);
  }
  MemoryFileSystem& files() { return files_; }
  Scheduler& scheduler() { return kernels_.scheduler(); }

  absl::StatusOr<DatasetPtr> Make(absl::string_view op,
                                  std::vector<KernelInput> inputs,
                                  AttrMap attrs = {}) {
    auto made = kernels_.RunOne(op, std::move(inputs), std::move(attrs));
    if (!made.ok()) return made.status();
    return DatasetFrom(*made);
  }

  // What iterators are used with.
  IteratorContext Context() { return Context(never_cancelled_); }
  IteratorContext Context(Cancellation& cancellation) {
    StepContext step;
    step.cancellation = &cancellation;
    step.scheduler = &kernels_.scheduler();
    step.device = &kernels_.device();
    step.allocator = &kernels_.device().allocator();
    step.resources = &kernels_.resources();
    step.file_system = used_files_;
    return IteratorContext(step, nullptr);
  }

  absl::StatusOr<std::unique_ptr<DatasetIterator>> Walk(
      const DatasetPtr& dataset) {
    IteratorContext context = Context();
    return dataset->MakeIterator(context);
  }
  // The next element's only component; OUT_OF_RANGE at the end.
  absl::StatusOr<Tensor> Next(DatasetIterator& iterator) {
    IteratorContext context = Context();
    DatasetElement element;
    const absl::StatusOr<bool> has = iterator.GetNext(context, &element);
    if (!has.ok()) return has.status();
    if (!*has) return absl::OutOfRangeError("the end");
    return element[0];
  }
  // What is left, each as Tensor::ToString has its values, or its error's code;
  // no more than `most`.
  template <typename T>
  std::vector<T> Rest(DatasetIterator& iterator, size_t most = 10000) {
    std::vector<T> values;
    while (values.size() < most) {
      const absl::StatusOr<Tensor> next = Next(iterator);
      if (!next.ok()) break;
      values.push_back(next->flat<T>()[0]);
    }
    return values;
  }

  // The state as it travels.
  absl::StatusOr<Variant> Save(DatasetIterator& iterator) {
    IteratorContext context = Context();
    IteratorStateWriter::Values values;
    const absl::Status status =
        iterator.Save(context, IteratorStateWriter(values));
    if (!status.ok()) return status;
    return EncodeIteratorState(values);
  }
  absl::Status Restore(DatasetIterator& iterator, const Variant& state) {
    const auto values = DecodeIteratorState(state);
    if (!values.ok()) return values.status();
    IteratorContext context = Context();
    return iterator.Restore(context, IteratorStateReader(*values));
  }

 private:
  MemoryFileSystem files_;
  FileSystem* used_files_ = &files_;
  KernelTestHarness kernels_;
  Cancellation never_cancelled_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_TESTING_DATASET_HARNESS_H_
