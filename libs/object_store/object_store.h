// ObjectStore is the interface of storage for whole objects by name, without
// directories or appendable files: S3 (s3_object_store.h), Google Cloud Storage
// (gcs_object_store.h). object_file_system.h implements files on it.
//
// Objects are created and replaced atomically, with read-after-write
// consistency: both services guarantee this.
//
// Errors contain the object's URL and the service's message: NOT_FOUND only if
// the service itself shows that its bucket has no such object, because callers
// then start over; FAILED_PRECONDITION for other answers of 404 (no such bucket
// or upload, a proxy, a wrong endpoint), another version and the wrong region;
// PERMISSION_DENIED; UNAVAILABLE and DEADLINE_EXCEEDED after retries; else
// INTERNAL. Threads: any; calls without a callback block.
#ifndef WEFT_LIBS_OBJECT_STORE_OBJECT_STORE_H_
#define WEFT_LIBS_OBJECT_STORE_OBJECT_STORE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

struct ObjectName {
  std::string bucket;
  std::string key;  // "ckpt/model.index", never empty
};

struct ObjectInfo {
  uint64_t size = 0;
  // Distinguishes successive objects of a name: an ETag, a generation.
  std::string version;
};

// A range of an object, shorter than requested at its end.
struct ObjectRange {
  ObjectInfo object;
  std::string bytes;
};

struct ObjectList {
  std::vector<std::string> keys;      // whole ones
  std::vector<std::string> prefixes;  // up to and with the next "/"
  std::string next;                   // where to go on; empty at the end
};

// An object that is uploaded in parts.
struct ObjectUpload {
  ObjectName name;
  std::string id;
  // Set when the parts are no longer needed: pending ones end soon, with
  // CANCELLED.
  std::shared_ptr<std::atomic<bool>> given_up =
      std::make_shared<std::atomic<bool>>(false);
};

struct UploadedPart {
  int number = 0;  // from 1
  uint64_t size = 0;
  std::string tag;
};

class ObjectStore {
 public:
  using RangeDone = absl::AnyInvocable<void(absl::StatusOr<ObjectRange>)>;
  using PartDone = absl::AnyInvocable<void(absl::StatusOr<UploadedPart>)>;

  virtual ~ObjectStore() = default;

  virtual absl::StatusOr<ObjectInfo> Stat(const ObjectName& name) = 0;
  // Reads that version, unless it is empty. `done` must not block. A missing
  // object may also be FAILED_PRECONDITION; use Stat to distinguish.
  virtual void Read(const ObjectName& name, const std::string& version,
                    uint64_t offset, size_t size, RangeDone done) = 0;
  virtual absl::Status Put(const ObjectName& name, std::string bytes) = 0;
  // Server-side copy; also between buckets. Large ones take minutes.
  virtual absl::Status Copy(const ObjectName& from, const ObjectName& to) = 0;
  // OK if there is none.
  virtual absl::Status Delete(const ObjectName& name) = 0;
  // As Delete, but gives up after kLeftoverTimeout.
  virtual absl::Status DeleteLeftover(const ObjectName& name) = 0;
  // Returns keys that begin with `prefix`, in byte order; keys that continue
  // after the next "/" are grouped as one prefix each. At most `max` of both,
  // of up to 1,000.
  virtual absl::StatusOr<ObjectList> List(const std::string& bucket,
                                          const std::string& prefix, int max,
                                          const std::string& from) = 0;

  // The object is created by CompleteUpload. All parts except the last must
  // have at least min_part_bytes(); there are at most max_parts().
  virtual absl::StatusOr<ObjectUpload> BeginUpload(const ObjectName& name) = 0;
  // Copies `from`, which has at least min_part_bytes(), into the first parts:
  // server-side, if possible. It must not change until the upload ends.
  virtual absl::StatusOr<std::vector<UploadedPart>> CopyParts(
      const ObjectUpload& upload, const ObjectName& from) = 0;
  virtual void UploadPart(const ObjectUpload& upload, int number,
                          std::string bytes, PartDone done) = 0;
  virtual absl::Status CompleteUpload(
      const ObjectUpload& upload, const std::vector<UploadedPart>& parts) = 0;
  // Frees uploaded parts; gives up when the service is silent for
  // kLeftoverTimeout. An upload that is never ended incurs cost until the
  // bucket's lifecycle rule deletes it.
  virtual absl::Status AbortUpload(const ObjectUpload& upload) = 0;

  virtual uint64_t min_part_bytes() const = 0;
  virtual int max_parts() const = 0;
};

// Calls `visit` with each page of a list, as long as it returns true. INTERNAL
// for a service that repeats a page, to avoid an endless loop.
absl::Status ForEachPage(
    const std::string& list_name,
    absl::FunctionRef<absl::StatusOr<ObjectList>(const std::string& from)> list,
    absl::FunctionRef<bool(const ObjectList& page)> visit);
absl::Status ForEachPage(ObjectStore& store, const std::string& bucket,
                         const std::string& prefix, int keys_a_page,
                         absl::FunctionRef<bool(const ObjectList& page)> visit);

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_OBJECT_STORE_H_
