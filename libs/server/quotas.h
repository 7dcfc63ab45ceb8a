// Quotas limit what one peer and one session may make a task hold. What would
// exceed one fails with RESOURCE_EXHAUSTED and does not wait; see
// docs/operations/quotas.md.
#ifndef WEFT_LIBS_SERVER_QUOTAS_H_
#define WEFT_LIBS_SERVER_QUOTAS_H_

#include <cstdint>

#include "libs/bus/transport.h"
#include "libs/master/session_quotas.h"

namespace weft {

struct Quotas {
  // Limits per connection of another task or a client. A server that shares a
  // Process has the limits of the Process (ProcessOptions::transport).
  uint64_t max_held_bytes_per_peer = uint64_t{8} << 30;
  uint64_t max_unsent_bytes_per_peer = uint64_t{8} << 30;
  int max_requests_per_peer = 65536;
  int max_requests_per_client = 16384;
  // Limit per task.
  int max_connections = 4096;
  // Limits per session.
  int64_t max_fed_bytes_per_session = int64_t{8} << 30;
  int64_t max_unclaimed_bytes_per_session = int64_t{8} << 30;
  int64_t max_graph_bytes_per_session = int64_t{4} << 30;
  int64_t max_callables_per_session = 65536;
  int64_t max_registered_bytes_per_session = int64_t{8} << 30;
  // Limits per client, and of all clients together.
  int64_t max_sessions_per_client = 16384;
  int64_t max_sessions = 65536;
  // Limit of the masters of all tasks together.
  int64_t max_worker_sessions = 131072;
  // Limits per client of a checkpoint writer, and of all clients together.
  int max_open_files_per_client = 128;
  int max_open_files = 512;

  bus::TransportOptions OfPeers() const {
    bus::TransportOptions options;
    options.max_held_bytes_per_peer = max_held_bytes_per_peer;
    options.max_unsent_bytes_per_peer = max_unsent_bytes_per_peer;
    options.max_requests_per_peer = max_requests_per_peer;
    options.max_requests_per_client = max_requests_per_client;
    options.max_connections = max_connections;
    return options;
  }
  SessionQuotas OfSessions() const {
    return {.max_fed_bytes = max_fed_bytes_per_session,
            .max_graph_bytes = max_graph_bytes_per_session,
            .max_callables = max_callables_per_session};
  }
};

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_QUOTAS_H_
