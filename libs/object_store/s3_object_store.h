// S3ObjectStore is an ObjectStore that uses Amazon S3's REST interface. Google
// Cloud Storage (with HMAC keys), MinIO, Ceph and others also support this
// interface.
//
// Requests are signed (aws_signature.h), including the hash of the body. As AWS
// recommends, the name of a bucket is part of the host, unless an endpoint is
// given or the name has dots, which certificates do not cover. Source:
// https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations.html
#ifndef WEFT_LIBS_OBJECT_STORE_S3_OBJECT_STORE_H_
#define WEFT_LIBS_OBJECT_STORE_S3_OBJECT_STORE_H_

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/object_store/aws_credentials.h"
#include "libs/object_store/http_client.h"
#include "libs/object_store/object_store.h"

namespace weft {

struct S3Options {
  // The client retries failed requests. The client and the following objects
  // must outlive the store.
  HttpClient* http = nullptr;
  Scheduler* scheduler = nullptr;
  AwsCredentials* credentials = nullptr;
  std::string region;  // empty: that of the credentials
  // Such as "http://localhost:9000". If empty, AWS's endpoint for the region is
  // used.
  std::string endpoint;
  std::string scheme = "s3";  // for names in errors
  // The timeout of each operation, including retries.
  absl::Duration operation_timeout = absl::Minutes(10);
  uint64_t max_copied_bytes = uint64_t{5} << 30;  // in one request
  // Whether the service supports UploadPartCopy. Google's does not: it copies
  // whole objects of any size in one request, so parts must be downloaded and
  // uploaded.
  bool copies_parts = true;
};

class S3ObjectStore : public ObjectStore {
 public:
  explicit S3ObjectStore(S3Options options);

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

  uint64_t min_part_bytes() const override { return uint64_t{5} << 20; }
  int max_parts() const override { return 10'000; }

 private:
  // Operation has the parts of a request that differ between operations.
  struct Operation {
    std::string method = "GET";
    ObjectName name;                           // an empty key means the bucket
    std::map<std::string, std::string> query;  // sorted, as it is signed
    std::map<std::string, std::string> headers;
    std::shared_ptr<const std::string> body;
    size_t max_response_bytes = size_t{8} << 20;
    bool may_be_silent = false;                         // see HttpRequest
    std::shared_ptr<const std::atomic<bool>> given_up;  // see HttpRequest
    // The timeout of the operation if it is shorter than operation_timeout.
    absl::Duration at_most = absl::InfiniteDuration();
  };

  std::string UrlOf(const Operation& operation,
                    const std::string& region) const;
  const std::string& RegionOf(const AwsKeys& keys) const {
    return options_.region.empty() ? keys.region : options_.region;
  }
  HttpRequest ToRequest(const Operation& operation, const AwsKeys& keys) const;
  // Returns a successful response, or an error that names the object.
  absl::StatusOr<HttpResponse> ToAnswer(
      const Operation& operation, const AwsKeys& keys,
      absl::StatusOr<HttpResponse> response) const;
  // Starts the operation. If its keys or region are refused and others are
  // found, retries once. `done` gets a success or an error that names the
  // object.
  void Start(Operation operation, HttpClient::Done done) const;
  void Send(Operation operation, AwsKeys keys, bool is_last,
            HttpClient::Done done) const;
  // Handles a response that refused `keys`.
  void SendAgain(Operation operation, AwsKeys keys, HttpResponse refused,
                 HttpClient::Done done) const;
  absl::StatusOr<HttpResponse> Run(Operation operation) const;
  // Returns information on the object by reading its first byte, because an
  // error then includes a document.
  absl::StatusOr<ObjectInfo> StatByReading(const ObjectName& name);
  absl::Status CopyInParts(const ObjectName& from, const ObjectName& to);
  // Returns the number of equal parts into which an object is copied.
  absl::StatusOr<uint64_t> CountParts(const ObjectName& name,
                                      uint64_t size) const;
  absl::StatusOr<UploadedPart> CopyPart(const ObjectUpload& upload, int number,
                                        const ObjectName& from, uint64_t offset,
                                        uint64_t size);
  // Does the same as CopyPart for services that cannot copy parts on the
  // server.
  absl::StatusOr<UploadedPart> ReadAndSendPart(const ObjectUpload& upload,
                                               int number,
                                               const ObjectName& from,
                                               const std::string& version,
                                               uint64_t offset, uint64_t size);
  // Returns whether the object already consists of these parts, which is
  // possible after a retried completion.
  bool IsCompleted(const ObjectUpload& upload,
                   const std::vector<UploadedPart>& parts);

  const S3Options options_;
};

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_S3_OBJECT_STORE_H_
