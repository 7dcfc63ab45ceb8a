// Queues have no gradient: what comes out of one is data.
#include "libs/gradients/gradient_registry.h"

namespace weft {

void RegisterQueueGradients(GradientRegistry& registry) {
  for (const char* op :
       {"FIFOQueue",          "FIFOQueueV2",        "PaddingFIFOQueue",
        "PaddingFIFOQueueV2", "RandomShuffleQueue", "RandomShuffleQueueV2",
        "PriorityQueue",      "PriorityQueueV2",    "QueueEnqueue",
        "QueueEnqueueV2",     "QueueEnqueueMany",   "QueueEnqueueManyV2",
        "QueueDequeue",       "QueueDequeueV2",     "QueueDequeueMany",
        "QueueDequeueManyV2", "QueueDequeueUpTo",   "QueueDequeueUpToV2",
        "QueueClose",         "QueueCloseV2",       "QueueSize",
        "QueueSizeV2",        "QueueIsClosed",      "QueueIsClosedV2"}) {
    registry.RegisterNone(op);
  }
}

}  // namespace weft
