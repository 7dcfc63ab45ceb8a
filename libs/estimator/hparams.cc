#include "libs/estimator/hparams.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "libs/base/keys_of.h"
#include "libs/base/status.h"

namespace weft::estimator {
namespace {

using Value = HParams::Value;

const char* TypeName(const Value& value) {
  static constexpr const char* kNames[] = {
      "a bool",           "an integer",         "a float",
      "a string",         "a list of integers", "a list of floats",
      "a list of strings"};
  return kNames[value.index()];
}

absl::Status Wrong(absl::string_view name, const Value& wanted,
                   absl::string_view given) {
  return absl::InvalidArgumentError(
      absl::StrCat("Hyperparameter '", name, "' is ", TypeName(wanted),
                   ", which '", given, "' is not."));
}

bool ParseItem(absl::string_view text, bool& item) {
  return absl::SimpleAtob(text, &item);
}
bool ParseItem(absl::string_view text, int64_t& item) {
  return absl::SimpleAtoi(text, &item);
}
bool ParseItem(absl::string_view text, double& item) {
  return absl::SimpleAtod(text, &item);
}
bool ParseItem(absl::string_view text, std::string& item) {
  item = std::string(text);
  return true;
}

template <typename T>
bool ParseItem(absl::string_view text, std::vector<T>& list) {
  if (!absl::ConsumePrefix(&text, "[") || !absl::ConsumeSuffix(&text, "]")) {
    return false;
  }
  list.clear();
  if (absl::StripAsciiWhitespace(text).empty()) return true;
  for (absl::string_view item : absl::StrSplit(text, ',')) {
    if (!ParseItem(absl::StripAsciiWhitespace(item), list.emplace_back())) {
      return false;
    }
  }
  return true;
}

// Removes "name=value" and a following comma from the front of `text`. Returns
// false if there is no assignment.
bool TakeAssignment(absl::string_view& text, absl::string_view& name,
                    absl::string_view& value) {
  const size_t equals = text.find('=');
  if (equals == absl::string_view::npos) return false;
  name = absl::StripAsciiWhitespace(text.substr(0, equals));
  text = absl::StripLeadingAsciiWhitespace(text.substr(equals + 1));
  const bool is_list = absl::StartsWith(text, "[");
  size_t end = is_list ? text.find(']') : text.find(',');
  if (is_list && end == absl::string_view::npos) return false;
  if (is_list) ++end;
  value = absl::StripAsciiWhitespace(text.substr(0, end));
  text = end == absl::string_view::npos ? "" : text.substr(end);
  text = absl::StripLeadingAsciiWhitespace(text);
  return text.empty() || absl::ConsumePrefix(&text, ",");
}

absl::Status ParseInto(absl::string_view name, absl::string_view text,
                       Value& value) {
  const bool parsed =
      std::visit([&](auto& held) { return ParseItem(text, held); }, value);
  return parsed ? absl::OkStatus() : Wrong(name, value, text);
}

}  // namespace

absl::Status HParams::AddHParam(const std::string& name, Value value) {
  if (values_.emplace(name, std::move(value)).second) return absl::OkStatus();
  return absl::AlreadyExistsError(
      absl::StrCat("Hyperparameter name is reserved: ", name,
                   "; it was added before. Set it instead."));
}

absl::Status HParams::SetHParam(const std::string& name, Value value) {
  const auto found = values_.find(name);
  if (found == values_.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("There is no hyperparameter '", name,
                     "'; there are: ", KeysOf(values_), "."));
  }
  if (std::holds_alternative<double>(found->second) &&
      std::holds_alternative<int64_t>(value)) {
    value = static_cast<double>(std::get<int64_t>(value));
  }
  if (found->second.index() != value.index()) {
    return absl::InvalidArgumentError(
        absl::StrCat("Hyperparameter '", name, "' is ", TypeName(found->second),
                     ", but was to be set to ", TypeName(value), "."));
  }
  found->second = std::move(value);
  return absl::OkStatus();
}

absl::Status HParams::Parse(absl::string_view text) {
  const absl::string_view all = text;
  std::map<std::string, Value> parsed;
  while (!absl::StripAsciiWhitespace(text).empty()) {
    absl::string_view name, value;
    if (!TakeAssignment(text, name, value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("Could not parse hparam values: '", all,
                       "'; give them as name=value,other=[1,2]."));
    }
    const auto known = values_.find(std::string(name));
    if (known == values_.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Unknown hyperparameter '", name, "' in '", all,
                       "'; there are: ", KeysOf(values_), "."));
    }
    const auto [place, is_new] = parsed.emplace(*known);
    if (!is_new) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Multiple assignments to variable '", name, "' in ", all, "."));
    }
    RETURN_IF_ERROR(ParseInto(name, value, place->second));
  }
  for (auto& [name, value] : parsed) values_[name] = std::move(value);
  return absl::OkStatus();
}

}  // namespace weft::estimator
