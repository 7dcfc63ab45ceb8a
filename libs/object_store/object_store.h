// ObjectStore: what Weft asks of storage that keeps whole objects by name, and
// neither directories nor files that grow: S3 (s3_object_store.h), Google Cloud
// Storage (gcs_object_store.h). object_file_system.h makes files of them.
//
// An object appears, and is replaced, at once and whole, and whoever asks
// afterwards finds it: both services promise this.
//
// Errors name the object as a URL and say what the service said: NOT_FOUND only
// where the service itself shows that its bucket has no such object, since
// callers take that for a reason to begin anew; FAILED_PRECONDITION for other
// answers of 404 (no such bucket or upload, a proxy, a wrong endpoint), another
// version and the wrong region; PERMISSION_DENIED; UNAVAILABLE and
// DEADLINE_EXCEEDED after retries; else INTERNAL. Threads: any; calls without a
// callback block.
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
  // Differs between the objects that a name had: an ETag, a generation.
  std::string version;
};

// Some bytes of an object: fewer than asked for at its end.
struct ObjectPiece {
  ObjectInfo object;
  std::string bytes;
};

struct ObjectList {
  std::vector<std::string> keys;      // whole ones
  std::vector<std::string> prefixes;  // up to and with the next "/"
  std::string next;                   // where to go on; empty at the end
};

// An object that is sent in parts.
struct ObjectUpload {
  ObjectName name;
  std::string id;
  // Whether nobody wants its parts any more: those on their way end soon, with
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
  using PieceDone = absl::AnyInvocable<void(absl::StatusOr<ObjectPiece>)>;
  using PartDone = absl::AnyInvocable<void(absl::StatusOr<UploadedPart>)>;

  virtual ~ObjectStore() = default;

  virtual absl::StatusOr<ObjectInfo> Stat(const ObjectName& name) = 0;
  // Of that version, unless it is empty. `done` must not block. A missing
  // object may also be FAILED_PRECONDITION; Stat tells then.
  virtual void Read(const ObjectName& name, const std::string& version,
                    uint64_t offset, size_t size, PieceDone done) = 0;
  virtual absl::Status Put(const ObjectName& name, std::string bytes) = 0;
  // By the service; also between buckets. Large ones take minutes.
  virtual absl::Status Copy(const ObjectName& from, const ObjectName& to) = 0;
  // OK when there is none.
  virtual absl::Status Delete(const ObjectName& name) = 0;
  // The same, in vain after kLeftoverTimeout.
  virtual absl::Status DeleteLeftover(const ObjectName& name) = 0;
  // Keys that begin with `prefix`, in order of bytes, those that go on after
  // the next "/" as one prefix each. At most `max` of both, of up to 1,000.
  virtual absl::StatusOr<ObjectList> List(const std::string& bucket,
                                          const std::string& prefix, int max,
                                          const std::string& from) = 0;

  // The object appears with CompleteUpload. All parts but the last have at
  // least min_part_bytes(); there are at most max_parts().
  virtual absl::StatusOr<ObjectUpload> BeginUpload(const ObjectName& name) = 0;
  // The first parts are what `from` holds, which has at least min_part_bytes():
  // by the service, if it can. It stays as it is until the upload ends.
  virtual absl::StatusOr<std::vector<UploadedPart>> CopyParts(
      const ObjectUpload& upload, const ObjectName& from) = 0;
  virtual void UploadPart(const ObjectUpload& upload, int number,
                          std::string bytes, PartDone done) = 0;
  virtual absl::Status CompleteUpload(
      const ObjectUpload& upload, const std::vector<UploadedPart>& parts) = 0;
  // Frees what was sent; gives up once the service is silent for
  // kLeftoverTimeout. An upload that nobody ends is paid for until the bucket's
  // lifecycle rule does.
  virtual absl::Status AbortUpload(const ObjectUpload& upload) = 0;

  virtual uint64_t min_part_bytes() const = 0;
  virtual int max_parts() const = 0;
};

// Calls `visit` with each page of a list, as long as it returns true. INTERNAL
// for a service that sends a page again: it would have no end.
absl::Status ForEachPage(
    const std::string& list_name,
    absl::FunctionRef<absl::StatusOr<ObjectList>(const std::string& from)> list,
    absl::FunctionRef<bool(const ObjectList& page)> visit);
absl::Status ForEachPage(ObjectStore& store, const std::string& bucket,
                         const std::string& prefix, int keys_a_page,
                         absl::FunctionRef<bool(const ObjectList& page)> visit);

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_OBJECT_STORE_H_
