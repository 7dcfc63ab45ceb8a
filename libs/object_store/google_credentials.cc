#include "libs/object_store/google_credentials.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

using Json = nlohmann::json;

constexpr absl::Duration kRenewTokenBefore = absl::Minutes(5);
// The interval after which a missing credentials file is checked again.
constexpr absl::Duration kLookForFileAgain = absl::Minutes(5);
// The interval between attempts after a failed renewal, while the old token is
// still valid.
constexpr absl::Duration kAskForTokenAgain = absl::Seconds(30);
constexpr absl::Duration kTokenTimeout = absl::Seconds(30);
constexpr char kScope[] =
    "https://www.googleapis.com/auth/devstorage.read_write";
constexpr char kTokenUri[] = "https://oauth2.googleapis.com/token";
constexpr char kMetadataHost[] = "metadata.google.internal";
constexpr char kMetadataPath[] =
    "/computeMetadata/v1/instance/service-accounts/default/token";

std::string Member(const Json& json, const char* name) {
  const auto it = json.find(name);
  if (it == json.end() || !it->is_string()) return "";
  return it->get<std::string>();
}

// Encodes without the padding that absl adds.
std::string Base64Url(absl::string_view bytes) {
  return std::string(absl::StripSuffix(
      absl::StripSuffix(absl::WebSafeBase64Escape(bytes), "="), "="));
}

absl::StatusOr<std::string> SignRs256(const std::string& pem,
                                      absl::string_view text) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr),
      &EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(
      EVP_MD_CTX_new(), &EVP_MD_CTX_free);
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  size_t size = 0;
  const bool is_ready =
      key != nullptr &&
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr,
                         key.get()) == 1 &&
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) == 1;
  std::string signature(size, '\0');
  if (is_ready &&
      EVP_DigestSign(context.get(),
                     reinterpret_cast<unsigned char*>(signature.data()), &size,
                     bytes, text.size()) == 1) {
    signature.resize(size);
    return signature;
  }
  return absl::InvalidArgumentError("private_key is not an RSA key in PEM");
}

// Returns the signed assertion of a service account (RFC 7523).
absl::StatusOr<std::string> Assertion(const Json& account,
                                      const std::string& token_uri,
                                      absl::Time now) {
  const int64_t seconds = absl::ToUnixSeconds(now);
  const Json header = {{"alg", "RS256"}, {"typ", "JWT"}};
  const Json claims = {{"iss", Member(account, "client_email")},
                       {"scope", kScope},
                       {"aud", token_uri},
                       {"iat", seconds},
                       {"exp", seconds + 3600}};
  std::string text =
      absl::StrCat(Base64Url(header.dump()), ".", Base64Url(claims.dump()));
  ASSIGN_OR_RETURN(const std::string signature,
                   SignRs256(Member(account, "private_key"), text));
  absl::StrAppend(&text, ".", Base64Url(signature));
  return text;
}

absl::StatusOr<std::string> GrantRequest(const Json& account,
                                         const std::string& token_uri,
                                         absl::Time now) {
  if (Member(account, "type") == "authorized_user") {
    return absl::StrCat(
        "grant_type=refresh_token&client_id=",
        PercentEncode(Member(account, "client_id")),
        "&client_secret=", PercentEncode(Member(account, "client_secret")),
        "&refresh_token=", PercentEncode(Member(account, "refresh_token")));
  }
  if (Member(account, "type") != "service_account") {
    return absl::InvalidArgumentError(
        "type is neither service_account nor authorized_user");
  }
  ASSIGN_OR_RETURN(const std::string assertion,
                   Assertion(account, token_uri, now));
  return absl::StrCat(
      "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer"
      "&assertion=",
      assertion);
}

}  // namespace

GoogleCredentials::GoogleCredentials(GoogleCredentialsOptions options)
    : options_(std::move(options)) {}

bool GoogleCredentials::IsGoodAt(absl::Time now) const {
  return found_ && now < granted_.expiration;
}

