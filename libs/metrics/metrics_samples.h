// MetricsSamples are the parsed Prometheus metrics of a process.
//
// MetricsSamples is a plain value and is not synchronized.
#ifndef WEFT_LIBS_METRICS_METRICS_SAMPLES_H_
#define WEFT_LIBS_METRICS_METRICS_SAMPLES_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft {

class MetricsSamples {
 public:
  using Labels = std::map<std::string, std::string>;

  // Parses metrics in Prometheus's text format, version 0.0.4. `text` comes
  // from another process. INVALID_ARGUMENT names the first malformed line.
  static absl::StatusOr<MetricsSamples> Parse(absl::string_view text);

  // Returns the sum of all samples of metric `name` that include these labels,
  // or nothing if there is no such sample.
  std::optional<double> Sum(absl::string_view name,
                            const Labels& labels = {}) const;
  // Returns the value of `label` in the first sample that has this label, or ""
  // if no sample has it.
  std::string FirstLabel(const std::string& label) const;

 private:
  struct Sample {
    std::string name;
    Labels labels;
    double value = 0;
  };
  static absl::StatusOr<Sample> ParseLine(absl::string_view line);

  std::vector<Sample> samples_;
};

}  // namespace weft

#endif  // WEFT_LIBS_METRICS_METRICS_SAMPLES_H_
