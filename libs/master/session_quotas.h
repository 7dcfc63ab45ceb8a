// SessionQuotas are the limits of what one session may make its master hold.
// FedBytes counts the feeds of a session's running steps.
//
// What would exceed a quota is refused with RESOURCE_EXHAUSTED, which names the
// task and the option that raises the quota (docs/operations/quotas.md).
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_MASTER_SESSION_QUOTAS_H_
#define WEFT_LIBS_MASTER_SESSION_QUOTAS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "libs/protocol/master/master.h"
#include "libs/tensor/tensor.h"

namespace weft {

// SessionQuotas are unlimited by default, for sessions in the process of their
// client.
struct SessionQuotas {
  // The bytes of the feeds of the running steps.
  int64_t max_fed_bytes = std::numeric_limits<int64_t>::max();
  // The bytes of all extensions together, as counted by BytesOfGraph.
  int64_t max_graph_bytes = std::numeric_limits<int64_t>::max();
  int64_t max_callables = std::numeric_limits<int64_t>::max();

  // The minimum number of bytes that a node counts.
  static constexpr int64_t kLeastNodeBytes = 512;

  // Returns the size that an extension counts: the sent bytes or, if that is
  // larger, the size of its nodes. `num_nodes` includes the nodes of expanded
  // functions, which take `expanded_bytes` in addition.
  static int64_t BytesOfGraph(size_t sent, int num_nodes,
                              int64_t expanded_bytes);

  absl::Status CheckGraph(int64_t bytes_before, int64_t bytes_more,
                          const std::string& task) const;
  absl::Status CheckCallables(size_t num_before, const std::string& task) const;
};

class FedBytes {
 public:
  // Takes the bytes of the feeds from the quota. Returns how much was taken,
  // for GiveBack. Errors name the largest feed.
  absl::StatusOr<int64_t> Take(absl::Span<const Tensor> feeds, int64_t limit,
                               const protocol::CallableSpec& spec,
                               const std::string& task);
  void GiveBack(int64_t bytes);

 private:
  std::atomic<int64_t> taken_{0};
};

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_SESSION_QUOTAS_H_
