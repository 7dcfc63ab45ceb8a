// RecordFile reads the records of one file, for file datasets: lines,
// TFRecords, fixed-length records. FilesDataset reads several files.
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
  // Reads the next record into *element; returns false at the end of the file.
  // Errors do not name the file.
  virtual absl::StatusOr<bool> Read(Allocator& allocator,
                                    DatasetElement* element) = 0;
  // Reads the next record unchanged, if FilesDataset::HoldsTexts.
  virtual absl::StatusOr<bool> ReadText(std::string& text);
  // The position of the next record in the decompressed data.
  virtual uint64_t position() const = 0;
  // Returns whether nothing more can be read after an error. The next record is
  // then that of the next file or, after a transient error, that of the file
  // reopened at position(). Otherwise the error remains.
  virtual bool IsGivenUpAfterError() const = 0;
  // The version of the file (RandomAccessFile::version), which shows whether a
  // reopened file is still the same; empty if unknown.
  virtual std::string version() const { return ""; }
};

// A file whose records are plain strings.
class TextFile : public RecordFile {
 public:
  absl::StatusOr<bool> Read(Allocator& allocator,
                            DatasetElement* element) final;
  absl::StatusOr<bool> ReadText(std::string& text) override = 0;
};

// FilesDataset returns the records of files, one file after another. As in
// TensorFlow, an error of opening or reading a file is permanent. However,
// after it was returned twice, reading continues with the next file, so that
// IgnoreErrors ends. Transient errors (such as UNAVAILABLE) persist until they
// are resolved. If an object of a store is replaced while it is read, the error
// is FAILED_PRECONDITION, and reading continues with the next file, because
// the rest of the new object does not belong to the old one.
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

  // Returns whether its files are TextFiles.
  virtual bool HoldsTexts() const { return false; }
  // Opens file number `index` at `position`: 0, or a position() of the same
  // file opened earlier. The dataset must outlive the file.
  virtual absl::StatusOr<std::unique_ptr<RecordFile>> Open(
      FileSystem& files, size_t index, uint64_t position) const = 0;

  const std::vector<std::string> files_;
};

// Opens `path`; `position` is the start of the stream. Returns DATA_LOSS if the
// compressed data is shorter.
absl::StatusOr<std::unique_ptr<InputStream>> OpenStream(FileSystem& files,
                                                        const std::string& path,
                                                        Compression compression,
                                                        uint64_t position);
absl::StatusOr<std::unique_ptr<InputStream>> OpenStream(
    std::unique_ptr<RandomAccessFile> file, Compression compression,
    uint64_t position);

// Input `i`: "", "ZLIB" or "GZIP"; otherwise INVALID_ARGUMENT.
absl::StatusOr<Compression> CompressionInput(const OpKernelContext& context,
                                             int i);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_RECORD_FILES_H_
