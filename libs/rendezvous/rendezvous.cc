#include "libs/rendezvous/rendezvous.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/exceptions.h"
#include "libs/base/reserve.h"

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

absl::Status LocalRendezvous::Send(const RendezvousKey& key, Tensor tensor,
                                   bool is_dead) {
  switch (SendOrKeep(key, tensor, is_dead)) {
    case Sent::kYes:
      return absl::OkStatus();
    case Sent::kAborted: {
      absl::MutexLock lock(&mutex_);
      return aborted_;
    }
    case Sent::kTwice:
      break;
  }
  return absl::InternalError(
      absl::StrCat(Describe(key), " was sent twice in one step"));
}

LocalRendezvous::Sent LocalRendezvous::SendOrKeep(const RendezvousKey& key,
                                                  Tensor& tensor,
                                                  bool is_dead) {
  Receiver receiver;
  {
    absl::MutexLock lock(&mutex_);
    if (!aborted_.ok()) return Sent::kAborted;
    ReserveInTable(meetings_);
    const auto found = meetings_.try_emplace(key).first;
    Meeting& meeting = found->second;
    if (meeting.sent) return Sent::kTwice;
    meeting.sent = true;
    if (!meeting.received) {
      meeting.tensor = std::move(tensor);
      meeting.is_dead = is_dead;
      return Sent::kYes;
    }
    receiver = std::exchange(meeting.receiver, nullptr);
    Finish(found);
  }
  receiver(absl::OkStatus(), std::move(tensor), is_dead);
  return Sent::kYes;
}

void LocalRendezvous::Receive(const RendezvousKey& key, Receiver receiver) {
  absl::Status status;
  Tensor tensor;
  bool is_dead = false;
  {
    absl::MutexLock lock(&mutex_);
    status = aborted_;
    // On failure too, the receiver is called below.
    if (status.ok()) status = ReserveMeeting();
    const auto found =
        status.ok() ? meetings_.try_emplace(key).first : meetings_.end();
    if (status.ok() && found->second.received) {
      status = absl::InternalError(
          absl::StrCat(Describe(key), " was received twice in one step"));
    } else if (status.ok()) {
      Meeting& meeting = found->second;
      meeting.received = true;
      if (!meeting.sent) {
        meeting.receiver = std::move(receiver);
        return;
      }
      tensor = std::move(meeting.tensor);
      is_dead = meeting.is_dead;
      Finish(found);
    }
  }
  receiver(std::move(status), std::move(tensor), is_dead);
}

absl::Status LocalRendezvous::ReserveMeeting() {
  return CatchExceptions([this] {
    mutex_.AssertHeld();
    ReserveInTable(meetings_);
    return absl::OkStatus();
  });
}

// Entries outside loops are as many as the graph has edges: they stay, empty,
// so that a second Send or Receive is detected.
void LocalRendezvous::Finish(Meetings::iterator meeting) {
  if (meeting->first.is_in_loop()) meetings_.erase(meeting);
}

// Values that were sent are kept until the destructor: freeing large ones takes
// time, which the aborting thread may not have.
void LocalRendezvous::Abort(absl::Status cause) {
  std::vector<std::pair<RendezvousKey, Receiver>> receivers;
  {
    absl::MutexLock lock(&mutex_);
    if (!aborted_.ok()) return;
    aborted_ = cause;
    for (auto& [key, meeting] : meetings_) {
      if (!meeting.receiver) continue;
      receivers.emplace_back(key, std::exchange(meeting.receiver, nullptr));
    }
  }
  // Sorted, so that a simulation is reproducible.
  std::sort(receivers.begin(), receivers.end(),
            [](const auto& a, const auto& b) {
              return std::tie(a.first.edge, a.first.frame, a.first.iteration) <
                     std::tie(b.first.edge, b.first.frame, b.first.iteration);
            });
  for (auto& [key, receiver] : receivers) receiver(cause, Tensor(), false);
}

size_t LocalRendezvous::num_meetings() const {
  absl::MutexLock lock(&mutex_);
  return meetings_.size();
}

}  // namespace weft
