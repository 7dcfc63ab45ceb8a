#include "libs/object_store/object_stores.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/object_store/aws_credentials.h"
#include "libs/object_store/curl_http_client.h"
#include "libs/object_store/gcs_object_store.h"
#include "libs/object_store/google_credentials.h"
#include "libs/object_store/object_file_system.h"
#include "libs/object_store/retrying_http_client.h"
#include "libs/object_store/s3_object_store.h"

namespace weft {
namespace {

bool IsS3Path(absl::string_view path) {
  return absl::StartsWith(path, "s3://");
}
bool IsGooglePath(absl::string_view path) {
  return absl::StartsWith(path, "gs://");
}

constexpr char kGoogleEndpoint[] = "https://storage.googleapis.com";

std::string WithScheme(const std::string& host, absl::string_view scheme) {
  return absl::StrContains(host, "://") ? host
                                        : absl::StrCat(scheme, "://", host);
}

std::string GoogleEndpoint(const Environment& environment) {
  const std::string told = environment("GS_ENDPOINT_URL");
  if (!told.empty()) return WithScheme(told, "https");
  const std::string emulator = environment("STORAGE_EMULATOR_HOST");
  return emulator.empty() ? kGoogleEndpoint : WithScheme(emulator, "http");
}

// Returns the environment for Google's accounts. An emulator must not get a
// token that Google would accept, so it gets no accounts.
Environment GoogleAccounts(const Environment& environment) {
  const bool asks_emulator = environment("GS_ENDPOINT_URL").empty() &&
                             !environment("STORAGE_EMULATOR_HOST").empty();
  if (!asks_emulator) return environment;
  return [](const char*) { return std::string(); };
}

// Returns an environment with HMAC keys under the names that aws_credentials.h
// uses.
Environment GoogleKeysAsAws(const Environment& environment) {
  return [environment](const char* name) -> std::string {
    if (absl::string_view(name) == "AWS_ACCESS_KEY_ID") {
      return environment("GS_ACCESS_KEY_ID");
    }
    if (absl::string_view(name) == "AWS_SECRET_ACCESS_KEY") {
      return environment("GS_SECRET_ACCESS_KEY");
    }
    return "";
  };
}

}  // namespace

bool IsObjectStorePath(absl::string_view path) {
  return IsS3Path(path) || IsGooglePath(path);
}

// Connections is the HTTP client that all services share.
class ObjectStores::Connections {
 public:
  explicit Connections(const ObjectStoresOptions& options)
      : curl_({.scheduler = options.scheduler,
               .ca_bundle = FirstOf(options.environment,
                                    {"AWS_CA_BUNDLE", "CURL_CA_BUNDLE"})}),
        retrying_(curl_, *options.scheduler, *options.random) {}

  HttpClient& retrying() { return retrying_; }

 private:
  CurlHttpClient curl_;
  RetryingHttpClient retrying_;
};

// S3 is the S3 file system with its dependencies.
class ObjectStores::S3 : public RoutedFileSystem {
 public:
  S3(const ObjectStoresOptions& options, HttpClient& http,
     Environment environment, S3Options store)
      : credentials_({.environment = std::move(environment),
                      .files = options.others,
                      .http = &http,
                      .scheduler = options.scheduler,
                      .use_instance_metadata = options.use_instance_metadata}),
        store_(WithParts(std::move(store), options, http)),
        files_(store_, *options.scheduler) {}

 private:
  S3Options WithParts(S3Options store, const ObjectStoresOptions& options,
                      HttpClient& http) {
    store.http = &http;
    store.scheduler = options.scheduler;
    store.credentials = &credentials_;
    store.operation_timeout = options.operation_timeout;
    return store;
  }
  absl::StatusOr<Place> Find(absl::string_view path) override {
    return Place{&files_, nullptr, std::string(path)};
  }

  AwsCredentials credentials_;
  S3ObjectStore store_;
  ObjectFileSystem files_;
};

// Gcs is the GCS file system with its dependencies.
class ObjectStores::Gcs : public RoutedFileSystem {
 public:
  Gcs(const ObjectStoresOptions& options, HttpClient& http)
      : credentials_({.environment = GoogleAccounts(options.environment),
                      .files = options.others,
                      .http = &http,
                      .scheduler = options.scheduler,
                      .use_instance_metadata = options.use_instance_metadata}),
        store_({.http = &http,
                .scheduler = options.scheduler,
                .random = options.random,
                .credentials = &credentials_,
                .endpoint = GoogleEndpoint(options.environment),
                .operation_timeout = options.operation_timeout}),
        files_(store_, *options.scheduler) {}

 private:
  absl::StatusOr<Place> Find(absl::string_view path) override {
    return Place{&files_, nullptr, std::string(path)};
  }

  GoogleCredentials credentials_;
  GcsObjectStore store_;
  ObjectFileSystem files_;
};

ObjectStores::ObjectStores(ObjectStoresOptions options)
    : options_(std::move(options)) {}

ObjectStores::~ObjectStores() = default;

std::unique_ptr<FileSystem> ObjectStores::NewGoogleFiles() {
  const Environment& environment = options_.environment;
  if (environment("GS_ACCESS_KEY_ID").empty()) {
    return std::make_unique<Gcs>(options_, connections_->retrying());
  }
  return std::make_unique<S3>(options_, connections_->retrying(),
                              GoogleKeysAsAws(environment),
                              S3Options{.region = "auto",
                                        .endpoint = GoogleEndpoint(environment),
                                        .scheme = "gs",
                                        .copies_parts = false});
}

absl::StatusOr<ObjectStores::Place> ObjectStores::Find(absl::string_view path) {
  if (!IsObjectStorePath(path)) {
    return Place{options_.others, nullptr, std::string(path)};
  }
  if (FileSystem* const made = FindMade(path)) {
    return Place{made, nullptr, std::string(path)};
  }
  const Environment& environment = options_.environment;
  absl::MutexLock lock(&mutex_);
  if (connections_ == nullptr) {
    connections_ = std::make_unique<Connections>(options_);
  }
  if (IsGooglePath(path)) {
    if (google_ == nullptr) google_ = NewGoogleFiles();
    return Place{google_.get(), nullptr, std::string(path)};
  }
  if (s3_ == nullptr) {
    s3_ = std::make_unique<S3>(
        options_, connections_->retrying(), environment,
        S3Options{.endpoint = FirstOf(environment, {"AWS_ENDPOINT_URL_S3",
                                                    "AWS_ENDPOINT_URL"})});
  }
  return Place{s3_.get(), nullptr, std::string(path)};
}

FileSystem* ObjectStores::FindMade(absl::string_view path) {
  absl::MutexLock lock(&mutex_);
  return IsGooglePath(path) ? google_.get() : s3_.get();
}

}  // namespace weft
