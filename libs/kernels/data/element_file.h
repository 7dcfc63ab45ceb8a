// ElementFileWriter and ElementFileReader store elements in a file, for dataset
// caches. It is a TFRecord file with one record per element: for each component
// the length of a TensorProto, 8 bytes, little endian, and that message. The
// format is specific to Weft.
//
// Threads: thread-compatible; calls block, as files do.
#ifndef WEFT_LIBS_KERNELS_DATA_ELEMENT_FILE_H_
#define WEFT_LIBS_KERNELS_DATA_ELEMENT_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "libs/fs/file_system.h"
#include "libs/kernels/data/dataset.h"
#include "libs/summary/record_reader.h"
#include "libs/summary/record_writer.h"

namespace weft {

// Writes a file that becomes visible under its name only when it is complete.
class ElementFileWriter {
 public:
  // Writes to `path` with `suffix`, which must be unique, until Finish.
  static absl::StatusOr<std::unique_ptr<ElementFileWriter>> Create(
      FileSystem& files, const std::string& path, const std::string& suffix);
  // Deletes the file unless it is finished.
  ~ElementFileWriter();

  // Returns UNIMPLEMENTED for components that are objects of the process.
  absl::Status Write(const DatasetElement& element);
  absl::Status Finish();

 private:
  ElementFileWriter(FileSystem& files, std::string path, std::string temporary)
      : files_(files),
        path_(std::move(path)),
        temporary_(std::move(temporary)) {}
  absl::Status Open();
  void Abandon();

  FileSystem& files_;
  const std::string path_, temporary_;
  WritableFile* file_ = nullptr;  // the writer's
  std::unique_ptr<summary::RecordWriter> writer_;
};

class ElementFileReader {
 public:
  ElementFileReader(std::string path, std::unique_ptr<RandomAccessFile> file)
      : path_(std::move(path)), reader_(std::move(file)) {}

  absl::Status GoTo(uint64_t offset) { return reader_.GoTo(offset); }
  uint64_t offset() const { return reader_.offset(); }
  // Returns false at the end, and DATA_LOSS, with path and offset, for damaged
  // data and for components of other types than expected.
  absl::StatusOr<bool> Read(Allocator& allocator, const ElementSpec& expected,
                            DatasetElement* element);

 private:
  const std::string path_;
  summary::RecordReader reader_;
  std::string record_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_ELEMENT_FILE_H_
