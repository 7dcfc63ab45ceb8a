// MetricsText: the metrics of one moment, as Prometheus reads them.
//
// Format: Prometheus's text exposition format, version 0.0.4
// (https://prometheus.io/docs/instrumenting/exposition_formats/), written by
// prometheus-cpp. Names are to be as its documentation wants them: the unit at
// the end ("_seconds", "_bytes"), "_total" at the end of counters.
//
// A value, not synchronised.
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

  // What a scraper is to take it for.
  static constexpr char kContentType[] =
      "text/plain; version=0.0.4; charset=utf-8";

  // `common`: labels that each metric gets.
  explicit MetricsText(Labels common);
  ~MetricsText();

  // A metric may be added several times, with other `labels` of its own; its
  // help is that of the first time. REQUIRES: one name is of one kind, help is
  // one line, and label values are UTF-8.
  void AddCounter(absl::string_view name, absl::string_view help, double value,
                  const Labels& labels = {});
  void AddGauge(absl::string_view name, absl::string_view help, double value,
                const Labels& labels = {});
  void AddHistogram(absl::string_view name, absl::string_view help,
                    const Histogram& histogram, const Labels& labels = {});

  // By name.
  std::string ToString() const;

 private:
  class Families;

  const Labels common_;
  const std::unique_ptr<Families> families_;
};

}  // namespace weft

#endif  // WEFT_LIBS_METRICS_METRICS_TEXT_H_
