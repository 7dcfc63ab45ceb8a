#include "libs/trace/device_trace.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "libs/base/scheduler/thread_name.h"

namespace weft {
namespace {

// Replaces characters that are not printable ASCII in a thread's name. The
// program's own threads may have any names, and names may be cut within a
// character. Protobuf's readers refuse text that is not UTF-8.
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
  // After the first omitted entry, all later entries are omitted as well, so
  // the trace has no gaps.
  if (!IsFull() && bytes <= bytes_left_) {
    bytes_left_ -= bytes;
    stats_.node_stats.push_back(std::move(stats));
    return;
  }
  LeaveOut(stats.start_nanos);
}

void DeviceTrace::AddOmitted(int64_t start_nanos) {
  absl::MutexLock lock(&mutex_);
  LeaveOut(start_nanos);
}

void DeviceTrace::LeaveOut(int64_t start_nanos) {
  left_out_.fetch_add(1, std::memory_order_relaxed);
  last_start_ = start_nanos;
}

uint32_t DeviceTrace::ThisThread() {
  const auto [it, is_new] = threads_.emplace(
      ThisThreadId(), static_cast<uint32_t>(threads_.size() + 1));
  if (is_new) stats_.thread_names[it->second] = PlainText(ThisThreadName());
  return it->second;
}

DeviceStepStats DeviceTrace::Take() {
  absl::MutexLock lock(&mutex_);
  if (IsFull()) {
    stats_.node_stats.push_back(OmittedRuns(left_out_.load(), last_start_));
  }
  return std::move(stats_);
}

}  // namespace weft
