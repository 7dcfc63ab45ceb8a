// NodeTrace records the runs of the nodes of a traced step. Internal to this
// module.
//
// Threads: thread-safe; immutable except for the DeviceTrace. Creating one
// costs nothing, however many nodes there are: threads that read the bus begin
// steps.
#ifndef WEFT_LIBS_EXECUTOR_NODE_TRACE_H_
#define WEFT_LIBS_EXECUTOR_NODE_TRACE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "libs/base/clock.h"
#include "libs/executor/plan.h"
#include "libs/trace/device_trace.h"

namespace weft {

class NodeTrace {
 public:
  // All arguments must outlive this object.
  NodeTrace(const PlanImpl& plan, DeviceTrace& trace, const Clock& clock)
      : plan_(plan), trace_(trace), clock_(clock) {}

  absl::Time Now() const { return clock_.Now(); }

  // Records that a node has run since `begin`, on this thread unless it is
  // asynchronous. `sent_bytes` is the size of the value of a _Send. The outputs
  // of a dead node are not accessed.
  void NodeRan(const NodeItem& item, absl::Time begin, size_t sent_bytes,
               const Slot* outputs, bool is_dead);

 private:
  std::string LabelOf(const NodeItem& item, size_t bytes) const;
  // Returns the names of the node's inputs, except for constants in its slots.
  std::vector<std::string> InputsOf(size_t node) const;

  const PlanImpl& plan_;
  DeviceTrace& trace_;
  const Clock& clock_;
};

}  // namespace weft

#endif  // WEFT_LIBS_EXECUTOR_NODE_TRACE_H_
