#include "libs/object_store/aws_signature.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"

namespace weft {
namespace {

using DigestBytes = std::array<unsigned char, EVP_MAX_MD_SIZE>;

std::string ToText(const DigestBytes& digest, unsigned int size) {
  return std::string(reinterpret_cast<const char*>(digest.data()), size);
}

std::string Digest(const EVP_MD* algorithm, absl::string_view bytes) {
  DigestBytes digest;
  unsigned int size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, algorithm,
             nullptr);
  return ToText(digest, size);
}

std::string HmacSha256(absl::string_view key, absl::string_view text) {
  DigestBytes digest;
  unsigned int size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(),
       digest.data(), &size);
  return ToText(digest, size);
}

struct UrlParts {
  absl::string_view host;   // with a port that is not the default
  absl::string_view path;   // from the first slash on
  absl::string_view query;  // without "?"
};

// Removes the scheme's default port from the host, because libcurl and AWS's
// programs omit it in the header "Host".
absl::string_view WithoutDefaultPort(absl::string_view url,
                                     absl::string_view host) {
  return absl::StripSuffix(
      host, absl::StartsWithIgnoreCase(url, "https:") ? ":443" : ":80");
}

UrlParts SplitUrl(absl::string_view url) {
  UrlParts parts;
  const absl::string_view whole = url;
  url.remove_prefix(url.find("://") + 3);
  const size_t host_size = std::min(url.find('/'), url.size());
  parts.host = WithoutDefaultPort(whole, url.substr(0, host_size));
  url.remove_prefix(host_size);
  const size_t path_size = std::min(url.find('?'), url.size());
  parts.path = url.substr(0, path_size);
  if (path_size < url.size()) parts.query = url.substr(path_size + 1);
  return parts;
}

// Returns the headers sorted by lower-case name, which is the order in which
// they are signed.
std::map<std::string, std::string> SignedHeaders(const HttpRequest& request,
                                                 absl::string_view host) {
  std::map<std::string, std::string> headers = {{"host", std::string(host)}};
  for (const auto& [name, value] : request.headers) {
    headers[absl::AsciiStrToLower(name)] =
        std::string(absl::StripAsciiWhitespace(value));
  }
  return headers;
}

std::string SigningKey(const AwsKeys& keys, absl::string_view day,
                       absl::string_view region) {
  const std::string day_key =
      HmacSha256(absl::StrCat("AWS4", keys.secret_access_key), day);
  return HmacSha256(HmacSha256(HmacSha256(day_key, region), "s3"),
                    "aws4_request");
}

}  // namespace

std::string Sha256(absl::string_view bytes) {
  return Digest(EVP_sha256(), bytes);
}

std::string Md5(absl::string_view bytes) { return Digest(EVP_md5(), bytes); }

void SignRequest(const AwsKeys& keys, absl::string_view region, absl::Time now,
                 HttpRequest* request) {
  const std::string time =
      absl::FormatTime("%Y%m%dT%H%M%SZ", now, absl::UTCTimeZone());
  const std::string day = time.substr(0, 8);
  const std::string body_hash = absl::BytesToHexString(
      Sha256(request->body == nullptr ? absl::string_view() : *request->body));
  request->headers.emplace_back("x-amz-content-sha256", body_hash);
  request->headers.emplace_back("x-amz-date", time);
  if (!keys.session_token.empty()) {
    request->headers.emplace_back("x-amz-security-token", keys.session_token);
  }
  const UrlParts url = SplitUrl(request->url);
  const auto headers = SignedHeaders(*request, url.host);
  const std::string names =
      absl::StrJoin(headers, ";", [](std::string* out, const auto& header) {
        absl::StrAppend(out, header.first);
      });
  const std::string canonical =
      absl::StrCat(request->method, "\n", url.path, "\n", url.query, "\n",
                   absl::StrJoin(headers, "\n", absl::PairFormatter(":")),
                   "\n\n", names, "\n", body_hash);
  const std::string scope = absl::StrCat(day, "/", region, "/s3/aws4_request");
  const std::string to_sign =
      absl::StrCat("AWS4-HMAC-SHA256\n", time, "\n", scope, "\n",
                   absl::BytesToHexString(Sha256(canonical)));
  const std::string signature = absl::BytesToHexString(
      HmacSha256(SigningKey(keys, day, region), to_sign));
  request->headers.emplace_back(
      "Authorization",
      absl::StrCat("AWS4-HMAC-SHA256 Credential=", keys.access_key_id, "/",
                   scope, ", SignedHeaders=", names,
                   ", Signature=", signature));
}

}  // namespace weft
