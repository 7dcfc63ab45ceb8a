// Additions to errors of a device with its own memory: which buffers fill its
// memory, and which nodes launched work that failed later. Internal to this
// module.
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

// Returns "; buffers hold ... of its ... bytes: ..." for a device that reports
// its memory, with the largest of the variables in `resources`, which may be
// null; otherwise an empty text. Waits for locks of resources.
std::string DescribeMemory(const Device& device,
                           const ResourceManager* resources);

// LastNodes holds the nodes of a step that ran last.
class LastNodes {
 public:
  static constexpr int kNodes = 4;
  // The last nodes, oldest first; null entries if fewer nodes have run. The
  // nodes live as long as their plan.
  using List = std::array<const NodeItem*, kNodes>;

  void Clear() { count_.store(0, std::memory_order_relaxed); }
  // Adds a node that runs. May be called from any thread; the order of
  // concurrent calls is undefined.
  void Add(const NodeItem& item) {
    const uint32_t at = count_.fetch_add(1, std::memory_order_relaxed);
    nodes_[at % kNodes].store(&item, std::memory_order_relaxed);
  }
  List Get() const;

 private:
  std::atomic<uint32_t> count_{0};
  std::array<std::atomic<const NodeItem*>, kNodes> nodes_{};
};

// Returns "; the last nodes of the step that ran there: a (MatMul), b (Mul)",
// or an empty text.
std::string Describe(const LastNodes::List& nodes);

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_DEVICE_ERRORS_H_
