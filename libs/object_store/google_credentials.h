// GoogleCredentials provides the access token for requests to Google Cloud
// Storage, from the same sources as Google's own programs:
//   1. GOOGLE_APPLICATION_CREDENTIALS, a file of a service account (whose key
//      signs a JWT, RS256) or of a user (a refresh token); else
//      ~/.config/gcloud/application_default_credentials.json;
//   2. by option, the account of the machine from its metadata service
//      (GCE_METADATA_HOST overrides its address);
//   3. none, for public buckets and emulators.
// Source:
// https://cloud.google.com/docs/authentication/application-default-credentials
// and RFC 7523.
#ifndef WEFT_LIBS_OBJECT_STORE_GOOGLE_CREDENTIALS_H_
#define WEFT_LIBS_OBJECT_STORE_GOOGLE_CREDENTIALS_H_

#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/object_store/environment.h"
#include "libs/object_store/http_client.h"
#include "libs/object_store/refusals.h"

namespace weft {

struct GoogleCredentialsOptions {
  Environment environment;
  FileSystem* files = nullptr;  // of this machine; all outlive the object
  HttpClient* http = nullptr;
  Scheduler* scheduler = nullptr;
  bool use_instance_metadata = false;
};

// GoogleCredentials is thread-safe.
class GoogleCredentials {
 public:
  explicit GoogleCredentials(GoogleCredentialsOptions options);

  // Returns the token. If it is empty, requests carry no token. Errors are
  // never NOT_FOUND.
  // Blocks when a token is requested: the first time, and again from five
  // minutes before it expires. If this fails while the old token is valid, the
  // error is ignored, and the next attempt is made after half a minute.
  absl::StatusOr<std::string> Token() ABSL_LOCKS_EXCLUDED(mutex_);
  // Reports that the service has refused `token`. Does not block. Returns true
  // if a retry makes sense: the next call of Token requests another token at
  // once, or already has another one. Returns false if a token was requested
  // recently.
  bool Refuse(const std::string& token) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Granted {
    std::string token;
    absl::Time expiration = absl::InfiniteFuture();
  };

  bool IsGoodAt(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Granted> Find() const;
  absl::StatusOr<Granted> FromFile(const std::string& path,
                                   const std::string& text) const;
  absl::StatusOr<Granted> Ask(HttpRequest request) const;

  const GoogleCredentialsOptions options_;
  absl::Mutex mutex_;
  bool found_ ABSL_GUARDED_BY(mutex_) = false;
  Refusals refusals_ ABSL_GUARDED_BY(mutex_);
  Granted granted_ ABSL_GUARDED_BY(mutex_);
  absl::Time try_again_ ABSL_GUARDED_BY(mutex_);  // after a failure
};

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_GOOGLE_CREDENTIALS_H_
