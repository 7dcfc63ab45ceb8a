// What travels on the bus: Message; between whom: Identity, Peer; and where
// what is large is put: LandingMemory. transport.h has the contract.
//
// Threads: values; a Blob may be shared by threads.
#ifndef WEFT_LIBS_BUS_MESSAGE_H_
#define WEFT_LIBS_BUS_MESSAGE_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/bus/blob.h"
#include "libs/bus/learned_uuid.h"

namespace weft::bus {

// A step of a master, as its messages carry it. The bus only compares it.
struct StepTag {
  uint64_t master_incarnation = 0;  // 0: of no step
  uint64_t step = 0;
  friend bool operator==(const StepTag&, const StepTag&) = default;
};

// A request, a reply, or a one-way message.
struct Message {
  // What the body is: a number of schemas::Body (schemas/body.fbs).
  uint8_t method = 0;
  // A FlatBuffer; the bus does not look inside.
  Blob body;
  // What the body names by position. Small ones come along, large ones stream.
  std::vector<Blob> attachments;
  // Of a one-way message: the step that it is sent for. When that is aborted,
  // either end can drop attachments that are on their way (AbandonStep).
  StepTag step = {};
};

// Errors cross with code, text, whether they are derived, and these payloads:
// the node and the task that failed.
inline constexpr absl::string_view kErrorNodePayload = "weft/node";
inline constexpr absl::string_view kErrorTaskPayload = "weft/task";

// Who one end of a connection is; what HELLO says.
struct Identity {
  std::string cluster_uuid;  // empty: any
  std::string task;          // "/job:ps/task:0"; empty: a client
  uint64_t incarnation = 0;  // drawn anew at each start; never 0
  uint64_t op_fingerprint = 0;
  // Of one's own end: where `cluster_uuid` will be found; may be null.
  std::shared_ptr<const LearnedUuid> learned_uuid;
};

// A flag that is set once, for good. Copies share it.
class SharedFlag {
 public:
  // Writes only the first time, so that threads that set it again and again do
  // not contend.
  void Set() const {
    if (!IsSet()) flag_->store(true, std::memory_order_relaxed);
  }
  bool IsSet() const { return flag_->load(std::memory_order_relaxed); }

 private:
  std::shared_ptr<std::atomic<bool>> flag_ =
      std::make_shared<std::atomic<bool>>(false);
};

// The other end of an accepted connection.
struct Peer {
  uint64_t id = 0;  // of this connection; unique in its Endpoint; never 0
  Identity identity;
  // Set by the handler when the connection has carried a message that its loss
  // may concern.
  SharedFlag is_used = {};
};

// Memory for attachments that stream in.
class LandingMemory {
 public:
  virtual ~LandingMemory() = default;
  struct Room {
    std::shared_ptr<const void> owner;
    char* data = nullptr;
  };
  // RESOURCE_EXHAUSTED when there is none. Any thread.
  virtual absl::StatusOr<Room> Reserve(uint64_t bytes) = 0;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_MESSAGE_H_
