#include "libs/server/quota_flags.h"

#include "absl/flags/flag.h"

ABSL_FLAG(uint64_t, max_held_bytes_per_peer,
          weft::Quotas().max_held_bytes_per_peer,
          "Bytes that one connection may make the task hold: unanswered "
          "requests, and attachments being received");
ABSL_FLAG(uint64_t, max_unsent_bytes_per_peer,
          weft::Quotas().max_unsent_bytes_per_peer,
          "Bytes that may wait until one peer reads them");
ABSL_FLAG(int, max_requests_per_peer, weft::Quotas().max_requests_per_peer,
          "Unanswered requests that one connection may have");
ABSL_FLAG(
    int, max_requests_per_client, weft::Quotas().max_requests_per_client,
    "Unanswered requests that one client may have, over all of its "
    "connections; must be lower than max_requests_per_peer of the tasks that "
    "its steps run on");
ABSL_FLAG(int, max_connections, weft::Quotas().max_connections,
          "Connections of clients and other tasks that this task accepts");
ABSL_FLAG(int64_t, max_fed_bytes_per_session,
          weft::Quotas().max_fed_bytes_per_session,
          "Bytes of feeds of all running steps of one session");
ABSL_FLAG(int64_t, max_unclaimed_bytes_per_session,
          weft::Quotas().max_unclaimed_bytes_per_session,
          "Bytes received from other tasks for the steps of one session and "
          "not used yet");
ABSL_FLAG(int64_t, max_graph_bytes_per_session,
          weft::Quotas().max_graph_bytes_per_session,
          "Bytes of the graph of one session, with expanded functions");
ABSL_FLAG(int64_t, max_callables_per_session,
          weft::Quotas().max_callables_per_session,
          "Callables (sets of feeds, fetches and targets) of one session");
ABSL_FLAG(int64_t, max_registered_bytes_per_session,
          weft::Quotas().max_registered_bytes_per_session,
          "Bytes of the graphs that one session has registered at the task");
ABSL_FLAG(int64_t, max_worker_sessions, weft::Quotas().max_worker_sessions,
          "Sessions of all masters that the task may take part in");
ABSL_FLAG(int64_t, max_sessions_per_client,
          weft::Quotas().max_sessions_per_client,
          "Sessions that one client may have open at the task");
ABSL_FLAG(int64_t, max_sessions, weft::Quotas().max_sessions,
          "Sessions that may be open at the task");
ABSL_FLAG(int, max_open_files_per_client,
          weft::Quotas().max_open_files_per_client,
          "Files that one client may have open at a checkpoint writer");
ABSL_FLAG(int, max_open_files, weft::Quotas().max_open_files,
          "Files that may be open at a checkpoint writer");

namespace weft {

Quotas QuotasFromFlags() {
  return {
      .max_held_bytes_per_peer = absl::GetFlag(FLAGS_max_held_bytes_per_peer),
      .max_unsent_bytes_per_peer =
          absl::GetFlag(FLAGS_max_unsent_bytes_per_peer),
      .max_requests_per_peer = absl::GetFlag(FLAGS_max_requests_per_peer),
      .max_requests_per_client = absl::GetFlag(FLAGS_max_requests_per_client),
      .max_connections = absl::GetFlag(FLAGS_max_connections),
      .max_fed_bytes_per_session =
          absl::GetFlag(FLAGS_max_fed_bytes_per_session),
      .max_unclaimed_bytes_per_session =
          absl::GetFlag(FLAGS_max_unclaimed_bytes_per_session),
      .max_graph_bytes_per_session =
          absl::GetFlag(FLAGS_max_graph_bytes_per_session),
      .max_callables_per_session =
          absl::GetFlag(FLAGS_max_callables_per_session),
      .max_registered_bytes_per_session =
          absl::GetFlag(FLAGS_max_registered_bytes_per_session),
      .max_sessions_per_client = absl::GetFlag(FLAGS_max_sessions_per_client),
      .max_sessions = absl::GetFlag(FLAGS_max_sessions),
      .max_worker_sessions = absl::GetFlag(FLAGS_max_worker_sessions),
      .max_open_files_per_client =
          absl::GetFlag(FLAGS_max_open_files_per_client),
      .max_open_files = absl::GetFlag(FLAGS_max_open_files)};
}

}  // namespace weft
