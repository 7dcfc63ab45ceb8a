// Queues have no gradient: what comes out of one is data.
#include "absl/strings/str_cat.h"
#include "libs/gradients/gradient_registry.h"

namespace weft {

void RegisterQueueGradients(GradientRegistry& registry) {
  for (const char* op :
       {"FIFOQueue", "PaddingFIFOQueue", "RandomShuffleQueue", "PriorityQueue",
        "QueueEnqueue", "QueueEnqueueMany", "QueueDequeue", "QueueDequeueMany",
        "QueueDequeueUpTo", "QueueClose", "QueueSize", "QueueIsClosed"}) {
    registry.RegisterNone(op);
    registry.RegisterNone(absl::StrCat(op, "V2"));
  }
}

}  // namespace weft
