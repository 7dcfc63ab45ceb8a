// BundleWriter: writes tensors and slices of tensors to one checkpoint of one
// data file: PREFIX.index and PREFIX.data-00000-of-00001. MergeBundles makes
// one checkpoint of several.
//
// Format: tensorflow/core/util/tensor_bundle; docs/design/checkpoint_format.md
// shows the bytes, which are TensorFlow's. Data lies in the order of the Adds.
//
// Both files are written under other names in the same folder, synced, and
// renamed by Finish, the index last. So a checkpoint is there whole or not at
// all. Where the prefix has one already, that one is there until the new index
// takes the place of its own (ChooseDataFileCount).
//
// Threads: used by one at a time. All calls but the constructor block.
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
#include "libs/base/cancellation.h"
#include "libs/base/random.h"
#include "libs/checkpoint/bundle_entry.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/fs/file_system.h"
#include "libs/tensor/shape.h"
#include "libs/tensor/tensor.h"

namespace weft::checkpoint {

// A tensor of numbers whose bytes are not there at once: `read` hands them, in
// order and in pieces of any size, to what it is given, and ends with the first
// error that it gets.
struct PiecewiseTensor {
  using Append = absl::FunctionRef<absl::Status(absl::string_view piece)>;
  DataType dtype;
  TensorShape shape;
  absl::FunctionRef<absl::Status(Append append)> read;
};

// In the order of an index.
using BundleEntries = std::map<std::string, BundleEntry>;

// INVALID_ARGUMENT for a prefix that names no checkpoint.
absl::Status CheckPrefix(absl::string_view prefix);

// "-of-00002" in the names of a checkpoint's data files.
struct DataFileCount {
  int count = 1;
  bool replaces = false;  // a checkpoint of the same prefix
  int replaced = 0;       // the count of that one; 0: it can't be read
};

// For `num_files` data files that are to become `prefix` by the save of that
// number. On a disk: as many, or one more where a checkpoint that is there says
// as many itself. So the data of both has other names, and the old one stays
// whole until it is replaced. Elsewhere (s3://, zmq://): a count that the
// number gives, up to 99,999. An earlier save that has failed may still be
// renaming there, and must not replace this one's data. Readers, also
// TensorFlow's, open only those files that entries name.
absl::StatusOr<DataFileCount> ChooseDataFileCount(FileSystem& file_system,
                                                  absl::string_view prefix,
                                                  int num_files,
                                                  uint64_t number);
// Data of the checkpoint that `files` has replaced; on a disk also of others
// that were broken off before they did. What can't be deleted does no harm.
void DeleteReplacedData(FileSystem& file_system, absl::string_view prefix,
                        const DataFileCount& files);

class BundleWriter {
 public:
  // Makes the folder if need be, and the data file under a name of its own.
  // `file_system` outlives the writer.
  static absl::StatusOr<std::unique_ptr<BundleWriter>> Create(
      FileSystem& file_system, absl::string_view prefix, Random& random);
  // Without Finish, what was written is deleted.
  ~BundleWriter();

  // INVALID_ARGUMENT for a name that is empty, longer than kMaxKeySize
  // (table.h) or used already; UNIMPLEMENTED for resources, for variants that
  // hold an object of the process, and for slices of variants. After that, or
  // what a file system said, nothing else can be added.
  absl::Status Add(absl::string_view name, const Tensor& tensor);
  // `tensor` is `slice` of the tensor `name`, whose shape is `shape`.
  // INVALID_ARGUMENT if it has another shape than that, or type and shape of
  // the whole differ from those of its other slices.
  absl::Status AddSlice(absl::string_view name, const TensorShape& shape,
                        const TensorSlice& slice, const Tensor& tensor);
  // The same; INTERNAL if the pieces are not as many bytes as the tensor has.
  absl::Status Add(absl::string_view name, const PiecewiseTensor& tensor);
  absl::Status AddSlice(absl::string_view name, const TensorShape& shape,
                        const TensorSlice& slice,
                        const PiecewiseTensor& tensor);

  // What was added is durable and visible. Nothing may be added afterwards.
  // One that is cancelled before the checkpoint is there leaves none.
  absl::Status Finish(const Cancellation* cancellation = nullptr);

 private:
  // `number`: of this save, in the names of its files.
  BundleWriter(FileSystem& file_system, absl::string_view prefix,
               uint64_t number);

  // A tensor that is to be added; `append` appends its bytes to the data and
  // returns their checksum.
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
  // Appends `bytes`; returns the checksum of those before, of which it is
  // `crc`, and these.
  absl::StatusOr<uint32_t> AppendBytes(uint32_t crc, absl::string_view bytes);
  absl::Status Commit(const Cancellation* cancellation);
  // Makes the files the checkpoint, once all is in them.
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

// NOT_FOUND of what was written just before as UNAVAILABLE: a machine that
// loses power between two calls may lose the file, too. That is no mistake of
// whoever saves, and over with the next save.
absl::Status UnavailableIfGone(const absl::Status& status);

// Writes an index to `path`, whole and durable when it returns OK.
absl::Status WriteIndex(FileSystem& file_system, const std::string& path,
                        const BundleHeader& header,
                        const BundleEntries& entries);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_BUNDLE_WRITER_H_