absl::StatusOr<std::string> GoogleCredentials::Token() {
  const Clock& clock = options_.scheduler->clock();
  {
    const absl::Time now = clock.Now();
    absl::MutexLock lock(&mutex_);
    const bool is_waiting = now < try_again_ && IsGoodAt(now);
    if (!refusals_.is_look_due() &&
        (is_waiting || IsGoodAt(now + kRenewTokenBefore))) {
      return granted_.token;
    }
  }
  // Several threads may request tokens at the same time. All of these tokens
  // are valid.
  auto granted = Find();
  absl::MutexLock lock(&mutex_);
  refusals_.HasLooked();
  if (!granted.ok()) {
    if (!IsGoodAt(clock.Now())) return granted.status();
    try_again_ = clock.Now() + kAskForTokenAgain;
    return granted_.token;
  }
  found_ = true;
  granted_ = *std::move(granted);
  return granted_.token;
}

bool GoogleCredentials::Refuse(const std::string& token) {
  const absl::Time now = options_.scheduler->clock().Now();
  absl::MutexLock lock(&mutex_);
  return refusals_.Note(token == granted_.token, now);
}

absl::StatusOr<GoogleCredentials::Granted> GoogleCredentials::Find() const {
  const std::string told =
      options_.environment("GOOGLE_APPLICATION_CREDENTIALS");
  const std::string path =
      !told.empty()
          ? told
          : absl::StrCat(
                options_.environment("HOME"),
                "/.config/gcloud/application_default_credentials.json");
  const auto text = options_.files->ReadFile(path);
  if (text.ok()) return FromFile(path, *text);
  if (!absl::IsNotFound(text.status())) return text.status();
  // The error is never NOT_FOUND, because that code would refer to the
  // requested object.
  if (!told.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "GOOGLE_APPLICATION_CREDENTIALS names a file that does not exist: ",
        told));
  }
  if (!options_.use_instance_metadata) {
    return Granted{"", options_.scheduler->clock().Now() + kLookForFileAgain +
                           kRenewTokenBefore};
  }
  const std::string host = options_.environment("GCE_METADATA_HOST");
  HttpRequest request;
  request.url = absl::StrCat("http://", host.empty() ? kMetadataHost : host,
                             kMetadataPath);
  request.headers = {{"Metadata-Flavor", "Google"}};
  return Ask(std::move(request));
}

absl::StatusOr<GoogleCredentials::Granted> GoogleCredentials::FromFile(
    const std::string& path, const std::string& text) const {
  const Json account = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!account.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is not a JSON object"));
  }
  std::string token_uri = Member(account, "token_uri");
  if (token_uri.empty()) token_uri = kTokenUri;
  auto body =
      GrantRequest(account, token_uri, options_.scheduler->clock().WallTime());
  if (!body.ok()) return Annotate(body.status(), path);
  HttpRequest request;
  request.method = "POST";
  request.url = token_uri;
  request.headers = {{"Content-Type", "application/x-www-form-urlencoded"}};
  request.body = std::make_shared<const std::string>(*std::move(body));
  return Ask(std::move(request));
}

absl::StatusOr<GoogleCredentials::Granted> GoogleCredentials::Ask(
    HttpRequest request) const {
  const std::string url = request.url;
  const absl::Time now = options_.scheduler->clock().Now();
  request.max_response_bytes = 1 << 16;
  request.deadline = now + kTokenTimeout;
  ASSIGN_OR_RETURN(
      const HttpResponse response,
      Send(*options_.http, *options_.scheduler, std::move(request)));
  const Json json = Json::parse(response.body, nullptr, false);
  if (!response.ok() || !json.is_object() ||
      Member(json, "access_token").empty()) {
    return absl::PermissionDeniedError(
        absl::StrCat(url, " grants no token: it answers ", response.code, " ",
                     response.body.substr(0, 200)));
  }
  const auto seconds = json.find("expires_in");
  const bool has_end = seconds != json.end() && seconds->is_number_integer();
  return Granted{Member(json, "access_token"),
                 now + absl::Seconds(has_end ? seconds->get<int64_t>() : 600)};
}

}  // namespace weft
