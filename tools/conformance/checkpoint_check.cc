#include "tools/conformance/checkpoint_check.h"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/checkpoint/bundle_reader.h"
#include "libs/fs/path.h"
#include "nlohmann/json.hpp"

namespace weft::conformance {
namespace {

using checkpoint::BundleEntry;
using checkpoint::BundleReader;
using checkpoint::TensorSlice;
using Json = nlohmann::json;

// Returns an entry in a form that can be compared with the listing. Omits
// numbers that have their default.
Json Describe(const BundleEntry& entry) {
  Json result;
  result["dtype"] = absl::StrCat(static_cast<int>(entry.dtype));
  result["shape"] = std::vector<int64_t>(entry.shape.dims().begin(),
                                         entry.shape.dims().end());
  for (const TensorSlice& slice : entry.slices) {
    result["slices"].push_back(slice.ToString());
  }
  if (!entry.slices.empty()) return result;
  result["shard_id"] = entry.shard;
  result["offset"] = entry.offset;
  result["size"] = entry.size;
  result["crc32c"] = entry.masked_crc32c;
  return result;
}

absl::StatusOr<Json> Describe(const Json& listed) {
  const auto dtype = DataTypeFromName(listed.at("dtype").get<std::string>());
  if (!dtype.has_value()) {
    return absl::UnknownError(
        absl::StrCat("listing.json has an unknown dtype: ", listed.dump()));
  }
  Json result;
  result["dtype"] = absl::StrCat(static_cast<int>(*dtype));
  for (const char* key :
       {"shape", "slices", "shard_id", "offset", "size", "crc32c"}) {
    if (listed.contains(key)) result[key] = listed[key];
  }
  return result;
}

absl::Status Compare(const Json& listing, BundleReader& reader) {
  if (listing.at("num_shards").get<int>() != reader.header().num_shards) {
    return absl::UnknownError("listing.json has another number of data files");
  }
  std::map<std::string, Json> listed;
  for (const Json& entry : listing.at("entries")) {
    ASSIGN_OR_RETURN(listed[entry.at("key_hex").get<std::string>()],
                     Describe(entry));
  }
  RETURN_IF_ERROR(reader.ForEach(
      [&](absl::string_view key, const BundleEntry& entry) -> absl::Status {
        const std::string hex = absl::BytesToHexString(key);
        const Json found = Describe(entry);
        const Json& expected = listed[hex];
        if (found != expected) {
          return absl::UnknownError(
              absl::StrCat("entry ", hex, " is ", found.dump(),
                           ", but in listing.json ", expected.dump()));
        }
        listed.erase(hex);
        return absl::OkStatus();
      }));
  if (listed.empty()) return absl::OkStatus();
  return absl::UnknownError(
      absl::StrCat("entry ", listed.begin()->first, " is not in the index"));
}

}  // namespace

absl::Status CheckCheckpoint(const Case& test_case, FileSystem& fs) {
  const auto path = JoinPath(test_case.directory, "listing.json");
  if (!fs.FileExists(path).ok()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const std::string text, fs.ReadFile(path));
  const Json listing = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (listing.is_discarded()) {
    return absl::UnknownError(absl::StrCat(path, " is not JSON"));
  }
  ASSIGN_OR_RETURN(
      const auto reader,
      BundleReader::Open(fs, JoinPath(test_case.directory, "model.ckpt")));
  try {
    return Compare(listing, *reader);
  } catch (const Json::exception& error) {
    return absl::UnknownError(absl::StrCat(path, ": ", error.what()));
  }
}

}  // namespace weft::conformance
