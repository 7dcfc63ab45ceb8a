#include "libs/metrics/metrics_samples.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"

namespace weft {
namespace {

bool IsNameCharacter(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
         c == ':';
}

std::string TakeName(absl::string_view& rest) {
  const auto end = std::find_if_not(rest.begin(), rest.end(), IsNameCharacter);
  std::string name(rest.substr(0, static_cast<size_t>(end - rest.begin())));
  rest.remove_prefix(name.size());
  return name;
}

// Reads a quoted value after its first quote. The value may contain \\, \" and
// \n. Returns false if the closing quote is missing.
bool TakeValue(absl::string_view& rest, std::string& value) {
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    if (c == '"') return true;
    if (c != '\\') {
      value += c;
    } else if (!rest.empty()) {
      value += rest.front() == 'n' ? '\n' : rest.front();
      rest.remove_prefix(1);
    }
  }
  return false;
}

// Reads labels such as "{a="b",c="d"}", or nothing if there are no labels.
bool TakeLabels(absl::string_view& rest, MetricsSamples::Labels& labels) {
  if (!absl::ConsumePrefix(&rest, "{")) return true;
  while (!absl::ConsumePrefix(&rest, "}")) {
    const std::string name = TakeName(rest);
    if (name.empty() || !absl::ConsumePrefix(&rest, "=\"")) return false;
    std::string value;
    if (!TakeValue(rest, value)) return false;
    labels[name] = std::move(value);
    if (!absl::ConsumePrefix(&rest, ",") && rest.substr(0, 1) != "}") {
      return false;
    }
  }
  return true;
}

absl::Status NoSample(absl::string_view line) {
  return absl::InvalidArgumentError(
      absl::StrCat("\"", absl::CHexEscape(line.substr(0, 80)),
                   "\" is not a line of metrics"));
}

}  // namespace

absl::StatusOr<MetricsSamples::Sample> MetricsSamples::ParseLine(
    absl::string_view line) {
  Sample sample;
  absl::string_view rest = line;
  sample.name = TakeName(rest);
  if (sample.name.empty() || !TakeLabels(rest, sample.labels)) {
    return NoSample(line);
  }
  // A timestamp may follow the value.
  const std::vector<absl::string_view> words =
      absl::StrSplit(rest, absl::ByAnyChar(" \t"), absl::SkipEmpty());
  if (words.empty() || words.size() > 2 ||
      !absl::SimpleAtod(words[0], &sample.value)) {
    return NoSample(line);
  }
  return sample;
}

absl::StatusOr<MetricsSamples> MetricsSamples::Parse(absl::string_view text) {
  MetricsSamples samples;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (line.empty() || line.front() == '#') continue;
    ASSIGN_OR_RETURN(Sample sample, ParseLine(line));
    samples.samples_.push_back(std::move(sample));
  }
  return samples;
}

std::optional<double> MetricsSamples::Sum(absl::string_view name,
                                          const Labels& labels) const {
  std::optional<double> sum;
  for (const Sample& sample : samples_) {
    if (sample.name != name) continue;
    const bool has_all =
        std::includes(sample.labels.begin(), sample.labels.end(),
                      labels.begin(), labels.end());
    if (has_all) sum = sum.value_or(0) + sample.value;
  }
  return sum;
}

std::string MetricsSamples::FirstLabel(const std::string& label) const {
  for (const Sample& sample : samples_) {
    const auto found = sample.labels.find(label);
    if (found != sample.labels.end()) return found->second;
  }
  return "";
}

}  // namespace weft
