// AwsCredentials provides the keys that sign requests to S3, from the same
// sources as AWS's own programs:
//   1. AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN;
//   2. profile AWS_PROFILE ("default") of AWS_SHARED_CREDENTIALS_FILE
//      (~/.aws/credentials), else of AWS_CONFIG_FILE (~/.aws/config);
//   3. by option, the role of the machine from the metadata service of
//      EC2 (IMDSv2), unless AWS_EC2_METADATA_DISABLED is "true";
//   4. none: requests are not signed, as public buckets take them.
// Source:
// https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html
#ifndef WEFT_LIBS_OBJECT_STORE_AWS_CREDENTIALS_H_
#define WEFT_LIBS_OBJECT_STORE_AWS_CREDENTIALS_H_

#include <map>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/fs/file_system.h"
#include "libs/object_store/environment.h"
#include "libs/object_store/http_client.h"
#include "libs/object_store/refusals.h"

namespace weft {

// The sections of an INI file, by name without the prefix "profile ".
using Profiles = std::map<std::string, std::map<std::string, std::string>>;
Profiles ParseProfiles(absl::string_view text);

struct AwsKeys {
  std::string access_key_id;  // empty: requests are not signed
  std::string secret_access_key;
  std::string session_token;
  absl::Time expiration = absl::InfiniteFuture();
  // Whether the keys come from a file or were not found. In both cases the file
  // may be written or replaced at any time.
  bool may_change = false;
  // The value of AWS_REGION or AWS_DEFAULT_REGION, or the region of the profile
  // in AWS_CONFIG_FILE, or us-east-1 if none of them is set.
  std::string region;
};

// Returns whether both sign a request identically.
bool SignAlike(const AwsKeys& a, const AwsKeys& b);

struct AwsCredentialsOptions {
  Environment environment;
  FileSystem* files = nullptr;  // of this machine; all outlive the object
  HttpClient* http = nullptr;   // for the metadata service
  Scheduler* scheduler = nullptr;
  bool use_instance_metadata = false;
};

// AwsCredentials is thread-safe.
class AwsCredentials {
 public:
  explicit AwsCredentials(AwsCredentialsOptions options);

  // Returns the keys. Errors are those of files and of the metadata service,
  // but never NOT_FOUND.
  // Blocks when files are read or the metadata service is called: the first
  // time, and again from five minutes before keys expire. Keys from a file are
  // read again every five minutes. If no file has keys, the files are checked
  // every half minute.
  // If a renewal fails while the old keys are valid, the error is ignored, and
  // the next attempt is made after half a minute. Keys that were removed from a
  // file are dropped half a minute later.
  absl::StatusOr<AwsKeys> Get() ABSL_LOCKS_EXCLUDED(mutex_);
  // Reports that a service has refused `keys` or their region. Does not block.
  // Returns true if a retry makes sense: the next Get reads credentials at
  // once, or already has others. Returns false if the credentials were read
  // recently and are unchanged.
  bool Refuse(const AwsKeys& keys) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Return whether there are valid keys, and whether there are valid keys that
  // need no renewal yet.
  bool AreGood() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AreGoodForNow() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static bool AreOfAFile(const AwsKeys& keys);
  static absl::Duration RefreshDelay(const AwsKeys& keys);
  absl::StatusOr<AwsKeys> Find();
  absl::StatusOr<AwsKeys> FindKeys();
  void AddRegion(AwsKeys* keys);
  absl::StatusOr<AwsKeys> FromProfile();
  absl::StatusOr<AwsKeys> FromInstanceMetadata();
  absl::StatusOr<std::string> AskMetadata(const std::string& method,
                                          const std::string& path,
                                          const std::string& token);

  const AwsCredentialsOptions options_;
  absl::Mutex mutex_;
  bool found_ ABSL_GUARDED_BY(mutex_) = false;
  AwsKeys keys_ ABSL_GUARDED_BY(mutex_);
  Refusals refusals_ ABSL_GUARDED_BY(mutex_);
  absl::Time look_again_ ABSL_GUARDED_BY(mutex_);  // next read of a file
  absl::Time try_again_ ABSL_GUARDED_BY(mutex_);   // after a failure
  // The time until which missing keys of a file are tolerated. It is in the
  // past while the file has keys.
  absl::Time missing_until_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace weft

#endif  // WEFT_LIBS_OBJECT_STORE_AWS_CREDENTIALS_H_
