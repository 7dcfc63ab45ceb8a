// ObjectStores routes paths "s3://bucket/ckpt/model" and
// "gs://bucket/ckpt/model" to object stores, and all other paths to another
// file system. object_file_system.h lists the differences from a disk.
//
// Endpoints and credentials come from the usual environment variables:
//   s3://  aws_credentials.h; AWS_REGION, AWS_DEFAULT_REGION;
//          AWS_ENDPOINT_URL_S3, AWS_ENDPOINT_URL for another service than AWS;
//   gs://  google_credentials.h; or, with keys for HMAC in GS_ACCESS_KEY_ID and
//          GS_SECRET_ACCESS_KEY, the interface that is like S3's;
//          STORAGE_EMULATOR_HOST, GS_ENDPOINT_URL for other services;
//   both   AWS_CA_BUNDLE, CURL_CA_BUNDLE: a file of certificates to trust.
// Endpoints and certificates are read when a path of the scheme is first used;
// keys and the region again when they may have changed, and when a service
// refuses them.
//
// Threads: the same rules as for FileSystem.
#ifndef WEFT_LIBS_OBJECT_STORE_OBJECT_STORES_H_
#define WEFT_LIBS_OBJECT_STORE_OBJECT_STORES_H_

#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/fs/routed_file_system.h"
#include "libs/object_store/environment.h"

namespace weft {

// Returns whether the path names a file in an object store.
bool IsObjectStorePath(absl::string_view path);

struct ObjectStoresOptions {
  Scheduler* scheduler = nullptr;  // these objects outlive the files
  Random* random = nullptr;
  FileSystem* others = nullptr;  // also has the files with credentials
  Environment environment = SystemEnvironment();
  // Whether to request credentials from a cloud machine's metadata service if
  // there are no other credentials.
  bool use_instance_metadata = false;
  // The timeout of each request, including retries.
  absl::Duration operation_timeout = absl::Minutes(10);
};

// An ObjectStores must outlive the files that it opened.
class ObjectStores : public RoutedFileSystem {
 public:
  explicit ObjectStores(ObjectStoresOptions options);
  ~ObjectStores() override;

 private:
  class Connections;
  class S3;
  class Gcs;

  absl::StatusOr<Place> Find(absl::string_view path) override
      ABSL_LOCKS_EXCLUDED(mutex_);
  // Returns the file system for the scheme of a path, or null if it was not
  // created yet.
  FileSystem* FindMade(absl::string_view path) ABSL_LOCKS_EXCLUDED(mutex_);
  std::unique_ptr<FileSystem> NewGoogleFiles()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const ObjectStoresOptions options_;
  absl::Mutex mutex_;
  // The following objects are created on first use. The file systems use the
  // connections.
  std::unique_ptr<Connections> connections_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<FileSystem> s3_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<FileSystem> google_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_OBJECT_STORES_H_
