#include "libs/metrics/metrics_text.h"

#include <map>

#include "prometheus/metric_family.h"
#include "prometheus/text_serializer.h"

namespace weft {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

ClientMetric::Histogram Convert(const Histogram& histogram) {
  const Histogram::Contents contents = histogram.contents();
  ClientMetric::Histogram result;
  result.sample_count = contents.count;
  result.sample_sum = contents.sum;
  for (const Histogram::Range& range : contents.ranges) {
    result.bucket.push_back({range.count, range.end});
  }
  return result;
}

}  // namespace

class MetricsText::Families {
 public:
  ClientMetric& Add(absl::string_view name, absl::string_view help,
                    MetricType type, const Labels& common,
                    const Labels& labels) {
    MetricFamily& family = families_[std::string(name)];
    if (family.metric.empty()) {
      family.name = std::string(name);
      family.help = std::string(help);
      family.type = type;
    }
    ClientMetric& metric = family.metric.emplace_back();
    for (const Labels* some : {&common, &labels}) {
      for (const auto& [label, value] : *some) {
        metric.label.push_back({label, value});
      }
    }
    return metric;
  }

  std::string ToString() const {
    std::vector<MetricFamily> families;
    for (const auto& [name, family] : families_) families.push_back(family);
    return prometheus::TextSerializer().Serialize(families);
  }

 private:
  std::map<std::string, MetricFamily> families_;
};

MetricsText::MetricsText(Labels common)
    : common_(std::move(common)), families_(std::make_unique<Families>()) {}

MetricsText::~MetricsText() = default;

void MetricsText::AddCounter(absl::string_view name, absl::string_view help,
                             double value, const Labels& labels) {
  families_->Add(name, help, MetricType::Counter, common_, labels)
      .counter.value = value;
}

void MetricsText::AddGauge(absl::string_view name, absl::string_view help,
                           double value, const Labels& labels) {
  families_->Add(name, help, MetricType::Gauge, common_, labels).gauge.value =
      value;
}

void MetricsText::AddHistogram(absl::string_view name, absl::string_view help,
                               const Histogram& histogram,
                               const Labels& labels) {
  families_->Add(name, help, MetricType::Histogram, common_, labels).histogram =
      Convert(histogram);
}

std::string MetricsText::ToString() const { return families_->ToString(); }

}  // namespace weft
