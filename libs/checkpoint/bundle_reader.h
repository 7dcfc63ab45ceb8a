// BundleReader reads a V2 checkpoint written by BundleWriter, MergeBundles or
// TensorFlow.
//
// CheckpointReader describes the errors and the rules for threads.
#ifndef WEFT_LIBS_CHECKPOINT_BUNDLE_READER_H_
#define WEFT_LIBS_CHECKPOINT_BUNDLE_READER_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/base/async/cancellation.h"
#include "libs/checkpoint/bundle_entry.h"
#include "libs/checkpoint/checkpoint_reader.h"
#include "libs/checkpoint/slice_copy.h"
#include "libs/checkpoint/table.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/fs/file_system.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/tensor.h"

namespace weft::checkpoint {

class BundleReader : public CheckpointReader {
 public:
  // Opens a checkpoint by reading the header of PREFIX.index. The arguments
  // must outlive the reader. `cancellation` may be null; it stops reading
  // between two chunks. For `allocator`, see CheckpointReader.
  static absl::StatusOr<std::unique_ptr<BundleReader>> Open(
      FileSystem& file_system, absl::string_view prefix,
      const Cancellation* cancellation = nullptr,
      Allocator& allocator = HeapAllocator());
  ~BundleReader() override;

  int format() const override { return 2; }
  // Returns the number of data files according to their names; see
  // ChooseDataFileCount.
  int num_data_files() const override { return header_.num_shards; }
  const BundleHeader& header() const { return header_; }

  // Returns the index entry of a tensor or of the key of a slice. The result
  // stays valid while the caller holds it. The last entry is cached, because
  // one tensor may be requested in thousands of slices.
  absl::StatusOr<std::shared_ptr<const BundleEntry>> Find(
      absl::string_view key);
  absl::StatusOr<std::shared_ptr<const TensorInfo>> FindTensor(
      absl::string_view name) override;
  absl::StatusOr<std::map<std::string, Listed>> ListTensors() override;
  // Calls `visit` with all entries in order of their keys; entries of slices
  // come first. Stops at the first error of `visit`. `visit` may use the
  // reader.
  absl::Status ForEach(absl::FunctionRef<absl::Status(absl::string_view key,
                                                      const BundleEntry& entry)>
                           visit);

  // Counters for tests: the number of slices parsed, and the number of
  // comparisons of a slice with a requested one.
  int64_t slices_parsed() const { return slices_parsed_; }
  int64_t boxes_compared() const { return boxes_compared_; }

  absl::StatusOr<Tensor> Read(absl::string_view name,
                              Allocator& allocator) override;
  absl::StatusOr<Tensor> ReadSlice(absl::string_view name,
                                   const TensorSlice& slice,
                                   Allocator& allocator) override;
  // Numbers are read in chunks, which are not kept.
  absl::Status Verify(absl::string_view name, Allocator& allocator) override;

 private:
  struct DataFile {
    std::unique_ptr<RandomAccessFile> file;  // null: not open now
    uint64_t size = 0;
  };
  // Whole is a tensor and its slices, in the order of their starts.
  struct Whole {
    std::string name;
    std::shared_ptr<const BundleEntry> entry;
    BoxesInOrder boxes;  // of entry->slices
  };
  // Stored is a stored entry, and the part of the tensor that it holds.
  struct Stored {
    std::string key;
    BundleEntry entry;
    Box box;
  };

  BundleReader(FileSystem& file_system, absl::string_view prefix,
               const Cancellation* cancellation, Allocator& allocator);

  // Opens the index. Retries if another save replaces the index meanwhile.
  absl::Status OpenIndex();
  absl::Status ReadHeader();
  absl::StatusOr<BundleEntry> Parse(absl::string_view key);
  // Returns the tensor with that name. The last result is cached.
  absl::StatusOr<std::shared_ptr<const Whole>> FindWhole(
      absl::string_view name);
  absl::StatusOr<Tensor> ReadBox(const Whole& whole, const Box& wanted,
                                 const TensorShape& shape,
                                 Allocator& allocator);
  // Returns UNIMPLEMENTED if the type is not supported, or if it does not
  // support slices and slices are needed.
  absl::Status CheckType(const Whole& whole, const Box& wanted) const;
  // Returns the slices of the tensor that intersect `wanted`. They contain each
  // element of `wanted` exactly once.
  absl::StatusOr<std::vector<Stored>> FindStored(const Whole& whole,
                                                 const Box& wanted);
  // Returns an error if two slices share bytes. Otherwise a small file could
  // make the reader reserve much memory.
  absl::Status CheckPlaces(absl::string_view name,
                           const std::vector<Stored>& stored) const;
  // Returns the entry's data file, or an error if the file is too small for the
  // entry.
  absl::StatusOr<DataFile*> FileOf(const Stored& stored);
  // Opens the file. If more than kMaxOpenFiles would be open, closes the least
  // recently used file.
  absl::Status OpenFile(int shard, DataFile& file);
  // Verifies all stored bytes of an entry, and copies its intersection with
  // `wanted` to `to`.
  absl::Status CopyStored(const Stored& stored, const Box& wanted,
                          Allocator& allocator, Tensor& to);
  absl::Status CopyNumbers(const DataFile& file, const Stored& stored,
                           const Box& wanted, Tensor& to);
  // Adds the location of the entry to the text of an error.
  absl::Status WithPlace(const absl::Status& status,
                         const Stored& stored) const;
  // Verifies all stored bytes of an entry.
  absl::Status VerifyStored(const Stored& stored, Allocator& allocator);
  // Passes the bytes of an entry to `take` in chunks, in order. Afterwards
  // verifies their checksum.
  absl::Status ReadPieces(
      const DataFile& file, const Stored& stored,
      absl::FunctionRef<void(uint64_t begin, absl::string_view piece)> take)
      const;
  absl::Status CopyStrings(const DataFile& file, const Stored& stored,
                           const Box& wanted, Allocator& allocator, Tensor& to);
  absl::Status CopyVariants(const DataFile& file, const Stored& stored,
                            Allocator& allocator, Tensor& to);
  // Reads all bytes of the entry into one buffer.
  absl::StatusOr<BufferPtr> ReadWhole(const DataFile& file,
                                      const Stored& stored,
                                      Allocator& allocator);
  // Reads exactly `size` bytes. It is an error if the file was truncated since
  // it was opened.
  absl::Status ReadAll(const RandomAccessFile& file, uint64_t offset,
                       uint64_t size, char* to) const;
  absl::Status CheckSum(const Stored& stored, uint32_t crc) const;

  FileSystem& file_system_;
  const std::string prefix_;
  const Cancellation* const cancellation_;  // may be null
  Allocator& allocator_;
  std::unique_ptr<Table> index_;
  BundleHeader header_;
  std::map<int, DataFile> data_;  // data files needed so far, by shard
  std::deque<int> open_;          // shards of open files, last used last
  std::shared_ptr<const Whole> last_;
  int64_t slices_parsed_ = 0;
  int64_t boxes_compared_ = 0;
};

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_BUNDLE_READER_H_
