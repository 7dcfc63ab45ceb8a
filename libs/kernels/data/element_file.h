// Elements in a file, which a cache of a dataset keeps: a TFRecord file, each
// record an element: for each component the length of a TensorProto, 8 bytes,
// little endian, and that message. The format is Weft's own.
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

// Writes a file that nobody finds under its name before all is in it.
class ElementFileWriter {
 public:
  // Writes to `path` with `suffix`, which no other writer has, until Finish.
  static absl::StatusOr<std::unique_ptr<ElementFileWriter>> Create(
      FileSystem& files, const std::string& path, const std::string& suffix);
  // Deletes what was written, unless it is finished.
  ~ElementFileWriter();

  // UNIMPLEMENTED for components that are objects of the process.
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
  // False at the end. DATA_LOSS, with path and offset, for damage, and for
  // components of other types than expected.
  absl::StatusOr<bool> Read(Allocator& allocator, const ElementSpec& expected,
                            DatasetElement* element);

 private:
  const std::string path_;
  summary::RecordReader reader_;
  std::string record_;
};

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_ELEMENT_FILE_H_
