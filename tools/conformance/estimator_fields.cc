#include "tools/conformance/estimator_fields.h"

#include <limits>

#include "absl/strings/str_cat.h"

namespace weft::conformance {

bool Convert(const nlohmann::json& json, bool& value) {
  if (!json.is_boolean()) return false;
  value = json.get<bool>();
  return true;
}

bool Convert(const nlohmann::json& json, int64_t& value) {
  if (!json.is_number_integer()) return false;
  value = json.get<int64_t>();
  return true;
}

bool Convert(const nlohmann::json& json, int& value) {
  int64_t wide = 0;
  if (!Convert(json, wide) || wide < std::numeric_limits<int>::min() ||
      wide > std::numeric_limits<int>::max()) {
    return false;
  }
  value = static_cast<int>(wide);
  return true;
}

bool Convert(const nlohmann::json& json, double& value) {
  if (!json.is_number()) return false;
  value = json.get<double>();
  return true;
}

bool Convert(const nlohmann::json& json, float& value) {
  if (!json.is_number()) return false;
  value = json.get<float>();
  return true;
}

bool Convert(const nlohmann::json& json, std::string& value) {
  if (!json.is_string()) return false;
  value = json.get<std::string>();
  return true;
}

const nlohmann::json* Fields::Find(const char* name) {
  taken_.insert(name);
  const auto found = json_.find(name);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

absl::StatusOr<const nlohmann::json*> Fields::GetObject(const char* name) {
  if (const nlohmann::json* found = Find(name)) return found;
  return absl::InvalidArgumentError(
      absl::StrCat(what_, " lacks the field ", name));
}

absl::Status Fields::CheckAllTaken() const {
  if (!json_.is_object()) {
    return absl::InvalidArgumentError(
        absl::StrCat(what_, " is not an object: ", json_.dump()));
  }
  for (const auto& [field, value] : json_.items()) {
    if (taken_.count(field) == 0) {
      return UnknownHere(absl::StrCat(what_, " has the field ", field));
    }
  }
  return absl::OkStatus();
}

absl::Status Fields::OfAnotherType(const char* name,
                                   const nlohmann::json& value) const {
  return absl::InvalidArgumentError(absl::StrCat(
      what_, ": the field ", name, " has another type: ", value.dump()));
}

absl::Status UnknownHere(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(what, ", unknown here"));
}

absl::StatusOr<OnlyField> OnlyFieldOf(const nlohmann::json& json,
                                      absl::string_view what) {
  if (!json.is_object() || json.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, " is not an object of one field: ", json.dump()));
  }
  return OnlyField{json.begin().key(), json.begin().value()};
}

}  // namespace weft::conformance
