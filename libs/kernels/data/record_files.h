// RecordFile: the records of one file, one after the other, for data sets of
// files: lines, TFRecords, records of one length. FilesIterator: those of
// several files.
//
// Threads: used by one thread at a time; calls block, as files do.
#ifndef WEFT_LIBS_KERNELS_DATA_RECORD_FILES_H_
#define WEFT_LIBS_KERNELS_DATA_RECORD_FILES_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/fs/file_system.h"
#include "libs/fs/input_stream.h"
#include "libs/kernels/data/dataset.h"

namespace weft {

class RecordFile {
 public:
  virtual ~RecordFile() = default;
  // The next record into *element; false at the end of the file. Errors name no
  // file.
  virtual absl::StatusOr<bool> Read(Allocator& allocator,
                                    DatasetElement* element) = 0;
  // Where the next record begins, in what the file is decompressed to.
  virtual uint64_t position() const = 0;
  // Whether the rest of the file is of no use after an error, so that the next
  // record is that of the next file; else an error stays.
  virtual bool IsGivenUpAfterError() const = 0;
};

// File number `index`, from `position` on, which position() of an earlier
// opening has given, or 0.
using OpenRecordFile =
    std::function<absl::StatusOr<std::unique_ptr<RecordFile>>(
        FileSystem& files, size_t index, uint64_t position)>;

// Records of all `names`, which `owner`, the data set, holds. A file that can't
// be opened is an error that stays, as in TensorFlow.
std::unique_ptr<DatasetIterator> NewFilesIterator(
    DatasetPtr owner, const std::vector<std::string>& names,
    OpenRecordFile open);

// Opens `path`; `position` is where the stream begins.
absl::StatusOr<std::unique_ptr<InputStream>> OpenStream(FileSystem& files,
                                                        const std::string& path,
                                                        Compression compression,
                                                        uint64_t position);

// "", "ZLIB" or "GZIP", else INVALID_ARGUMENT.
absl::StatusOr<Compression> CompressionOf(absl::string_view type);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_RECORD_FILES_H_
