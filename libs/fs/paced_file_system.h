// PacedFileSystem limits the total write rate of another FileSystem, so that
// background writes leave CPU, disk and network capacity for other work.
//
// Appends wait through the Scheduler. After a cancellation no append starts,
// whatever the rate is. Threads: the same rules as for FileSystem; each caller
// waits on its own thread.
#ifndef WEFT_LIBS_FS_PACED_FILE_SYSTEM_H_
#define WEFT_LIBS_FS_PACED_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/counter.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/fs/routed_file_system.h"

namespace weft {

struct PacedOptions {
  int64_t max_bytes_per_second = 0;            // 0: unlimited
  Scheduler* scheduler = nullptr;              // outlives the file system
  const Cancellation* cancellation = nullptr;  // outlives it; may be null
  Counter* written_bytes = nullptr;            // outlives the file system
};

// A PacedFileSystem must outlive the files that it opened.
class PacedFileSystem : public RoutedFileSystem {
 public:
  // `base` must outlive this object.
  PacedFileSystem(FileSystem& base, PacedOptions options);

  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(
      absl::string_view path) override;
  absl::StatusOr<std::unique_ptr<WritableFile>> NewAppendableFile(
      absl::string_view path) override;

 private:
  class File;

  absl::StatusOr<Place> Find(absl::string_view path) override {
    return Place{&base_, nullptr, std::string(path)};
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> Paced(
      absl::StatusOr<std::unique_ptr<WritableFile>> file);
  // Waits until `bytes` bytes may be written.
  absl::Status Wait(size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Reserves time for writing `bytes` bytes, and returns when they may be
  // written.
  absl::Time TakeTurn(size_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  FileSystem& base_;
  const PacedOptions options_;
  absl::Mutex mutex_;
  // The time at which all reserved bytes are written at the limited rate.
  absl::Time due_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace weft

#endif  // WEFT_LIBS_FS_PACED_FILE_SYSTEM_H_
