// S3ObjectStore: an ObjectStore that speaks Amazon S3's REST interface, which
// Google Cloud Storage (with HMAC keys), MinIO, Ceph and others speak too.
//
// Requests are signed (aws_signature.h), the hash of the body among what is
// signed. A bucket's name is part of the host, as AWS wants
// it, unless an endpoint is given or the name has dots, which certificates do
// not cover. Source:
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
  // Retries failed requests. Must outlive the store, as the others must.
  HttpClient* http = nullptr;
  Scheduler* scheduler = nullptr;
  AwsCredentials* credentials = nullptr;
  std::string region;  // empty: that of the credentials
  // "http://localhost:9000"; empty: AWS's of the region.
  std::string endpoint;
  std::string scheme = "s3";  // of names in errors
  // Of each operation, with its retries.
  absl::Duration operation_timeout = absl::Minutes(10);
  uint64_t max_copied_bytes = uint64_t{5} << 30;  // at once
  // Whether it supports UploadPartCopy. Google's does not: it copies whole
  // objects of any size at once, and parts must be downloaded and uploaded.
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
  // The variable parts of a request.
  struct Operation {
    std::string method = "GET";
    ObjectName name;                           // the key may be empty: a bucket
    std::map<std::string, std::string> query;  // in order, as it is signed
    std::map<std::string, std::string> headers;
    std::shared_ptr<const std::string> body;
    size_t max_response_bytes = size_t{8} << 20;
    bool may_be_silent = false;                         // HttpRequest
    std::shared_ptr<const std::atomic<bool>> given_up;  // likewise
    // Shorter timeout than operation_timeout, if any.
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
  // Starts the operation, and retries once if its keys or region are refused
  // and others are found. `done` gets a success or an error that names the
  // object.
  void Start(Operation operation, HttpClient::Done done) const;
  void Send(Operation operation, AwsKeys keys, bool is_last,
            HttpClient::Done done) const;
  // Handles the response `refused` to `keys`.
  void SendAgain(Operation operation, AwsKeys keys, HttpResponse refused,
                 HttpClient::Done done) const;
  absl::StatusOr<HttpResponse> Run(Operation operation) const;
  // Returns the object by reading its first byte, because errors then include a
  // document.
  absl::StatusOr<ObjectInfo> StatByReading(const ObjectName& name);
  absl::Status CopyInParts(const ObjectName& from, const ObjectName& to);
  // Number of equal parts into which an object is copied.
  absl::StatusOr<uint64_t> CountParts(const ObjectName& name,
                                      uint64_t size) const;
  absl::StatusOr<UploadedPart> CopyPart(const ObjectUpload& upload, int number,
                                        const ObjectName& from, uint64_t offset,
                                        uint64_t size);
  // CopyPart for services without server-side part copies.
  absl::StatusOr<UploadedPart> ReadAndSendPart(const ObjectUpload& upload,
                                               int number,
                                               const ObjectName& from,
                                               const std::string& version,
                                               uint64_t offset, uint64_t size);
  // Whether the object already consists of these parts, after a retried
  // completion.
  bool IsCompleted(const ObjectUpload& upload,
                   const std::vector<UploadedPart>& parts);

  const S3Options options_;
};

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_S3_OBJECT_STORE_H_
