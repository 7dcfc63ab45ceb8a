#include "libs/cluster/device_name.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "libs/base/status.h"

namespace weft {
namespace {

// Returns whether the text is a letter followed by letters, digits and "_".
bool IsWord(absl::string_view text) {
  return !text.empty() && absl::ascii_isalpha(text[0]) &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return absl::ascii_isalnum(c) || c == '_'; });
}

absl::StatusOr<std::optional<std::string>> ParseWord(absl::string_view text) {
  if (text == "*") return std::nullopt;
  if (!IsWord(text)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not a valid name"));
  }
  return std::string(text);
}

absl::StatusOr<std::optional<int>> ParseNumber(absl::string_view text) {
  if (text == "*") return std::nullopt;
  int value;
  if (text.empty() || !absl::ascii_isdigit(text[0]) ||
      !absl::SimpleAtoi(text, &value)) {
    return absl::InvalidArgumentError(
        absl::StrCat("'", text, "' is not a number"));
  }
  return value;
}

bool IsLegacyType(absl::string_view text) {
  return text == "cpu" || text == "gpu" || text == "CPU" || text == "GPU";
}

// Parses the device part of a name; `fields` are {"CPU"} or {"CPU", "0"}, for
// example.
absl::Status ParseDevice(absl::Span<const absl::string_view> fields,
                         DeviceName& name) {
  if (name.type || name.index) {
    return absl::InvalidArgumentError(absl::StrCat(
        "Cannot specify multiple device types: ", name.type.value_or("*"),
        " and ", fields[0]));
  }
  ASSIGN_OR_RETURN(name.type, ParseWord(fields[0]));
  if (name.type && IsLegacyType(*name.type)) absl::AsciiStrToUpper(&*name.type);
  if (fields.size() == 2) {
    ASSIGN_OR_RETURN(name.index, ParseNumber(fields[1]));
  }
  return absl::OkStatus();
}

absl::Status ParsePart(absl::string_view part, DeviceName& name) {
  const std::vector<absl::string_view> fields = absl::StrSplit(part, ':');
  const absl::string_view key = fields[0];
  if (key == "device" && (fields.size() == 2 || fields.size() == 3)) {
    return ParseDevice(absl::MakeSpan(fields).subspan(1), name);
  }
  if (IsLegacyType(key) && fields.size() <= 2) {
    return ParseDevice(fields, name);
  }
  if (fields.size() == 2 && key == "job") {
    ASSIGN_OR_RETURN(name.job, ParseWord(fields[1]));
    return absl::OkStatus();
  }
  if (fields.size() == 2 && (key == "replica" || key == "task")) {
    ASSIGN_OR_RETURN((key == "task" ? name.task : name.replica),
                     ParseNumber(fields[1]));
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("Unknown attribute: '", key, "'"));
}

// Returns true unless both are set and differ.
template <typename T>
bool Agree(const std::optional<T>& a, const std::optional<T>& b) {
  return !a || !b || *a == *b;
}

template <typename T>
bool Specifies(const std::optional<T>& a, const std::optional<T>& b) {
  return !a || a == b;
}

template <typename T>
void TakeIfOpen(std::optional<T>& into, const std::optional<T>& from) {
  if (!into) into = from;
}

void TakeOpenParts(DeviceName& into, const DeviceName& from) {
  TakeIfOpen(into.job, from.job);
  TakeIfOpen(into.replica, from.replica);
  TakeIfOpen(into.task, from.task);
  TakeIfOpen(into.type, from.type);
  TakeIfOpen(into.index, from.index);
}

absl::Status Incompatible(absl::string_view what, const DeviceName& a,
                          const DeviceName& b) {
  return absl::InvalidArgumentError(
      absl::StrCat("Cannot merge devices with incompatible ", what, ": '",
                   a.ToString(), "' and '", b.ToString(), "'"));
}

}  // namespace

absl::StatusOr<DeviceName> DeviceName::Parse(absl::string_view name) {
  DeviceName result;
  for (absl::string_view part : absl::StrSplit(name, '/')) {
    if (part.empty()) continue;
    if (absl::Status status = ParsePart(part, result); !status.ok()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Malformed device specification '", name,
                       "': ", status.message(), " in '", part, "'"));
    }
  }
  return result;
}

bool DeviceName::IsFull() const { return HasTask() && type && index; }

std::string DeviceName::ToString() const {
  std::string result;
  if (job) absl::StrAppend(&result, "/job:", *job);
  if (replica) absl::StrAppend(&result, "/replica:", *replica);
  if (task) absl::StrAppend(&result, "/task:", *task);
  if (type || index) {
    absl::StrAppend(&result, "/device:", type.value_or("*"), ":",
                    index ? absl::StrCat(*index) : "*");
  }
  return result;
}

bool DeviceName::IsSpecificationOf(const DeviceName& other) const {
  return Specifies(job, other.job) && Specifies(replica, other.replica) &&
         Specifies(task, other.task) && Specifies(type, other.type) &&
         Specifies(index, other.index);
}

bool DeviceName::IsCompatibleWith(const DeviceName& other) const {
  return Agree(job, other.job) && Agree(replica, other.replica) &&
         Agree(task, other.task) && Agree(type, other.type) &&
         Agree(index, other.index);
}

absl::Status DeviceName::MergeFrom(const DeviceName& other,
                                   bool soft_placement) {
  if (!Agree(job, other.job)) return Incompatible("jobs", *this, other);
  if (!Agree(replica, other.replica)) {
    return Incompatible("replicas", *this, other);
  }
  if (!Agree(task, other.task)) return Incompatible("tasks", *this, other);
  const bool same_type = Agree(type, other.type);
  const bool same_index = Agree(index, other.index);
  if (!soft_placement) {
    if (!same_type) return Incompatible("types", *this, other);
    if (!same_index) return Incompatible("ids", *this, other);
  }
  TakeOpenParts(*this, other);
  if (!same_type) type.reset();
  if (!same_type || !same_index) index.reset();
  return absl::OkStatus();
}

DeviceName DeviceName::OverriddenBy(const DeviceName& inner) const {
  DeviceName result = inner;
  TakeOpenParts(result, *this);
  return result;
}

}  // namespace weft
