// Decides which requests a peer may make, based on the identity in its HELLO.
// Services check peers only here. A HELLO is not authenticated yet.
//
// Errors: PERMISSION_DENIED, which names both sides.
//
// Threads: functions without state.
#ifndef WEFT_LIBS_PROTOCOL_PEER_CHECKS_H_
#define WEFT_LIBS_PROTOCOL_PEER_CHECKS_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "libs/bus/message.h"

namespace weft::protocol {

// The peer is the master of that incarnation: sessions, registrations, steps
// and holds are those of one master.
absl::Status CheckIsMaster(const bus::Peer& peer, uint64_t master_incarnation);

// The peer is not this process itself, of that incarnation: in its name a peer
// could make sessions that have no lease, and by leaving end all of its steps.
absl::Status CheckIsOther(const bus::Peer& peer, uint64_t own_incarnation);

// A process says that it is `task`, while `known_task` is what the connections
// that the same incarnation has say, empty if it has none: one process is one
// task. Under another name it would take over what the first one has here.
// UNAVAILABLE: the first one may be the liar, and the owner of the incarnation
// must not end for it; it tries again.
absl::Status CheckIsOneTask(uint64_t incarnation, const std::string& task,
                            const std::string& known_task);

// The peer is a task of the cluster.
absl::Status CheckIsTask(const bus::Peer& peer);

// The peer is this process of this task.
absl::Status CheckIsProcess(const bus::Peer& peer, const std::string& task,
                            uint64_t incarnation);

// Any task may abort one step: a value for it is lost there, say. Which steps
// are over is its master's alone to tell.
absl::Status CheckMayAbort(const bus::Peer& peer, uint64_t master_incarnation,
                           uint64_t steps_over_below);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_PEER_CHECKS_H_
