#include "libs/protocol/peer_checks.h"

#include "absl/strings/str_cat.h"

namespace weft::protocol {
namespace {

std::string NameOf(const bus::Peer& peer) {
  if (peer.identity.task.empty()) return "A client";
  return absl::StrCat(peer.identity.task, " (incarnation ",
                      peer.identity.incarnation, ")");
}

}  // namespace

absl::Status CheckIsMaster(const bus::Peer& peer, uint64_t master_incarnation) {
  if (peer.identity.incarnation == master_incarnation) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(NameOf(peer),
                   " requests an operation that is reserved for the master "
                   "with incarnation ",
                   master_incarnation, "."));
}

absl::Status CheckIsOther(const bus::Peer& peer, uint64_t own_incarnation) {
  if (peer.identity.incarnation != own_incarnation) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat(NameOf(peer),
                   " names the incarnation of the process that it connects to. "
                   "Each process must draw its own."));
}

absl::Status CheckIsOneTask(uint64_t incarnation, const std::string& task,
                            const std::string& known_task) {
  if (known_task.empty() || task == known_task) return absl::OkStatus();
  return absl::UnavailableError(absl::StrCat(
      "A process says that it is ", task, " and has the incarnation ",
      incarnation, ", which is that of ", known_task,
      ". Each process must draw its own, and be one task."));
}

absl::Status CheckIsTask(const bus::Peer& peer) {
  if (!peer.identity.task.empty()) return absl::OkStatus();
  return absl::PermissionDeniedError(
      "A client requests an operation that only tasks of the cluster may "
      "request. Use the master of a session instead.");
}

absl::Status CheckIsProcess(const bus::Peer& peer, const std::string& task,
                            uint64_t incarnation) {
  if (peer.identity.task == task && peer.identity.incarnation == incarnation) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      absl::StrCat(NameOf(peer), " acts for ", task, " (incarnation ",
                   incarnation, "). A task may act only for itself."));
}

absl::Status CheckMayAbort(const bus::Peer& peer, uint64_t master_incarnation,
                           uint64_t steps_finished_below) {
  absl::Status is_task = CheckIsTask(peer);
  if (!is_task.ok() || steps_finished_below == 0) return is_task;
  return CheckIsMaster(peer, master_incarnation);
}

}  // namespace weft::protocol
