// BundleReader: reads a V2 checkpoint that BundleWriter, MergeBundles or
// TensorFlow wrote.
//
// Errors and threads: CheckpointReader's.
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
#include "libs/base/cancellation.h"
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
  // Reads PREFIX.index's header. `file_system` outlives the reader, and so do
  // `cancellation`, which may be null and ends a reading between two pieces,
  // and `allocator`, as CheckpointReader says.
  static absl::StatusOr<std::unique_ptr<BundleReader>> Open(
      FileSystem& file_system, absl::string_view prefix,
      const Cancellation* cancellation = nullptr,
      Allocator& allocator = HeapAllocator());
  ~BundleReader() override;

  int format() const override { return 2; }
  // What the names of data files say; see ChooseDataFileCount.
  int num_data_files() const override { return header_.num_shards; }
  const BundleHeader& header() const { return header_; }

  // What the index says of a tensor, or of a slice's key. It stays as it is
  // with whoever holds it; that of the last name is kept, too, since one tensor
  // may be asked for in thousands of slices.
  absl::StatusOr<std::shared_ptr<const BundleEntry>> Find(
      absl::string_view key);
  absl::StatusOr<std::shared_ptr<const TensorInfo>> FindTensor(
      absl::string_view name) override;
  absl::StatusOr<std::map<std::string, Listed>> ListTensors() override;
  // Calls `visit`, which may use the reader, with all entries in the order of
  // their keys, those of slices first; ends with its first error.
  absl::Status ForEach(absl::FunctionRef<absl::Status(absl::string_view key,
                                                      const BundleEntry& entry)>
                           visit);

  // Work so far, which tests count: slices that entries named, and slices that
  // were compared with one that was wanted.
  int64_t slices_parsed() const { return slices_parsed_; }
  int64_t boxes_compared() const { return boxes_compared_; }

  absl::StatusOr<Tensor> Read(absl::string_view name,
                              Allocator& allocator) override;
  absl::StatusOr<Tensor> ReadSlice(absl::string_view name,
                                   const TensorSlice& slice,
                                   Allocator& allocator) override;
  // Numbers are read in pieces that are not kept.
  absl::Status Verify(absl::string_view name, Allocator& allocator) override;

 private:
  struct DataFile {
    std::unique_ptr<RandomAccessFile> file;  // null: not open now
    uint64_t size = 0;
  };
  // A tensor and its slices, in the order in which they begin.
  struct Whole {
    std::string name;
    std::shared_ptr<const BundleEntry> entry;
    BoxesInOrder boxes;  // of entry->slices
  };
  // One stored entry, and which part of the tensor it is.
  struct Stored {
    std::string key;
    BundleEntry entry;
    Box box;
  };

  BundleReader(FileSystem& file_system, absl::string_view prefix,
               const Cancellation* cancellation, Allocator& allocator);

  // Again where another save's has taken its place meanwhile.
  absl::Status OpenIndex();
  absl::Status ReadHeader();
  absl::StatusOr<BundleEntry> Parse(absl::string_view key);
  // Of the last name that was asked for, whose last one is kept.
  absl::StatusOr<std::shared_ptr<const Whole>> FindWhole(
      absl::string_view name);
  absl::StatusOr<Tensor> ReadBox(const Whole& whole, const Box& wanted,
                                 const TensorShape& shape,
                                 Allocator& allocator);
  // UNIMPLEMENTED for a type that is not held, or not in slices.
  absl::Status CheckType(const Whole& whole, const Box& wanted) const;
  // The slices of the tensor that share something with `wanted`, which they
  // cover, each element once.
  absl::StatusOr<std::vector<Stored>> FindStored(const Whole& whole,
                                                 const Box& wanted);
  // No two of them may lie in the same bytes: a small file reserves little.
  absl::Status CheckPlaces(absl::string_view name,
                           const std::vector<Stored>& stored) const;
  // The file of the entry's data, which is large enough to hold all of it.
  absl::StatusOr<DataFile*> FileOf(const Stored& stored);
  // Opens it, and closes the one that was used longest ago where more than
  // kMaxOpenFiles would be open.
  absl::Status OpenFile(int shard, DataFile& file);
  // Checks all of the stored bytes, and copies to `to`, which is `wanted`, what
  // they share.
  absl::Status CopyStored(const Stored& stored, const Box& wanted,
                          Allocator& allocator, Tensor& to);
  absl::Status CopyNumbers(const DataFile& file, const Stored& stored,
                           const Box& wanted, Tensor& to);
  // Says of an error where it was met.
  absl::Status WithPlace(const absl::Status& status,
                         const Stored& stored) const;
  // Checks all of the stored bytes.
  absl::Status VerifyStored(const Stored& stored, Allocator& allocator);
  // Gives `take` the bytes of an entry in pieces, in order; then checks their
  // checksum.
  absl::Status ReadPieces(
      const DataFile& file, const Stored& stored,
      absl::FunctionRef<void(uint64_t begin, absl::string_view piece)> take)
      const;
  absl::Status CopyStrings(const DataFile& file, const Stored& stored,
                           const Box& wanted, Allocator& allocator, Tensor& to);
  absl::Status CopyVariants(const DataFile& file, const Stored& stored,
                            Allocator& allocator, Tensor& to);
  // All bytes of the entry.
  absl::StatusOr<BufferPtr> ReadWhole(const DataFile& file,
                                      const Stored& stored,
                                      Allocator& allocator);
  // Reads all of it: a file that became shorter since it was opened is cut off.
  absl::Status ReadAll(const RandomAccessFile& file, uint64_t offset,
                       uint64_t size, char* to) const;
  absl::Status CheckSum(const Stored& stored, uint32_t crc) const;

  FileSystem& file_system_;
  const std::string prefix_;
  const Cancellation* const cancellation_;  // may be null
  Allocator& allocator_;
  std::unique_ptr<Table> index_;
  BundleHeader header_;
  std::map<int, DataFile> data_;  // those needed so far, by shard
  std::deque<int> open_;  // shards whose file is open, the last used last
  std::shared_ptr<const Whole> last_;
  int64_t slices_parsed_ = 0;
  int64_t boxes_compared_ = 0;
};

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_BUNDLE_READER_H_
