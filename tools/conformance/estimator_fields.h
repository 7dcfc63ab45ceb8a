// Fields reads the fields of one JSON object of a case. The caller takes each
// field that it knows, and CheckAllTaken rejects the others, so that no part of
// a case is ignored. A field with the value null counts as absent.
//
// Returns INVALID_ARGUMENT, which names the object and the field, if a field is
// missing, unknown or of another type. Not thread-safe.
#ifndef WEFT_TOOLS_CONFORMANCE_ESTIMATOR_FIELDS_H_
#define WEFT_TOOLS_CONFORMANCE_ESTIMATOR_FIELDS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/base/status.h"
#include "nlohmann/json.hpp"

namespace weft::conformance {

// The functions Convert read a JSON value. They return false if it has another
// type.
bool Convert(const nlohmann::json& json, bool& value);
bool Convert(const nlohmann::json& json, int& value);
bool Convert(const nlohmann::json& json, int64_t& value);
bool Convert(const nlohmann::json& json, float& value);
bool Convert(const nlohmann::json& json, double& value);
bool Convert(const nlohmann::json& json, std::string& value);
template <typename T>
bool Convert(const nlohmann::json& json, std::optional<T>& value) {
  return Convert(json, value.emplace());
}
template <typename T>
bool Convert(const nlohmann::json& json, std::vector<T>& values) {
  if (!json.is_array()) return false;
  values.clear();
  for (const nlohmann::json& element : json) {
    T value{};
    if (!Convert(element, value)) return false;
    values.push_back(std::move(value));
  }
  return true;
}

class Fields {
 public:
  // `what` names the object in errors. `json` must outlive this object.
  Fields(const nlohmann::json& json, std::string what)
      : json_(json), what_(std::move(what)) {}

  // Reads an optional field. Leaves `value` unchanged if the field is absent.
  template <typename T>
  absl::Status Take(const char* name, T& value) {
    const nlohmann::json* found = Find(name);
    if (found == nullptr || Convert(*found, value)) return absl::OkStatus();
    return OfAnotherType(name, *found);
  }
  // Reads and returns a required field.
  template <typename T>
  absl::StatusOr<T> Get(const char* name) {
    ASSIGN_OR_RETURN(const nlohmann::json* found, GetObject(name));
    T value{};
    if (Convert(*found, value)) return value;
    return OfAnotherType(name, *found);
  }
  absl::StatusOr<const nlohmann::json*> GetObject(const char* name);
  // Returns a field, or null if it is absent.
  const nlohmann::json* Find(const char* name);
  // Marks a field as known without reading it.
  void Skip(const char* name) { taken_.insert(name); }
  absl::Status CheckAllTaken() const;

  const std::string& what() const { return what_; }

 private:
  absl::Status OfAnotherType(const char* name,
                             const nlohmann::json& value) const;

  const nlohmann::json& json_;
  const std::string what_;
  std::set<std::string> taken_;
};

// Returns INVALID_ARGUMENT for a value that is valid in TensorFlow but not
// implemented in these checks.
absl::Status UnknownHere(absl::string_view what);

// The only field of a JSON object, such as {"min_max_variable": {...}}.
struct OnlyField {
  std::string name;
  const nlohmann::json& value;
};
absl::StatusOr<OnlyField> OnlyFieldOf(const nlohmann::json& json,
                                      absl::string_view what);

}  // namespace weft::conformance

#endif  // WEFT_TOOLS_CONFORMANCE_ESTIMATOR_FIELDS_H_
