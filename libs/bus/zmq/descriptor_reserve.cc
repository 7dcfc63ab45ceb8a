#include "libs/bus/zmq/descriptor_reserve.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <limits>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"

namespace weft::bus {
namespace {

// The maximum number of descriptors that accepted connections leave for files,
// for connections to other tasks, and for accepted connections that are about
// to be refused.
constexpr int64_t kMostKept = 64;
// The fraction kept by a process with few descriptors.
constexpr int64_t kKeptPart = 4;
// The minimum interval between reports of a shortage.
constexpr absl::Duration kReportInterval = absl::Minutes(1);
// The maximum number of connections that a listener refuses before other
// listeners are served.
constexpr int kRefusalsInARow = 256;

constexpr char kRemedy[] =
    "raise the hard limit of open files (ulimit -Hn, LimitNOFILE of systemd, "
    "or the limit of the container)";

bool IsReadable(int descriptor) {
  pollfd at = {descriptor, POLLIN, 0};
  return poll(&at, 1, 0) > 0;
}

int NewDescriptor() { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

void CloseIfOpen(int& descriptor) {
  if (descriptor >= 0) close(std::exchange(descriptor, -1));
}

}  // namespace

DescriptorReserve::DescriptorReserve(Scheduler& scheduler, Logger* logger)
    : scheduler_(scheduler), log_(scheduler, logger) {
  absl::MutexLock lock(&mutex_);
  Hold();
}

DescriptorReserve::~DescriptorReserve() {
  absl::MutexLock lock(&mutex_);
  CloseIfOpen(spare_);
  CloseIfOpen(copy_);
  CloseIfOpen(anchor_);
}

int64_t DescriptorReserve::Limit() {
  constexpr int64_t kNone = std::numeric_limits<int64_t>::max();
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kNone;
  return limit.rlim_cur < static_cast<rlim_t>(kNone)
             ? static_cast<int64_t>(limit.rlim_cur)
             : kNone;
}

bool DescriptorReserve::HasRoomFor(int descriptor) {
  const int64_t limit = Limit();
  const int64_t kept = std::min(kMostKept, limit / kKeptPart);
  absl::MutexLock lock(&mutex_);
  bool is_allowed = descriptor < limit - kept;
  if (is_allowed && lost_.contains(descriptor)) {
    is_allowed = HasFreeBelow(limit - kept);
  }
  if (is_allowed) {
    lost_.erase(descriptor);
    NoteRoom();
  } else {
    NoteShortage(/*refused=*/1);
  }
  return is_allowed;
}

absl::Status DescriptorReserve::CheckFree() const {
  const int descriptor = NewDescriptor();
  if (descriptor < 0) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "No further connection can be opened: ",
        std::generic_category().message(errno), "; this process may have ",
        Limit(), " descriptors (files and sockets) open: ", kRemedy));
  }
  close(descriptor);
  return absl::OkStatus();
}

void DescriptorReserve::Hold() {
  if (anchor_ < 0) anchor_ = NewDescriptor();
  for (int* const held : {&copy_, &spare_}) {
    if (*held < 0 && anchor_ >= 0) {
      *held = fcntl(anchor_, F_DUPFD_CLOEXEC, 0);
    }
  }
}

bool DescriptorReserve::HasFreeBelow(int64_t end) {
  Hold();
  int lowest = anchor_ < 0 ? -1 : fcntl(anchor_, F_DUPFD_CLOEXEC, 0);
  const bool has_free = lowest >= 0 && lowest < end;
  CloseIfOpen(lowest);
  return has_free;
}

void DescriptorReserve::WithCopy(int descriptor,
                                 absl::FunctionRef<void(int)> use) {
  absl::MutexLock lock(&mutex_);
  Hold();
  if (copy_ < 0 || dup3(descriptor, copy_, O_CLOEXEC) < 0) return;
  use(copy_);
  dup3(anchor_, copy_, O_CLOEXEC);
}

bool DescriptorReserve::RefuseWaiting(int listener) {
  if (!IsReadable(listener)) return false;
  if (CheckFree().ok()) return true;  // libzmq accepts them
  absl::MutexLock lock(&mutex_);
  Hold();
  if (spare_ >= 0) lost_.insert(spare_);
  CloseIfOpen(spare_);
  int64_t refused = 0;
  while (refused < kRefusalsInARow) {
    const int accepted = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (accepted < 0) break;
    close(accepted);
    ++refused;
  }
  Hold();
  lost_.erase(spare_);
  NoteShortage(refused);
  return IsReadable(listener);
}

void DescriptorReserve::NoteShortage(int64_t refused) {
  refused_ += refused;
  const absl::Time now = scheduler_.clock().Now();
  if (is_short_ || now - reported_ < kReportInterval) return;
  is_short_ = true;
  reported_ = now;
  log_.Log(
      Severity::kWarning,
      absl::StrCat(
          "Nearly all of the ", Limit(),
          " descriptors (files and sockets) that this process may have open "
          "are taken. New connections are refused until some are closed: ",
          kRemedy));
}

void DescriptorReserve::NoteRoom() {
  const int64_t refused = std::exchange(refused_, 0);
  if (!std::exchange(is_short_, false)) return;
  log_.Log(Severity::kInfo,
           absl::StrCat("Accepts connections again after refusing ", refused,
                        " for lack of descriptors"));
}

}  // namespace weft::bus
