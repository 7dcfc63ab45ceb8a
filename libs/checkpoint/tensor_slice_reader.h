// TensorSliceReader reads a V1 checkpoint. Such a checkpoint consists of one or
// more tables (libs/checkpoint/table.h), whose records are described in
// libs/checkpoint/saved_slices.h. Each table may hold any slices of a tensor.
//
// CheckpointReader describes the errors and the rules for threads.
#ifndef WEFT_LIBS_CHECKPOINT_TENSOR_SLICE_READER_H_
#define WEFT_LIBS_CHECKPOINT_TENSOR_SLICE_READER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/base/async/cancellation.h"
#include "libs/checkpoint/checkpoint_reader.h"
#include "libs/checkpoint/saved_slices.h"
#include "libs/checkpoint/slice_copy.h"
#include "libs/checkpoint/table.h"
#include "libs/fs/file_system.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/heap_charge.h"

namespace weft::checkpoint {

// Returns the sorted files, without directories, that match `prefix` as a
// pattern. If no file matches, returns the file with that name. The result is
// empty if it does not exist either.
absl::StatusOr<std::vector<std::string>> SliceTablePaths(
    FileSystem& file_system, absl::string_view prefix);

class TensorSliceReader : public CheckpointReader {
 public:
  // Opens a checkpoint by reading the tensor lists of the tables at `paths`.
  // `prefix` is used in error texts.
  static absl::StatusOr<std::unique_ptr<TensorSliceReader>> Open(
      FileSystem& file_system, absl::string_view prefix,
      std::vector<std::string> paths,
      const Cancellation* cancellation = nullptr,
      Allocator& allocator = HeapAllocator());

  int format() const override { return 1; }
  int num_data_files() const override {
    return static_cast<int>(tables_.size());
  }
  absl::StatusOr<std::shared_ptr<const TensorInfo>> FindTensor(
      absl::string_view name) override;
  absl::StatusOr<std::map<std::string, Listed>> ListTensors() override;
  absl::StatusOr<Tensor> Read(absl::string_view name,
                              Allocator& allocator) override;
  absl::StatusOr<Tensor> ReadSlice(absl::string_view name,
                                   const TensorSlice& slice,
                                   Allocator& allocator) override;
  absl::Status Verify(absl::string_view name, Allocator& allocator) override;

 private:
  struct TableFile {
    std::string path;
    uint64_t size = 0;             // known after it was opened
    std::unique_ptr<Table> table;  // null: not open now
  };
  struct SavedTensor {
    std::string name;
    std::shared_ptr<TensorInfo> info;  // with slices after FindTensor
    int64_t claimed = 0;               // MinElements of all slices
    std::vector<TensorSlice> slices;   // all slices
    std::vector<size_t> files;         // of each slice: an index of tables_
    BoxesInOrder boxes{std::vector<Box>()};  // of each slice
  };
  using SavedTensors = std::map<std::string, SavedTensor, std::less<>>;

  TensorSliceReader(FileSystem& file_system, absl::string_view prefix,
                    std::vector<std::string> paths,
                    const Cancellation* cancellation, Allocator& allocator);

  absl::Status CheckCancelled() const;
  // Returns tables_[file], and opens it if needed. If more than kMaxOpenFiles
  // would be open, closes the least recently used table. Only the last open
  // table caches a block, because a block is as large as the slices in it.
  absl::StatusOr<Table*> OpenTable(size_t file);
  absl::Status LoadList(size_t file);
  // Merges the slices of a tensor in tables_[file] with the slices in other
  // tables.
  absl::Status Add(size_t file, SlicesOfTensor tensor);
  // Prepares a tensor for FindSlices, after all its slices were added.
  static void Finish(SavedTensor& tensor);
  // Returns the slices for TensorInfo, which are empty for a tensor that is
  // stored whole.
  static std::vector<TensorSlice> SlicesOf(const SavedTensor& tensor);
  // Returns the error for a tensor with overlapping slices.
  absl::Status Overlapping(absl::string_view name) const;

  absl::StatusOr<const SavedTensor*> Find(absl::string_view name) const;
  absl::Status CheckType(const SavedTensor& tensor) const;
  absl::StatusOr<Tensor> ReadBox(const SavedTensor& tensor, const Box& wanted,
                                 const TensorShape& shape,
                                 Allocator& allocator);
  // Returns the slices of the tensor that intersect `wanted`. They contain each
  // element of `wanted` exactly once, and their files are large enough to hold
  // them.
  absl::StatusOr<std::vector<size_t>> FindSlices(const SavedTensor& tensor,
                                                 const Box& wanted);
  absl::Status CheckFileSizes(const SavedTensor& tensor,
                              const std::vector<size_t>& slices);
  // Returns the record of the i-th slice, which is valid until another record
  // is read.
  absl::StatusOr<absl::string_view> FindRecord(const SavedTensor& tensor,
                                               size_t i);
  // Returns the values of the i-th slice.
  absl::StatusOr<Tensor> ReadStored(const SavedTensor& tensor, size_t i,
                                    Allocator& allocator);
  absl::StatusOr<int64_t> StoredBytes(const SavedTensor& tensor, size_t i);

  FileSystem& file_system_;
  const std::string prefix_;
  const Cancellation* const cancellation_;  // may be null
  HeapCharge charge_;                       // for tensors_ and their slices
  std::vector<TableFile> tables_;
  std::deque<size_t> open_;  // open tables_, last used last
  SavedTensors tensors_;
  int64_t boxes_compared_ = 0;
};

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_TENSOR_SLICE_READER_H_
