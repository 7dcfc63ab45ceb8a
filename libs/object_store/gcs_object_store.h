// GcsObjectStore is an ObjectStore that uses the JSON API of Google Cloud
// Storage.
//
// The parts of an upload are objects below ".weft-uploads/ID/" in the same
// bucket. They are composed into the final object, 32 at a time, and then
// deleted. A lifecycle rule that deletes old objects with that prefix removes
// leftovers of killed programs. Source:
// https://cloud.google.com/storage/docs/json_api/v1
#ifndef WEFT_LIBS_OBJECT_STORE_GCS_OBJECT_STORE_H_
#define WEFT_LIBS_OBJECT_STORE_GCS_OBJECT_STORE_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/object_store/google_credentials.h"
#include "libs/object_store/http_client.h"
#include "libs/object_store/object_store.h"

namespace weft {

struct GcsOptions {
  // The client retries failed requests. The client and the following objects
  // must outlive the store.
  HttpClient* http = nullptr;
  Scheduler* scheduler = nullptr;
  Random* random = nullptr;
  GoogleCredentials* credentials = nullptr;
  std::string endpoint = "https://storage.googleapis.com";
  // The timeout of each operation, including retries.
  absl::Duration operation_timeout = absl::Minutes(10);
};

class GcsObjectStore : public ObjectStore {
 public:
  explicit GcsObjectStore(GcsOptions options);

  absl::StatusOr<ObjectInfo> Stat(const ObjectName& name) override;
  void Read(const ObjectName& name, const std::string& version, uint64_t offset,
            size_t size, RangeDone done) override;
  absl::Status Put(const ObjectName& name, std::string bytes) override;
  absl::Status Copy(const ObjectName& from, const ObjectName& to) override;
  absl::Status Delete(const ObjectName& name) override;
  absl::Status DeleteLeftover(const ObjectName& name) override;
  absl::StatusOr<ObjectList> List(const std::string& bucket,
                                  const std::string& prefix, int max,
                                  const std::string& from) override;
  absl::StatusOr<ObjectUpload> BeginUpload(const ObjectName& name) override;
  absl::StatusOr<std::vector<UploadedPart>> CopyParts(
      const ObjectUpload& upload, const ObjectName& from) override;
  void UploadPart(const ObjectUpload& upload, int number, std::string bytes,
                  PartDone done) override;
  absl::Status CompleteUpload(const ObjectUpload& upload,
                              const std::vector<UploadedPart>& parts) override;
  absl::Status AbortUpload(const ObjectUpload& upload) override;

  uint64_t min_part_bytes() const override { return 1; }
  int max_parts() const override { return 32 * 32 * 32; }

 private:
  struct Operation {
    std::string method = "GET";
    std::string path;  // after the endpoint, with query
    std::vector<std::pair<std::string, std::string>> headers;
    std::shared_ptr<const std::string> body;
    std::string body_type = "application/octet-stream";
    size_t max_response_bytes = size_t{8} << 20;
    std::string url;  // "gs://bucket/key", for errors
    bool has_range = false;
    // Whether the caller confirms a 404 (NOT_FOUND) by ConfirmAbsence before it
    // treats the object as missing. If not, a 404 becomes FAILED_PRECONDITION.
    bool is_confirmed = false;
    bool may_be_silent = false;                         // see HttpRequest
    std::shared_ptr<const std::atomic<bool>> given_up;  // see HttpRequest
    // The timeout of the operation if it is shorter than operation_timeout.
    absl::Duration at_most = absl::InfiniteDuration();
  };

  HttpRequest ToRequest(const Operation& operation,
                        const std::string& token) const;
  // Returns a successful response, or an error that names the object.
  static absl::StatusOr<HttpResponse> ToAnswer(
      const Operation& operation, absl::StatusOr<HttpResponse> response);
  // Starts the operation. If its token is refused and another token is granted,
  // retries once. `done` gets a success or an error that names the object.
  void Start(Operation operation, HttpClient::Done done) const;
  void Send(Operation operation, std::string token, bool is_last,
            HttpClient::Done done) const;
  // Handles a response that refused `token`.
  void SendAgain(Operation operation, std::string token, HttpResponse refused,
                 HttpClient::Done done) const;
  absl::StatusOr<HttpResponse> Run(Operation operation) const;
  // Returns NOT_FOUND if a listing of the bucket does not contain the object. A
  // 404 is not sufficient, because the service also answers "No such object" if
  // the bucket is missing.
  absl::Status ConfirmAbsence(const ObjectName& name,
                              absl::Duration at_most) const;
  absl::Status DeleteWithin(absl::Duration at_most,
                            const ObjectName& name) const;
  absl::StatusOr<ObjectList> ListWithin(absl::Duration at_most,
                                        const std::string& bucket,
                                        const std::string& prefix, int max,
                                        const std::string& from) const;
  Operation InsertionOf(const ObjectName& name, std::string bytes) const;
  // Composes one object from up to 32 objects in the same bucket.
  absl::Status Compose(const std::vector<std::string>& keys,
                       const ObjectName& to) const;
  // Composes one object from every 32 objects, in the directory of the upload.
  absl::StatusOr<std::vector<std::string>> ComposeLevel(
      const ObjectUpload& upload, int level,
      const std::vector<std::string>& keys) const;

  const GcsOptions options_;
};

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_GCS_OBJECT_STORE_H_
