#include "libs/object_store/aws_credentials.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "nlohmann/json.hpp"

namespace weft {
namespace {

constexpr absl::Duration kRenewKeysBefore = absl::Minutes(5);
// The interval after which a key file is read again, because it may be renewed
// at any time.
constexpr absl::Duration kLookAtFileAgain = absl::Minutes(5);
// The interval between attempts after a failed renewal, while the old keys are
// still valid.
constexpr absl::Duration kAskForKeysAgain = absl::Seconds(30);
// The interval between attempts while no file has keys, because the keys may be
// written later.
constexpr absl::Duration kLookForKeysAgain = absl::Seconds(30);
constexpr absl::Duration kMetadataTimeout = absl::Seconds(5);
constexpr char kMetadataService[] = "http://169.254.169.254";

std::string ProfileName(const Environment& environment) {
  const std::string name = FirstOf(environment, {"AWS_PROFILE"});
  return name.empty() ? "default" : name;
}

// Returns the profile from one of AWS's two files. Returns an empty map if the
// file does not have it.
absl::StatusOr<std::map<std::string, std::string>> ReadProfile(
    const Environment& environment, FileSystem& files, const char* variable,
    absl::string_view default_name) {
  std::string path = environment(variable);
  if (path.empty()) {
    const std::string home = environment("HOME");
    if (home.empty()) return std::map<std::string, std::string>();
    path = absl::StrCat(home, "/.aws/", default_name);
  }
  const auto text = files.ReadFile(path);
  if (absl::IsNotFound(text.status())) {
    return std::map<std::string, std::string>();
  }
  RETURN_IF_ERROR(text.status());
  return ParseProfiles(*text)[ProfileName(environment)];
}

absl::Status MetadataError(int code, const std::string& path) {
  const std::string text =
      absl::StrCat("the metadata service answers ", code, " to ", path);
  if (code == 429 || code >= 500) return absl::UnavailableError(text);
  return absl::FailedPreconditionError(absl::StrCat(
      text,
      "; has this machine a role? Without one set AWS_ACCESS_KEY_ID and "
      "AWS_SECRET_ACCESS_KEY or, for public buckets, "
      "AWS_EC2_METADATA_DISABLED=true"));
}

absl::StatusOr<AwsKeys> ParseMetadataKeys(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto value = [&json](const char* name) -> std::string {
    if (!json.is_object() || !json.contains(name)) return "";
    return json[name].is_string() ? json[name].get<std::string>() : "";
  };
  AwsKeys keys{value("AccessKeyId"), value("SecretAccessKey"), value("Token")};
  std::string error;
  const bool is_whole = !keys.access_key_id.empty() &&
                        !keys.secret_access_key.empty() &&
                        absl::ParseTime(absl::RFC3339_full, value("Expiration"),
                                        &keys.expiration, &error);
  if (is_whole) return keys;
  return absl::InternalError(
      "the metadata service of this machine returned no keys for its role");
}

}  // namespace

Profiles ParseProfiles(absl::string_view text) {
  Profiles profiles;
  std::string section;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line.front() == '[' && line.back() == ']') {
      line = absl::StripAsciiWhitespace(line.substr(1, line.size() - 2));
      absl::ConsumePrefix(&line, "profile ");
      section = std::string(absl::StripAsciiWhitespace(line));
      continue;
    }
    const std::pair<absl::string_view, absl::string_view> setting =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    profiles[section][std::string(absl::StripAsciiWhitespace(setting.first))] =
        std::string(absl::StripAsciiWhitespace(setting.second));
  }
  return profiles;
}

bool SignAlike(const AwsKeys& a, const AwsKeys& b) {
  return a.access_key_id == b.access_key_id &&
         a.secret_access_key == b.secret_access_key &&
         a.session_token == b.session_token && a.region == b.region;
}

// Returns whether the keys come from a file. Only such keys may change.
bool AwsCredentials::AreOfAFile(const AwsKeys& keys) {
  return keys.may_change && !keys.access_key_id.empty();
}

AwsCredentials::AwsCredentials(AwsCredentialsOptions options)
    : options_(std::move(options)) {}

// Returns whether the keys are valid. Expiration uses the wall clock, while
// intervals use the monotonic clock.
bool AwsCredentials::AreGood() const {
  return found_ && options_.scheduler->clock().WallTime() < keys_.expiration;
}

bool AwsCredentials::AreGoodForNow() const {
  if (!AreGood() || refusals_.is_look_due()) return false;
  const Clock& clock = options_.scheduler->clock();
  if (clock.Now() < try_again_) return true;
  return clock.Now() < look_again_ &&
         clock.WallTime() < keys_.expiration - kRenewKeysBefore;
}

bool AwsCredentials::Refuse(const AwsKeys& keys) {
  const absl::Time now = options_.scheduler->clock().Now();
  absl::MutexLock lock(&mutex_);
  return refusals_.Note(SignAlike(keys, keys_), now);
}

absl::Duration AwsCredentials::RefreshDelay(const AwsKeys& keys) {
  if (!keys.may_change) return absl::InfiniteDuration();
  return keys.access_key_id.empty() ? kLookForKeysAgain : kLookAtFileAgain;
}

