// ClosableFileSystem forwards to another file system until it is closed;
// closing waits for pending operations. It is for owners that are destroyed
// before the users of their files. For example, threads that nobody joins close
// the files of a stopped pipeline.
//
// Threads: thread-safe; Close must be called once, before destruction.
#ifndef WEFT_LIBS_FS_CLOSABLE_FILE_SYSTEM_H_
#define WEFT_LIBS_FS_CLOSABLE_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/routed_file_system.h"

namespace weft {

class ClosableFileSystem : public RoutedFileSystem {
 public:
  // `files` and `scheduler` must outlive this object until it is closed.
  ClosableFileSystem(FileSystem& files, Scheduler& scheduler);
  ~ClosableFileSystem() override;

  // Closes the file system. From now on, opening a file is rejected with
  // CANCELLED. Waits for open files and pending operations, and returns false
  // if some are left at `deadline`. Afterwards only files that are still open
  // use the underlying file system.
  bool Close(absl::Time deadline);

  // Returns the number of open files and pending operations.
  int64_t num_in_use() const;

  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(
      absl::string_view path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(
      absl::string_view path) override;
  absl::StatusOr<std::unique_ptr<RandomAccessFile>> NewRandomAccessFile(
      absl::string_view path) override;

 private:
  struct Uses;
  class Writer;
  class Reader;

  absl::StatusOr<Place> Find(absl::string_view path) override;

  FileSystem& files_;
  Scheduler& scheduler_;
  const std::shared_ptr<Uses> uses_;
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_CLOSABLE_FILE_SYSTEM_H_
