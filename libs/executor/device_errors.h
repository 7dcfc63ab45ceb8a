// What errors of a device with memory of its own say besides: whose memory is
// full, and which nodes launched what failed later. Internal to this room.
#ifndef WEFT_LIBS_EXECUTOR_DEVICE_ERRORS_H_
#define WEFT_LIBS_EXECUTOR_DEVICE_ERRORS_H_

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

#include "libs/device/device.h"
#include "libs/executor/plan.h"
#include "libs/resource/resource_manager.h"

namespace weft {

// "; buffers hold ... of its ... bytes: ..." of a device that can tell, with
// the largest of the variables in `resources`, which may be null; else nothing.
// Waits for locks of resources.
std::string DescribeMemory(const Device& device,
                           const ResourceManager* resources);

// The nodes of a step that ran last.
class LastNodes {
 public:
  static constexpr int kNodes = 4;
  // Oldest first; null: there were fewer. They live as long as their plan.
  using List = std::array<const NodeItem*, kNodes>;

  void Clear() { count_.store(0, std::memory_order_relaxed); }
  // Any thread. Of two at once either may be the later one.
  void Add(const NodeItem& item) {
    const uint32_t at = count_.fetch_add(1, std::memory_order_relaxed);
    nodes_[at % kNodes].store(&item, std::memory_order_relaxed);
  }
  List Get() const;

 private:
  std::atomic<uint32_t> count_{0};
  std::array<std::atomic<const NodeItem*>, kNodes> nodes_{};
};

// "; the last nodes of the step that ran there: a (MatMul), b (Mul)", or
// nothing.
std::string Describe(const LastNodes::List& nodes);

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_DEVICE_ERRORS_H_
