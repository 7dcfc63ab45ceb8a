// Decides which requests a peer may make, based on the identity in its HELLO.
// Services check peers only here. A HELLO is not authenticated yet.
//
// Errors: PERMISSION_DENIED, naming both sides.
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
// and holds belong to one master.
absl::Status CheckIsMaster(const bus::Peer& peer, uint64_t master_incarnation);

// The peer is not this process itself, of that incarnation: under its name a
// peer could create sessions without a lease, and could end all of its steps by
// leaving.
absl::Status CheckIsOther(const bus::Peer& peer, uint64_t own_incarnation);

// A process claims to be `task`, while the other connections of the same
// incarnation claim to be `known_task`, empty if there are none: one process is
// one task. Under another name it would take over the state of the first one
// here. UNAVAILABLE: the first one may be the impostor, and the owner of the
// incarnation must not end because of it; it tries again.
absl::Status CheckIsOneTask(uint64_t incarnation, const std::string& task,
                            const std::string& known_task);

// The peer is a task of the cluster.
absl::Status CheckIsTask(const bus::Peer& peer);

// The peer is this process of this task.
absl::Status CheckIsProcess(const bus::Peer& peer, const std::string& task,
                            uint64_t incarnation);

// Any task may abort one step, for example because a value for it was lost
// there. Only the step's master may report which steps are over.
absl::Status CheckMayAbort(const bus::Peer& peer, uint64_t master_incarnation,
                           uint64_t steps_finished_below);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_PEER_CHECKS_H_
