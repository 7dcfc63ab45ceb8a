// GatedFileSystem simulates a hung disk in tests. Appends and deletions, or
// syncs, block until the gate is opened. All calls are passed to another
// FileSystem.
//
// Threads: thread-safe. Waits use the Scheduler.
#ifndef WEFT_LIBS_CHECKPOINT_WRITER_TESTING_GATED_FILE_SYSTEM_H_
#define WEFT_LIBS_CHECKPOINT_WRITER_TESTING_GATED_FILE_SYSTEM_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/synchronization/mutex.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/memory_file_system.h"

namespace weft {

class GatedFileSystem : public MemoryFileSystem {
 public:
  // Which operations block. kAppend blocks appends and deletions.
  enum class What { kAppend, kSync };
  // Blocks operations on files whose path contains `name`; waits use
  // `scheduler`.
  void Shut(Scheduler& scheduler, absl::string_view name,
            What what = What::kAppend) {
    absl::MutexLock lock(&mutex_);
    gate_ = scheduler.NewEvent();
    gated_ = std::string(name);
    what_ = what;
  }
  void Open() {
    absl::MutexLock lock(&mutex_);
    if (gate_ != nullptr) gate_->Set();
  }
  // Called before a file is opened for writing; may be null.
  std::function<void()> on_open;
  int num_waiting() const {
    absl::MutexLock lock(&mutex_);
    return num_waiting_;
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> NewWritableFile(
      absl::string_view path) override {
    if (on_open) on_open();
    auto file = MemoryFileSystem::NewWritableFile(path);
    if (!file.ok()) return file;
    return std::make_unique<File>(*this, std::string(path), *std::move(file));
  }
  absl::Status DeleteFile(absl::string_view path) override {
    Pass(What::kAppend, std::string(path));
    return MemoryFileSystem::DeleteFile(path);
  }

 private:
  class File : public WritableFile {
   public:
    File(GatedFileSystem& files, std::string path,
         std::unique_ptr<WritableFile> file)
        : files_(files), path_(std::move(path)), file_(std::move(file)) {}
    absl::Status Append(absl::string_view data) override {
      files_.Pass(What::kAppend, path_);
      return file_->Append(data);
    }
    absl::Status Flush() override { return file_->Flush(); }
    absl::Status Sync() override {
      files_.Pass(What::kSync, path_);
      return file_->Sync();
    }
    absl::Status Close() override { return file_->Close(); }
    void Abandon() override { file_->Abandon(); }

   private:
    GatedFileSystem& files_;
    const std::string path_;
    const std::unique_ptr<WritableFile> file_;
  };

  void Pass(What what, const std::string& path) {
    std::shared_ptr<Event> gate;
    {
      absl::MutexLock lock(&mutex_);
      if (gate_ == nullptr || what != what_ ||
          path.find(gated_) == std::string::npos) {
        return;
      }
      gate = gate_;
      ++num_waiting_;
    }
    gate->Wait();
    absl::MutexLock lock(&mutex_);
    --num_waiting_;
  }

  mutable absl::Mutex mutex_;
  std::shared_ptr<Event> gate_ ABSL_GUARDED_BY(mutex_);  // null: open
  std::string gated_ ABSL_GUARDED_BY(mutex_);
  What what_ ABSL_GUARDED_BY(mutex_) = What::kAppend;
  int num_waiting_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_CHECKPOINT_WRITER_TESTING_GATED_FILE_SYSTEM_H_
