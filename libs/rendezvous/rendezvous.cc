#include "libs/rendezvous/rendezvous.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

std::string Describe(const RendezvousKey& key) {
  return absl::StrCat("edge ", key.edge, " (frame ", key.frame, ", iteration ",
                      key.iteration, ")");
}

}  // namespace

LocalRendezvous::~LocalRendezvous() {
  Abort(absl::CancelledError("The step's rendezvous was deleted."));
}

// A meeting that is over stays, empty, so that a second Send or Receive of its
// key is noticed.
absl::Status LocalRendezvous::Send(const RendezvousKey& key, Tensor tensor,
                                   bool is_dead) {
  Receiver receiver;
  {
    absl::MutexLock lock(&mutex_);
    if (!aborted_.ok()) return aborted_;
    Meeting& meeting = meetings_[key];
    if (meeting.sent) {
      return absl::InternalError(
          absl::StrCat(Describe(key), " was sent twice in one step"));
    }
    meeting.sent = true;
    if (!meeting.received) {
      meeting.tensor = std::move(tensor);
      meeting.is_dead = is_dead;
      return absl::OkStatus();
    }
    receiver = std::exchange(meeting.receiver, nullptr);
  }
  receiver(absl::OkStatus(), std::move(tensor), is_dead);
  return absl::OkStatus();
}

void LocalRendezvous::Receive(const RendezvousKey& key, Receiver receiver) {
  absl::Status status;
  Tensor tensor;
  bool is_dead = false;
  {
    absl::MutexLock lock(&mutex_);
    status = aborted_;
    Meeting* meeting = status.ok() ? &meetings_[key] : nullptr;
    if (meeting != nullptr && meeting->received) {
      status = absl::InternalError(
          absl::StrCat(Describe(key), " was received twice in one step"));
    } else if (meeting != nullptr) {
      meeting->received = true;
      if (!meeting->sent) {
        meeting->receiver = std::move(receiver);
        return;
      }
      tensor = std::move(meeting->tensor);
      is_dead = meeting->is_dead;
    }
  }
  receiver(std::move(status), std::move(tensor), is_dead);
}

void LocalRendezvous::Abort(absl::Status cause) {
  absl::flat_hash_map<RendezvousKey, Meeting> meetings;
  {
    absl::MutexLock lock(&mutex_);
    if (!aborted_.ok()) return;
    aborted_ = cause;
    meetings.swap(meetings_);
  }
  // In order, so that a simulation repeats.
  std::vector<std::pair<RendezvousKey, Receiver>> receivers;
  for (auto& [key, meeting] : meetings) {
    if (meeting.receiver)
      receivers.emplace_back(key, std::move(meeting.receiver));
  }
  std::sort(receivers.begin(), receivers.end(),
            [](const auto& a, const auto& b) {
              return std::tie(a.first.edge, a.first.frame, a.first.iteration) <
                     std::tie(b.first.edge, b.first.frame, b.first.iteration);
            });
  for (auto& [key, receiver] : receivers) receiver(cause, Tensor(), false);
}

}  // namespace weft
