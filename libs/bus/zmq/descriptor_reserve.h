// DescriptorReserve handles the case that the process cannot open any more
// descriptors (files and sockets).
//
// libzmq accepts connections itself. If no descriptor is free, its thread
// retries continuously, which slows down everything else on that thread. So
// accepted connections leave a reserve of descriptors free: further ones are
// refused. If these are used up as well, by files or by outgoing connections,
// waiting connections are accepted here, with a descriptor that is reserved for
// that, and closed. Another descriptor is reserved for shutting connections
// down.
//
// Threads: thread-safe.
#ifndef WEFT_LIBS_BUS_ZMQ_DESCRIPTOR_RESERVE_H_
#define WEFT_LIBS_BUS_ZMQ_DESCRIPTOR_RESERVE_H_

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "libs/base/async/limited_log.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler/scheduler.h"

namespace weft::bus {

class DescriptorReserve {
 public:
  // `scheduler` and `logger`, which may be null, must outlive this object. The
  // logger is called on the control pool, without a lock held, so that no
  // reader waits for it.
  DescriptorReserve(Scheduler& scheduler, Logger* logger);
  // Waits for pending log lines.
  ~DescriptorReserve();
  DescriptorReserve(const DescriptorReserve&) = delete;
  DescriptorReserve& operator=(const DescriptorReserve&) = delete;

  // Returns the number of descriptors that the process may have open now.
  static int64_t Limit();

  // Returns whether a connection that was accepted with this descriptor leaves
  // enough for other uses. The system assigns the lowest free number, so all
  // below were taken then. A false result is logged, with the limit to raise.
  bool HasRoomFor(int descriptor) ABSL_LOCKS_EXCLUDED(mutex_);

  // Returns RESOURCE_EXHAUSTED if no descriptor is free.
  absl::Status CheckFree() const;

  // Calls `use` with another descriptor of the same file, which remains that
  // file until `use` returns, even if `descriptor` is closed. Needs no free
  // descriptor, unless there was none when this object was created. Does
  // nothing if `descriptor` is closed.
  void WithCopy(int descriptor, absl::FunctionRef<void(int)> use)
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Accepts and closes connections that wait at `listener`, which must be
  // nonblocking, if no descriptor is free for them. Returns false if none waits
  // any more.
  bool RefuseWaiting(int listener) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  // Returns whether a number below `end` is free.
  bool HasFreeBelow(int64_t end) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Hold() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteShortage(int64_t refused) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NoteRoom() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Scheduler& scheduler_;
  LimitedLog log_;
  absl::Mutex mutex_;
  // The file to which the other two descriptors refer while they are not used.
  int anchor_ ABSL_GUARDED_BY(mutex_) = -1;
  int copy_ ABSL_GUARDED_BY(mutex_) = -1;
  // Closed by RefuseWaiting to have a free descriptor, of which another thread
  // may take the number first.
  int spare_ ABSL_GUARDED_BY(mutex_) = -1;
  // Numbers of spare descriptors that other threads took first: such a number
  // does not mean that descriptors are free.
  absl::flat_hash_set<int> lost_ ABSL_GUARDED_BY(mutex_);
  bool is_short_ ABSL_GUARDED_BY(mutex_) = false;
  int64_t refused_ ABSL_GUARDED_BY(mutex_) = 0;  // since descriptors are short
  absl::Time reported_ ABSL_GUARDED_BY(mutex_) = absl::InfinitePast();
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ZMQ_DESCRIPTOR_RESERVE_H_
