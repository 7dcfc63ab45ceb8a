// The open files of an ObjectFileSystem.
#ifndef WEFT_LIBS_OBJECT_STORE_OBJECT_FILES_H_
#define WEFT_LIBS_OBJECT_STORE_OBJECT_FILES_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/object_store/object_file_system.h"
#include "libs/object_store/object_store.h"

namespace weft {

// SentParts tracks the pending and the completed parts of an upload. Callbacks
// also hold a reference to it.
class SentParts {
 public:
  explicit SentParts(Scheduler& scheduler) : scheduler_(scheduler) {}

  void Begin() ABSL_LOCKS_EXCLUDED(mutex_);
  void End(absl::StatusOr<UploadedPart> part) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits until at most `most` parts are pending. Returns the first error.
  absl::Status WaitUntil(int most) ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the completed parts, sorted by number. REQUIRES: no part is
  // pending.
  std::vector<UploadedPart> Take() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Scheduler& scheduler_;
  absl::Mutex mutex_;
  int sent_ ABSL_GUARDED_BY(mutex_) = 0;
  int most_ ABSL_GUARDED_BY(mutex_) = 0;  // number a call waits for
  Event* waiting_ ABSL_GUARDED_BY(mutex_) = nullptr;
  absl::Status first_error_ ABSL_GUARDED_BY(mutex_);
  std::vector<UploadedPart> arrived_ ABSL_GUARDED_BY(mutex_);
};

// ObjectStart is the existing object to which a file appends.
struct ObjectStart {
  bool is_there = false;
  bool is_copied = false;  // by the service, as first parts
  std::string bytes;       // of the object, if not copied
};

class ObjectWritableFile : public WritableFile {
 public:
  ObjectWritableFile(ObjectStore& store, Scheduler& scheduler,
                     const ObjectFileOptions& options, ObjectName name,
                     std::string path, ObjectStart start);
  ~ObjectWritableFile() override;

  absl::Status Append(absl::string_view data) override;
  absl::Status Flush() override;
  absl::Status Sync() override { return Flush(); }
  absl::Status Close() override;
  // Abandons the upload. The object stays unchanged, and the memory of pending
  // parts is freed.
  void Abandon() override { closed_ = true; }

 private:
  size_t PartBytes() const;
  absl::Status CheckOpen() const;
  absl::Status AppendPiece(absl::string_view* data);
  absl::Status BeginUpload();
  absl::Status SendTail();
  absl::Status Publish();
  absl::Status CompleteUpload();
  // Keeps the first error. After an error the file accepts no data.
  absl::Status Failed(absl::Status status);

  ObjectStore& store_;
  const ObjectFileOptions options_;
  const ObjectName name_;
  const std::string path_;
  const std::shared_ptr<SentParts> parts_;
  std::unique_ptr<ObjectUpload> upload_;  // null without an upload
  int next_part_ = 1;                     // number of its next part
  // Whether the upload begins with the object's contents.
  bool is_copied_ = false;
  std::string tail_;  // the bytes after the last part
  bool is_published_ = false;
  bool closed_ = false;
  absl::Status error_;
};

class ObjectRandomAccessFile : public RandomAccessFile {
 public:
  // `first` contains the bytes at the beginning of the object.
  ObjectRandomAccessFile(ObjectStore& store, Scheduler& scheduler,
                         const ObjectFileOptions& options, ObjectName name,
                         ObjectRange first);

  absl::StatusOr<size_t> Read(uint64_t offset, size_t size,
                              char* buffer) const override
      ABSL_LOCKS_EXCLUDED(mutex_);
  std::string version() const override { return object_.version; }

 private:
  absl::StatusOr<size_t> ReadAhead(uint64_t offset, size_t size,
                                   char* buffer) const;
  absl::StatusOr<size_t> ReadPieces(uint64_t offset, size_t size,
                                    char* buffer) const;

  ObjectStore& store_;
  Scheduler& scheduler_;
  const ObjectFileOptions options_;
  const ObjectName name_;
  const ObjectInfo object_;
  mutable absl::Mutex mutex_;
  mutable std::shared_ptr<const std::string> ahead_ ABSL_GUARDED_BY(mutex_);
  mutable uint64_t ahead_from_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_OBJECT_FILES_H_
