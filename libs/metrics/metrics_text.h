// MetricsText collects the current metrics, in the Prometheus format.
//
// Format: Prometheus's text exposition format, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/), written by
// prometheus-cpp. Names must follow its documentation: the unit at the end
// ("_seconds", "_bytes"), "_total" at the end of counters.
//
// MetricsText is a plain value and is not synchronized.
#ifndef WEFT_LIBS_METRICS_METRICS_TEXT_H_
#define WEFT_LIBS_METRICS_METRICS_TEXT_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "libs/metrics/histogram.h"

namespace weft {

class MetricsText {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  // The content type of the text for Prometheus.
  static constexpr char kContentType[] =
      "text/plain; version=0.0.4; charset=utf-8";

  // `common` are labels that each metric gets.
  explicit MetricsText(Labels common);
  ~MetricsText();

  // Adds a counter. A metric may be added several times with different
  // `labels`. Its first help text is used. REQUIRES: each name is used for one
  // kind of metric, help is one line, and label values are UTF-8.
  void AddCounter(absl::string_view name, absl::string_view help, double value,
                  const Labels& labels = {});
  void AddGauge(absl::string_view name, absl::string_view help, double value,
                const Labels& labels = {});
  void AddHistogram(absl::string_view name, absl::string_view help,
                    const Histogram& histogram, const Labels& labels = {});

  // Returns the text, sorted by the names of the metrics.
  std::string ToString() const;

 private:
  class Families;

  const Labels common_;
  const std::unique_ptr<Families> families_;
};

}  // namespace weft

#endif  // WEFT_LIBS_METRICS_METRICS_TEXT_H_
