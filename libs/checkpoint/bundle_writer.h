// BundleWriter writes tensors and slices of tensors to a checkpoint with one
// data file: PREFIX.index and PREFIX.data-00000-of-00001. MergeBundles combines
// several checkpoints into one.
//
// The format is that of tensorflow/core/util/tensor_bundle, and
// docs/design/checkpoint_format.md describes it. Data is stored in the order of
// the Add calls.
//
// Both files are written under temporary names in the same directory, synced,
// and renamed by Finish, the index last. So a checkpoint appears atomically. An
// existing checkpoint with the same prefix stays valid until the new index
// replaces its index (ChooseDataFileCount).
//
// Threads: only one thread at a time may call a writer. All calls except the
// constructor block.
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

// PiecewiseTensor is a numeric tensor whose bytes are produced incrementally.
// `read` passes the bytes to its argument, in order and in chunks of any size,
// and returns the first error of its argument.
struct PiecewiseTensor {
  using Append = absl::FunctionRef<absl::Status(absl::string_view piece)>;
  DataType dtype;
  TensorShape shape;
  absl::FunctionRef<absl::Status(Append append)> read;
};

// Index entries by key, in the order of the index.
using BundleEntries = std::map<std::string, BundleEntry>;

// Returns INVALID_ARGUMENT if the last component of the prefix is empty.
absl::Status CheckPrefix(absl::string_view prefix);

// DataFileCount is the count in the names of a checkpoint's data files, such as
// 2 in "-of-00002".
struct DataFileCount {
  int count = 1;
  bool replaces = false;  // a checkpoint with this prefix exists
  int replaced = 0;       // count of the old one; 0: unknown
};

// Returns the count to use in the names of the `num_files` data files that a
// save writes to `prefix`. `number` identifies the save.
// On a disk the result is `num_files`, or one more if an existing checkpoint of
// the prefix has that count. The data files of both checkpoints then have
// different names, and the old checkpoint stays valid until it is replaced.
// On remote file systems (s3://, zmq://) the result is derived from `number`
// and is at most 99,999. There, an earlier failed save may still be renaming
// files, and these must not replace the data of this save. Readers, including
// TensorFlow's, open only the files that index entries name.
absl::StatusOr<DataFileCount> ChooseDataFileCount(FileSystem& file_system,
                                                  absl::string_view prefix,
                                                  int num_files,
                                                  uint64_t number);
// Deletes the data of the checkpoint that `files` has replaced, and on a disk
// also the data of unfinished saves. Errors are ignored because remaining files
// are harmless.
void DeleteReplacedData(FileSystem& file_system, absl::string_view prefix,
                        const DataFileCount& files);

class BundleWriter {
 public:
  // Creates the directory if needed, and creates the data file under a
  // temporary name. `file_system` must outlive the writer.
  static absl::StatusOr<std::unique_ptr<BundleWriter>> Create(
      FileSystem& file_system, absl::string_view prefix, Random& random);
  // Unless Finish succeeded, deletes the written files.
  ~BundleWriter();

  // Adds a tensor. INVALID_ARGUMENT for a name that is empty, longer than
  // kMaxKeySize (table.h) or already used. UNIMPLEMENTED for resources, for
  // variants that hold a process-local object, and for slices of variants.
  // After an error nothing else can be added.
  absl::Status Add(absl::string_view name, const Tensor& tensor);
  // Adds `tensor`, which is the part `slice` of the tensor `name` with shape
  // `shape`. INVALID_ARGUMENT if `tensor` does not have the shape of the slice,
  // or if an earlier slice of `name` was added with another type or another
  // shape of the whole tensor.
  absl::Status AddSlice(absl::string_view name, const TensorShape& shape,
                        const TensorSlice& slice, const Tensor& tensor);
  // Do the same as the other Add and AddSlice. INTERNAL if the chunks do not
  // add up to the size of the tensor.
  absl::Status Add(absl::string_view name, const PiecewiseTensor& tensor);
  absl::Status AddSlice(absl::string_view name, const TensorShape& shape,
                        const TensorSlice& slice,
                        const PiecewiseTensor& tensor);

  // Makes everything that was added durable and visible. Afterwards nothing may
  // be added. If `cancellation` is cancelled before the checkpoint appears, no
  // checkpoint is left.
  absl::Status Finish(const Cancellation* cancellation = nullptr);

 private:
  // `number` identifies this save in the names of its files.
  BundleWriter(FileSystem& file_system, absl::string_view prefix,
               uint64_t number);

  // Source is a tensor to add. `append` appends the bytes of the tensor to the
  // data and returns their checksum.
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
  // Appends `bytes` to the data. `crc` is the checksum of the preceding bytes;
  // returns it extended by `bytes`.
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
  bool has_index_ = false;  // set before it is created
  int64_t data_size_ = 0;
  BundleEntries entries_;
  absl::Status status_;  // the error after which nothing can be added
  bool finished_ = false;
};

// Converts NOT_FOUND to UNAVAILABLE for a file that was just written. A machine
// that loses power between two calls may also lose the file. This is not a user
// error, and the next save recovers from it.
absl::Status UnavailableIfGone(const absl::Status& status);

// Writes an index to `path`. If the result is OK, the file is complete and
// durable.
absl::Status WriteIndex(FileSystem& file_system, const std::string& path,
                        const BundleHeader& header,
                        const BundleEntries& entries);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_BUNDLE_WRITER_H_
