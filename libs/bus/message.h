// Message is a message of the bus. Identity and Peer describe the ends of a
// connection. ReceiveMemory allocates receive buffers for large attachments.
// transport.h has the contract.
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

// StepTag identifies the step for which a message is sent. The bus only
// compares tags.
struct StepTag {
  uint64_t master_incarnation = 0;  // 0: no step
  uint64_t step = 0;
  friend bool operator==(const StepTag&, const StepTag&) = default;
};

// A request, a reply, or a one-way message.
struct Message {
  // The type of the body: a number of schemas::Body (schemas/body.fbs).
  uint8_t method = 0;
  // The content, a FlatBuffer, which the bus does not interpret.
  Blob body;
  // The attachments that the body refers to by index. Small ones are sent with
  // the message, large ones are streamed.
  std::vector<Blob> attachments;
  // The step for which a one-way message is sent. When the step is aborted,
  // either end can drop attachments in flight (AbandonStep).
  StepTag step = {};
};

// The payloads with which an error is sent, beside its code, its text and its
// derived mark: the node and the task that failed.
inline constexpr absl::string_view kErrorNodePayload = "weft/node";
inline constexpr absl::string_view kErrorTaskPayload = "weft/task";

// The identity of one end of a connection, as sent in HELLO.
struct Identity {
  std::string cluster_uuid;  // empty: any cluster
  std::string task;          // "/job:ps/task:0"; empty: a client
  uint64_t incarnation = 0;  // drawn at each start; never 0
  uint64_t op_fingerprint = 0;
  // Provides `cluster_uuid` when it becomes known. Set only for the own end;
  // may be null.
  std::shared_ptr<const LearnedUuid> learned_uuid;
};

// A flag that is set once and stays set. Copies share it.
class SharedFlag {
 public:
  // Writes only the first time, so that threads that set it repeatedly do not
  // contend.
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
  // Set by the handler once the connection has carried a message whose effect
  // depends on the connection, so that the loss of the connection matters.
  SharedFlag is_used = {};
};

// ReceiveMemory allocates receive buffers for streamed attachments.
class ReceiveMemory {
 public:
  virtual ~ReceiveMemory() = default;
  struct Buffer {
    std::shared_ptr<const void> owner;
    char* data = nullptr;
  };
  // Allocates a buffer; RESOURCE_EXHAUSTED if there is no memory. May be called
  // from any thread.
  virtual absl::StatusOr<Buffer> Reserve(uint64_t bytes) = 0;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_MESSAGE_H_