absl::StatusOr<AwsKeys> AwsCredentials::Get() {
  {
    absl::MutexLock lock(&mutex_);
    if (AreGoodForNow()) return keys_;
  }
  // Several threads may read at the same time, and all find the same keys.
  auto keys = Find();
  const absl::Time now = options_.scheduler->clock().Now();
  absl::MutexLock lock(&mutex_);
  refusals_.HasLooked();
  // If the file has no keys any more, a tool may be rewriting it, so the file
  // is only briefly empty.
  const bool are_missing = keys.ok() && AreOfAFile(keys_) && !AreOfAFile(*keys);
  if (!are_missing) {
    missing_until_ = absl::InfinitePast();
  } else if (missing_until_ == absl::InfinitePast()) {
    missing_until_ = now + kAskForKeysAgain;
  }
  if (!keys.ok() || now < missing_until_) {
    if (!AreGood()) return keys.status();
    try_again_ = now + kAskForKeysAgain;
    return keys_;
  }
  found_ = true;
  keys_ = *std::move(keys);
  look_again_ = now + RefreshDelay(keys_);
  return keys_;
}

absl::StatusOr<AwsKeys> AwsCredentials::Find() {
  ASSIGN_OR_RETURN(AwsKeys keys, FindKeys());
  AddRegion(&keys);
  return keys;
}

absl::StatusOr<AwsKeys> AwsCredentials::FindKeys() {
  const Environment& environment = options_.environment;
  AwsKeys keys{environment("AWS_ACCESS_KEY_ID"),
               environment("AWS_SECRET_ACCESS_KEY"),
               environment("AWS_SESSION_TOKEN")};
  if (!keys.access_key_id.empty() && !keys.secret_access_key.empty()) {
    return keys;
  }
  if (!keys.access_key_id.empty() || !keys.secret_access_key.empty()) {
    return absl::FailedPreconditionError(
        "only one of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY is set; set "
        "both or none");
  }
  ASSIGN_OR_RETURN(keys, FromProfile());
  if (!keys.access_key_id.empty()) return keys;
  const bool asks_metadata =
      options_.use_instance_metadata &&
      !absl::EqualsIgnoreCase(environment("AWS_EC2_METADATA_DISABLED"), "true");
  if (asks_metadata) return FromInstanceMetadata();
  keys.may_change = true;
  return keys;
}

absl::StatusOr<AwsKeys> AwsCredentials::FromProfile() {
  const std::vector<std::pair<const char*, absl::string_view>> places = {
      {"AWS_SHARED_CREDENTIALS_FILE", "credentials"},
      {"AWS_CONFIG_FILE", "config"}};
  for (const auto& [variable, name] : places) {
    ASSIGN_OR_RETURN(
        auto profile,
        ReadProfile(options_.environment, *options_.files, variable, name));
    if (profile.count("aws_access_key_id") == 0) continue;
    AwsKeys keys{profile["aws_access_key_id"], profile["aws_secret_access_key"],
                 profile["aws_session_token"]};
    keys.may_change = true;
    return keys;
  }
  if (options_.environment("AWS_PROFILE").empty()) return AwsKeys();
  // The error is never NOT_FOUND, because that code would refer to the
  // requested object.
  return absl::FailedPreconditionError(absl::StrCat(
      "AWS_PROFILE is ", ProfileName(options_.environment),
      ", but neither ~/.aws/credentials nor ~/.aws/config has its keys"));
}

absl::StatusOr<std::string> AwsCredentials::AskMetadata(
    const std::string& method, const std::string& path,
    const std::string& token) {
  HttpRequest request;
  request.method = method;
  request.url = absl::StrCat(kMetadataService, path);
  if (token.empty()) {
    request.headers = {{"X-aws-ec2-metadata-token-ttl-seconds", "21600"}};
  } else {
    request.headers = {{"X-aws-ec2-metadata-token", token}};
  }
  request.max_response_bytes = 1 << 16;
  request.deadline = options_.scheduler->clock().Now() + kMetadataTimeout;
  ASSIGN_OR_RETURN(
      HttpResponse response,
      Send(*options_.http, *options_.scheduler, std::move(request)));
  if (response.ok()) return std::move(response.body);
  return MetadataError(response.code, path);
}

absl::StatusOr<AwsKeys> AwsCredentials::FromInstanceMetadata() {
  const std::string path = "/latest/meta-data/iam/security-credentials/";
  ASSIGN_OR_RETURN(const std::string token,
                   AskMetadata("PUT", "/latest/api/token", ""));
  ASSIGN_OR_RETURN(const std::string role, AskMetadata("GET", path, token));
  ASSIGN_OR_RETURN(
      const std::string keys,
      AskMetadata("GET", absl::StrCat(path, absl::StripAsciiWhitespace(role)),
                  token));
  return ParseMetadataKeys(keys);
}

void AwsCredentials::AddRegion(AwsKeys* keys) {
  const Environment& environment = options_.environment;
  keys->region = FirstOf(environment, {"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (!keys->region.empty()) return;
  auto profile =
      ReadProfile(environment, *options_.files, "AWS_CONFIG_FILE", "config");
  if (profile.ok()) keys->region = (*profile)["region"];
  if (keys->region.empty()) keys->region = "us-east-1";
}

}  // namespace weft
