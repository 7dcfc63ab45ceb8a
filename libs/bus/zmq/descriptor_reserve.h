// DescriptorReserve: what a wire does when its process may have no more
// descriptors (files and sockets) open.
//
// libzmq accepts connections itself. Where no descriptor is free, its thread
// tries again and again, and everything else that this thread does slows down.
// So accepted connections leave the last descriptors free: further ones are
// refused. If these are taken as well, for files or for connections to others,
// connections that wait to be accepted are accepted here, by a descriptor that
// is held for that, and closed. Another is held to shut connections down by.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_BUS_ZMQ_DESCRIPTOR_RESERVE_H_
#define WEFT_LIBS_BUS_ZMQ_DESCRIPTOR_RESERVE_H_

#include <cstdint>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/in_flight.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler.h"

namespace weft::bus {

class DescriptorReserve {
 public:
  // Both outlive it; `logger` may be null. It is called on the control pool: no
  // lock is held then, and no reader waits for it.
  DescriptorReserve(Scheduler& scheduler, Logger* logger);
  // Waits for what is being logged.
  ~DescriptorReserve();
  DescriptorReserve(const DescriptorReserve&) = delete;
  DescriptorReserve& operator=(const DescriptorReserve&) = delete;

  // How many descriptors the process may have open now.
  static int64_t Limit();

  // Whether a connection that was accepted with this descriptor leaves enough
  // for other uses. The system gives the lowest number that is free, so all
  // below were taken then. False is logged, with the limit to raise.
  bool HasRoomFor(int descriptor) ABSL_LOCKS_EXCLUDED(mutex_);

  // RESOURCE_EXHAUSTED: no descriptor is free.
  absl::Status CheckFree() const;

  // Calls `use` with another descriptor of the same file, which stays that file
  // until `use` returns, whoever closes `descriptor`. Needs no free one, unless
  // there was none when this was made. Does nothing if `descriptor` is closed.
  void WithCopy(int descriptor, absl::FunctionRef<void(int)> use)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Accepts and closes connections that wait at `listener`, which must not
  // block, if no descriptor is free for them. False: none waits any more.
  bool RefuseWaiting(int listener) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Whether a number below `end` is free.
  bool HasFreeBelow(int64_t end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Hold() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteShortage(int64_t refused) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void LogSoon(Severity severity, std::string line);

  Scheduler& scheduler_;
  Logger* const logger_;
  InFlight logging_;
  absl::Mutex mutex_;
  // What the other two stand for while they are not used.
  int anchor_ ABSL_GUARDED_BY(mutex_) = -1;
  int copy_ ABSL_GUARDED_BY(mutex_) = -1;
  // Given up for RefuseWaiting; others may be faster to take its number.
  int spare_ ABSL_GUARDED_BY(mutex_) = -1;
  // Numbers of spare ones that others were faster to take: such a number does
  // not say that there is room.
  absl::flat_hash_set<int> lost_ ABSL_GUARDED_BY(mutex_);
  bool is_short_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;  // since it is short
  absl::Time reported_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_DESCRIPTOR_RESERVE_H_
