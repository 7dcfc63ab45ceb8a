// ObjectStore is the interface of storage for whole objects by name, without
// directories or appendable files: S3 (s3_object_store.h), Google Cloud Storage
// (gcs_object_store.h). object_file_system.h implements files on it.
//
// Objects are created and replaced atomically, with read-after-write
// consistency: both services guarantee this.
//
// Errors contain the object's URL and the service's message: The code is
// NOT_FOUND only if the service itself shows that its bucket does not have the
// object, because callers then start from the beginning. It is
// FAILED_PRECONDITION for other answers of 404 (no such bucket or upload, a
// proxy, a wrong endpoint), for another version and for the wrong region. Other
// codes are PERMISSION_DENIED, UNAVAILABLE and DEADLINE_EXCEEDED after retries,
// and INTERNAL. Threads: all methods may be called from any thread; methods
// without a callback block.
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
  std::string key;  // such as "ckpt/model.index"; not empty
};

struct ObjectInfo {
  uint64_t size = 0;
  // An ETag or a generation, which distinguishes successive objects of the same
  // name.
  std::string version;
};

// ObjectRange is a range of an object. It is shorter than requested at the
// object's end.
struct ObjectRange {
  ObjectInfo object;
  std::string bytes;
};

struct ObjectList {
  std::vector<std::string> keys;      // keys of objects
  std::vector<std::string> prefixes;  // up to and including the next "/"
  std::string next;                   // token of the next page, or empty
};

// ObjectUpload is an object that is uploaded in parts.
struct ObjectUpload {
  ObjectName name;
  std::string id;
  // Is set when the parts are no longer needed. Pending parts then end soon,
  // with CANCELLED.
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
  // Reads a range of an object. Reads the given version, unless `version` is
  // empty. `done` must not block. The error for a missing object may be
  // FAILED_PRECONDITION; use Stat to find out whether it is missing.
  virtual void Read(const ObjectName& name, const std::string& version,
                    uint64_t offset, size_t size, RangeDone done) = 0;
  virtual absl::Status Put(const ObjectName& name, std::string bytes) = 0;
  // Copies an object on the server, also to another bucket. Large copies take
  // minutes.
  virtual absl::Status Copy(const ObjectName& from, const ObjectName& to) = 0;
  // Deletes an object. Returns OK if it does not exist.
  virtual absl::Status Delete(const ObjectName& name) = 0;
  // Deletes an object, but gives up after kLeftoverTimeout.
  virtual absl::Status DeleteLeftover(const ObjectName& name) = 0;
  // Returns keys that begin with `prefix`, in byte order. Keys that have a
  // further "/" are grouped: one prefix, up to that "/", stands for all of
  // them. The result has at most `max` keys and prefixes; `max` is at most
  // 1,000.
  virtual absl::StatusOr<ObjectList> List(const std::string& bucket,
                                          const std::string& prefix, int max,
                                          const std::string& from) = 0;

  // Begins to upload an object in parts. CompleteUpload creates the object. All
  // parts except the last must have at least min_part_bytes(), and there may be
  // at most max_parts().
  virtual absl::StatusOr<ObjectUpload> BeginUpload(const ObjectName& name) = 0;
  // Copies `from`, which must have at least min_part_bytes(), into the first
  // parts of the upload, on the server if possible. `from` must not change
  // until the upload ends.
  virtual absl::StatusOr<std::vector<UploadedPart>> CopyParts(
      const ObjectUpload& upload, const ObjectName& from) = 0;
  virtual void UploadPart(const ObjectUpload& upload, int number,
                          std::string bytes, PartDone done) = 0;
  virtual absl::Status CompleteUpload(
      const ObjectUpload& upload, const std::vector<UploadedPart>& parts) = 0;
  // Frees uploaded parts. Gives up when the service is silent for
  // kLeftoverTimeout. An upload that is never ended costs money until the
  // bucket's lifecycle rule deletes it.
  virtual absl::Status AbortUpload(const ObjectUpload& upload) = 0;

  virtual uint64_t min_part_bytes() const = 0;
  virtual int max_parts() const = 0;
};

// Calls `visit` with each page of a list until `visit` returns false. Returns
// INTERNAL if a service repeats a page, to avoid an endless loop.
absl::Status ForEachPage(
    const std::string& list_name,
    absl::FunctionRef<absl::StatusOr<ObjectList>(const std::string& from)> list,
    absl::FunctionRef<bool(const ObjectList& page)> visit);
absl::Status ForEachPage(ObjectStore& store, const std::string& bucket,
                         const std::string& prefix, int keys_a_page,
                         absl::FunctionRef<bool(const ObjectList& page)> visit);

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_OBJECT_STORE_H_
