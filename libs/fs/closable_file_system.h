// ClosableFileSystem: another file system until it is closed, which waits for
// all that is under way. For who ends before those who may still use files:
// what a stopped pipeline has open is closed by threads that nobody waits for.
//
// Threads: thread-safe; Close is called once, by who destroys it next.
#ifndef WEFT_LIBS_FS_CLOSABLE_FILE_SYSTEM_H_
#define WEFT_LIBS_FS_CLOSABLE_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "libs/base/scheduler.h"
#include "libs/fs/routed_file_system.h"

namespace weft {

class ClosableFileSystem : public RoutedFileSystem {
 public:
  // Both outlive it, until it is closed.
  ClosableFileSystem(FileSystem& files, Scheduler& scheduler);
  ~ClosableFileSystem() override;

  // From now on no file is opened (CANCELLED). Waits for those that are open
  // and for operations under way; when there is none left, or `deadline` has
  // passed (false), nothing reaches the other file system any more but the
  // files that are still open.
  bool Close(absl::Time deadline);

  // Files that are open and operations under way.
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
