// RecordFile: the records of one file, one after the other, for datasets of
// files: lines, TFRecords, records of one length. FilesDataset: those of
// several files.
//
// Threads: a RecordFile is used by one thread at a time; its calls block, as
// files do. The dataset is thread-safe.
#ifndef WEFT_LIBS_KERNELS_DATA_RECORD_FILES_H_
#define WEFT_LIBS_KERNELS_DATA_RECORD_FILES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/fs/file_system.h"
#include "libs/fs/input_stream.h"
#include "libs/kernels/data/dataset.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

class RecordFile {
 public:
  virtual ~RecordFile() = default;
  // The next record into *element; false at the end of the file. Errors name no
  // file.
  virtual absl::StatusOr<bool> Read(Allocator& allocator,
                                    DatasetElement* element) = 0;
  // The next record as it is, where FilesDataset::HoldsTexts.
  virtual absl::StatusOr<bool> ReadText(std::string& text);
  // Where the next record begins, in what the file is decompressed to.
  virtual uint64_t position() const = 0;
  // Whether the rest of the file is of no use after an error, so that the next
  // record is that of the next file; else an error stays.
  virtual bool IsGivenUpAfterError() const = 0;
};

// One whose records are texts as they are.
class TextFile : public RecordFile {
 public:
  absl::StatusOr<bool> Read(Allocator& allocator,
                            DatasetElement* element) final;
  absl::StatusOr<bool> ReadText(std::string& text) override = 0;
};

// Records of all files, one file after the other. A file that can't be opened
// or read is an error that stays, as in TensorFlow; but when the same error has
// been returned twice, the next file follows, so that IgnoreErrors comes to an
// end. Errors that may pass (UNAVAILABLE, say) stay as long as they last.
class FilesDataset : public Dataset {
 public:
  FilesDataset(std::string name, ElementSpec element,
               std::vector<std::string> files)
      : Dataset(std::move(name), std::move(element)),
        files_(std::move(files)) {}

  absl::StatusOr<std::unique_ptr<DatasetIterator>> NewIterator(
      IteratorContext& context) const final;

 protected:
  const std::string& file(size_t index) const { return files_[index]; }

 private:
  class Iterator;

  // Whether its files are TextFiles.
  virtual bool HoldsTexts() const { return false; }
  // File number `index`, from `position` on, which position() of an earlier
  // opening has given, or 0. This outlives it.
  virtual absl::StatusOr<std::unique_ptr<RecordFile>> Open(
      FileSystem& files, size_t index, uint64_t position) const = 0;

  const std::vector<std::string> files_;
};

// Opens `path`; `position` is where the stream begins. DATA_LOSS where what is
// compressed is shorter.
absl::StatusOr<std::unique_ptr<InputStream>> OpenStream(FileSystem& files,
                                                        const std::string& path,
                                                        Compression compression,
                                                        uint64_t position);

// Input `i`: "", "ZLIB" or "GZIP", else INVALID_ARGUMENT.
absl::StatusOr<Compression> CompressionInput(const OpKernelContext& context,
                                             int i);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_RECORD_FILES_H_
