#include "libs/trace/device_trace.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "libs/base/thread_name.h"

namespace weft {
namespace {

size_t BytesOf(const NodeExecStats& stats) {
  size_t bytes =
      sizeof(stats) + stats.node_name.size() + stats.timeline_label.size();
  for (const OutputStats& output : stats.output) {
    bytes += sizeof(output) + output.dims.size() * sizeof(int64_t);
  }
  return bytes;
}

// A program's own thread may be called anything, and the name may be cut within
// a character; protobuf's readers refuse text that is no UTF-8.
std::string PlainText(std::string name) {
  for (char& c : name) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  return name;
}

}  // namespace

DeviceTrace::DeviceTrace(std::string device, size_t max_bytes)
    : bytes_left_(max_bytes) {
  stats_.device = std::move(device);
}

void DeviceTrace::AddOnThread(NodeExecStats stats) {
  absl::MutexLock lock(&mutex_);
  stats.thread_id = ThisThread();
  Add(std::move(stats));
}

void DeviceTrace::AddWait(NodeExecStats stats) {
  absl::MutexLock lock(&mutex_);
  stats.thread_id = 0;
  stats_.thread_names.try_emplace(0, "waits");
  Add(std::move(stats));
}

void DeviceTrace::Add(NodeExecStats stats) {
  const size_t bytes = BytesOf(stats);
  // Once one was left out, all are: what there is has no holes.
  if (left_out_ == 0 && bytes <= bytes_left_) {
    bytes_left_ -= bytes;
    stats_.node_stats.push_back(std::move(stats));
    return;
  }
  ++left_out_;
  last_start_ = stats.start_nanos;
}

uint32_t DeviceTrace::ThisThread() {
  const auto [it, is_new] = threads_.emplace(
      ThisThreadId(), static_cast<uint32_t>(threads_.size() + 1));
  if (is_new) stats_.thread_names[it->second] = PlainText(ThisThreadName());
  return it->second;
}

DeviceStepStats DeviceTrace::Take() {
  absl::MutexLock lock(&mutex_);
  if (left_out_ > 0) {
    stats_.node_stats.push_back(
        {.node_name = absl::StrCat(left_out_, " more runs were not recorded"),
         .start_nanos = last_start_,
         .thread_id = 0});
  }
  return std::move(stats_);
}

}  // namespace weft
