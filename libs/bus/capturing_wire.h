// CapturingWire is a Wire that records the messages passing through it to
// another Wire, for tests and debugging. libs/bus/capture.h reads the
// recording.
//
// Threads: as Wire.
#ifndef WEFT_LIBS_BUS_CAPTURING_WIRE_H_
#define WEFT_LIBS_BUS_CAPTURING_WIRE_H_

#include <cstddef>
#include <memory>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/clock.h"
#include "libs/bus/wire.h"

namespace weft::bus {

class CapturingWire : public Wire {
 public:
  // Receives the bytes of the file: the header once, from the constructor, then
  // whole messages, possibly from several threads at once.
  using Sink = absl::AnyInvocable<void(absl::string_view bytes) const>;

  struct Options {
    // The maximum recorded size of one frame; the rest is not recorded.
    size_t max_frame_bytes = 64 << 10;
  };

  // `wire` and `clock` must outlive this object.
  CapturingWire(Wire& wire, const Clock& clock, Sink sink);
  CapturingWire(Wire& wire, const Clock& clock, Sink sink,
                const Options& options);
  ~CapturingWire() override;

  absl::StatusOr<std::unique_ptr<WireListener>> Listen(
      const Address& address, ChannelKind channel_kind,
      WireEvents& events) override;
  ConnectionId Dial(const Address& address, ChannelKind channel_kind,
                    WireEvents& events) override;
  absl::Status Send(ConnectionId connection, Frames frames) override;
  void Close(ConnectionId connection) override;
  bool Lead(absl::FunctionRef<bool()> done) override;
  void WakeLeader() override;

 private:
  class CapturingEvents;

  // Returns the recording receiver in front of `events`.
  WireEvents& Captured(WireEvents& events, ChannelKind channel_kind)
      ABSL_LOCKS_EXCLUDED(mutex_);
  void WriteDown(ConnectionId connection, ChannelKind channel_kind,
                 bool received, const Frames& frames);

  Wire& wire_;
  const Clock& clock_;
  const Sink sink_;
  const Options options_;
  absl::Mutex mutex_;
  // One recording receiver for each pair of receiver and channel that was ever
  // used. Entries are not removed. An entry holds only the address of its
  // receiver, so it also serves a later receiver at the same address.
  absl::flat_hash_map<std::pair<WireEvents*, ChannelKind>,
                      std::unique_ptr<CapturingEvents>>
      events_ ABSL_GUARDED_BY(mutex_);
  absl::flat_hash_map<ConnectionId, ChannelKind> channel_kinds_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_CAPTURING_WIRE_H_
