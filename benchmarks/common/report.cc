#include "benchmarks/common/report.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace weft::benchmarks {
namespace {

constexpr char kVersion[] = "0.1";

#ifdef NDEBUG
constexpr bool kOptimized = true;
#else
constexpr bool kOptimized = false;
#endif

}  // namespace

double Now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

double Timing::Quantile(double q) const {
  if (seconds.empty()) return 0;
  const size_t i = static_cast<size_t>(q * static_cast<double>(seconds.size()));
  return seconds[std::min(i, seconds.size() - 1)];
}

Timing Measure(const std::function<void()>& step, int steps, int warmup,
               double max_seconds) {
  for (int i = 0; i < warmup; ++i) step();
  Timing timing;
  timing.seconds.reserve(steps);
  const double begin = Now();
  double last = begin;
  while (static_cast<int>(timing.seconds.size()) < steps &&
         last - begin < max_seconds) {
    step();
    const double now = Now();
    timing.seconds.push_back(now - last);
    last = now;
  }
  timing.steps_per_second =
      static_cast<double>(timing.seconds.size()) / (last - begin);
  std::sort(timing.seconds.begin(), timing.seconds.end());
  return timing;
}

double RateOfThreads(Scheduler& scheduler, int threads,
                     const std::function<void(int)>& step, double seconds) {
  const auto all_ended = scheduler.NewEvent();
  std::atomic<int64_t> steps{0};
  std::atomic<int> running{threads};
  const double begin = Now();
  for (int i = 0; i < threads; ++i) {
    scheduler.Schedule(Pool::kBlocking, [&, i] {
      int64_t own_steps = 0;
      for (; Now() - begin < seconds; ++own_steps) step(i);
      steps += own_steps;
      if (--running == 0) all_ended->Set();
    });
  }
  all_ended->Wait();
  return static_cast<double>(steps) / (Now() - begin);
}

void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}

void Refuse(const std::string& sentence) {
  std::fprintf(stderr, "%s\n", sentence.c_str());
  std::exit(2);
}

void Report::Param(const std::string& name, double value) {
  params_.emplace_back(name, value);
}

void Report::Param(const std::string& name, const std::string& value) {
  params_.emplace_back(name, value);
}

void Report::Latency(const std::string& name, const Timing& timing) {
  const double median = timing.Quantile(0.5) * 1e6;
  const double p99 = timing.Quantile(0.99) * 1e6;
  std::printf("%-28s %12.3f us   p99 %.3f us\n", name.c_str(), median, p99);
  metrics_.push_back({name, median, p99, "us"});
}

void Report::Value(const std::string& name, double value,
                   const std::string& unit, const std::string& goal) {
  std::printf("%-28s %12.6g %s%s%s\n", name.c_str(), value, unit.c_str(),
              goal.empty() ? "" : "   goal ", goal.c_str());
  metrics_.push_back({name, value, -1, unit});
}

void Report::Finish(bool json) const {
  if (!json) return;
  nlohmann::ordered_json out;
  out["workload"] = workload_;
  out["weft"] = kVersion;
  out["optimized"] = kOptimized;
  out["params"] = nlohmann::ordered_json::object();
  for (const auto& [name, value] : params_) {
    nlohmann::ordered_json& param = out["params"][name];
    std::visit([&param](const auto& v) { param = v; }, value);
  }
  out["results"] = nlohmann::ordered_json::object();
  for (const Metric& metric : metrics_) {
    auto& result = out["results"][metric.name];
    result["median"] = metric.median;
    if (metric.p99 >= 0) result["p99"] = metric.p99;
    result["unit"] = metric.unit;
  }
  std::printf("%s\n", out.dump().c_str());
}

}  // namespace weft::benchmarks
