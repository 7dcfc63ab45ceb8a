// BundleWriter writes tensors and slices of tensors to a checkpoint with one
// data file: PREFIX.index and PREFIX.data-00000-of-00001. MergeBundles combines
// several checkpoints into one.
//
// Format: tensorflow/core/util/tensor_bundle; docs/design/checkpoint_format.md
// describes the bytes, which are TensorFlow's. Data is stored in the order of
// Add calls.
//
// Both files are written under temporary names in the same directory, synced,
// and renamed by Finish, the index last. So a checkpoint appears atomically. An
// existing checkpoint of the prefix stays valid until the new index replaces
// its index (ChooseDataFileCount).
//
// Threads: one at a time. All calls except the constructor block.
#ifndef WEFT_LIBS_CHECKPOINT_BUNDLE_WRITER_H_
#define WEFT_LIBS_CHECKPOINT_BUNDLE_WRITER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/random.h"
#include "libs/checkpoint/bundle_entry.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/fs/file_system.h"
#include "libs/tensor/shape.h"
#include "libs/tensor/tensor.h"

namespace weft::checkpoint {

// A numeric tensor whose bytes are produced incrementally: `read` passes them,
// in order and in chunks of any size, to its argument, and returns its first
// error.
struct PiecewiseTensor {
  using Append = absl::FunctionRef<absl::Status(absl::string_view piece)>;
  DataType dtype;
  TensorShape shape;
  absl::FunctionRef<absl::Status(Append append)> read;
};

// In index order.
using BundleEntries = std::map<std::string, BundleEntry>;

// INVALID_ARGUMENT for a prefix without a name.
absl::Status CheckPrefix(absl::string_view prefix);

// "-of-00002" in the names of a checkpoint's data files.
struct DataFileCount {
  int count = 1;
  bool replaces = false;  // a checkpoint of the same prefix
  int replaced = 0;       // the count of that one; 0: it can't be read
};

// Returns the data file count for `num_files` data files that the save of that
// number writes to `prefix`. On a disk: `num_files`, or one more if an existing
// checkpoint has that count itself. The data files of both then have different
// names, and the old checkpoint stays valid until it is replaced. On remote
// file systems (s3://, zmq://): a count derived from the save number, up to
// 99,999. An earlier failed save may still be renaming files there, and must
// not replace this save's data. Readers, including TensorFlow's, open only
// files that entries name.
absl::StatusOr<DataFileCount> ChooseDataFileCount(FileSystem& file_system,
                                                  absl::string_view prefix,
                                                  int num_files,
                                                  uint64_t number);
// Deletes data of the checkpoint that `files` has replaced; on a disk also data
// of unfinished saves. Errors are ignored because leftovers are harmless.
void DeleteReplacedData(FileSystem& file_system, absl::string_view prefix,
                        const DataFileCount& files);

class BundleWriter {
 public:
  // Creates the directory if needed, and the data file under a temporary name.
  // `file_system` must outlive the writer.
  static absl::StatusOr<std::unique_ptr<BundleWriter>> Create(
      FileSystem& file_system, absl::string_view prefix, Random& random);
  // Deletes the written files unless Finish succeeded.
  ~BundleWriter();

  // INVALID_ARGUMENT for a name that is empty, longer than kMaxKeySize
  // (table.h) or already used; UNIMPLEMENTED for resources, for variants that
  // hold a process-local object, and for slices of variants. After an error
  // nothing else can be added.
  absl::Status Add(absl::string_view name, const Tensor& tensor);
  // `tensor` is `slice` of the tensor `name`, whose shape is `shape`.
  // INVALID_ARGUMENT if it has another shape than the slice, or type and shape
  // of the whole differ from those of its other slices.
  absl::Status AddSlice(absl::string_view name, const TensorShape& shape,
                        const TensorSlice& slice, const Tensor& tensor);
  // As Add; INTERNAL if the chunks do not add up to the size of the tensor.
  absl::Status Add(absl::string_view name, const PiecewiseTensor& tensor);
  absl::Status AddSlice(absl::string_view name, const TensorShape& shape,
                        const TensorSlice& slice,
                        const PiecewiseTensor& tensor);

  // Makes everything added durable and visible. Nothing may be added
  // afterwards. If cancelled before the checkpoint appears, leaves none.
  absl::Status Finish(const Cancellation* cancellation = nullptr);

 private:
  // `number`: identifies this save in the names of its files.
  BundleWriter(FileSystem& file_system, absl::string_view prefix,
               uint64_t number);

  // A tensor to add; `append` appends its bytes to the data and returns their
  // checksum.
  struct Source {
    DataType dtype;
    const TensorShape& shape;
    absl::FunctionRef<absl::StatusOr<uint32_t>()> append;
  };
  absl::Status AddSourceSlice(absl::string_view name, const TensorShape& shape,
                              const TensorSlice& slice, const Source& source);
  absl::Status AddEntry(absl::string_view key, const Source& source);
  absl::StatusOr<uint32_t> AppendTensor(const Tensor& tensor);
  absl::StatusOr<uint32_t> AppendPieces(const PiecewiseTensor& tensor);
  absl::StatusOr<uint32_t> AppendStrings(const Tensor& tensor);
  absl::StatusOr<uint32_t> AppendVariants(const Tensor& tensor);
  // Appends `bytes`; extends `crc`, the checksum of the preceding bytes, and
  // returns it.
  absl::StatusOr<uint32_t> AppendBytes(uint32_t crc, absl::string_view bytes);
  absl::Status Commit(const Cancellation* cancellation);
  // Renames the complete files to their final names.
  absl::Status Rename(const DataFileCount& files);

  FileSystem& file_system_;
  const std::string prefix_;
  const uint64_t number_;
  const std::string temporary_data_;
  const std::string temporary_index_;
  std::unique_ptr<WritableFile> data_;
  bool has_index_ = false;  // under its temporary name, or may have it
  int64_t data_size_ = 0;
  BundleEntries entries_;
  absl::Status status_;  // why nothing can be added any more
  bool finished_ = false;
};

// Converts NOT_FOUND for a file that was just written to UNAVAILABLE: a machine
// that loses power between two calls may lose the file, too. This is not a user
// error, and the next save recovers from it.
absl::Status UnavailableIfGone(const absl::Status& status);

// Writes an index to `path`, complete and durable on OK.
absl::Status WriteIndex(FileSystem& file_system, const std::string& path,
                        const BundleHeader& header,
                        const BundleEntries& entries);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_BUNDLE_WRITER_H_
