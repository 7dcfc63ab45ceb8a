#include "libs/bus/zmq/zmq_socket.h"

#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <zmq.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <memory>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "libs/base/random.h"
#include "libs/base/scheduler/thread_starter.h"
#include "libs/base/status.h"

namespace weft::bus {
namespace {

// Copying 16 KiB costs as much as sending a reference.
constexpr size_t kLendBytes = 16 << 10;
// No valid message has more frames. One more is kept, so that the receiver
// refuses the message.
constexpr size_t kMaxFrames = 1 << 18;
// Smaller received frames are copied out of libzmq's buffer.
constexpr size_t kViewBytes = 1 << 10;
// Identities assigned by libzmq: a zero byte and a number, big endian.
constexpr size_t kOwnIdentityBytes = 5;

RoutingId LoadBigEndian(const char* bytes) {
  RoutingId id = 0;
  for (int i = 0; i < 4; ++i) {
    id = id << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return id;
}

void StoreBigEndian(RoutingId id, char* bytes) {
  for (int i = 0; i < 4; ++i) bytes[i] = static_cast<char>(id >> (24 - 8 * i));
}

// A zmq_msg_t that closes itself.
class Part {
 public:
  Part() { zmq_msg_init(&part_); }
  ~Part() { zmq_msg_close(&part_); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

  zmq_msg_t* get() { return &part_; }
  char* data() { return static_cast<char*>(zmq_msg_data(&part_)); }
  size_t size() { return zmq_msg_size(&part_); }
  bool more() { return zmq_msg_more(&part_) != 0; }

  bool Receive(void* socket) {
    int received;
    do {
      received = zmq_msg_recv(&part_, socket, ZMQ_DONTWAIT);
    } while (received < 0 && errno == EINTR);
    return received >= 0;
  }

 private:
  zmq_msg_t part_;
};

Blob CopyOf(Part& part) {
  const size_t size = part.size();
  if (size == 0) return Blob();
  auto copy = std::make_shared_for_overwrite<char[]>(size);
  std::memcpy(copy.get(), part.data(), size);
  const char* data = copy.get();
  return Blob(std::move(copy), data, size);
}

Blob ViewOf(Part& part) {
  auto owner = std::make_shared<Part>();
  zmq_msg_move(owner->get(), part.get());
  const char* data = owner->data();
  const size_t size = owner->size();
  return Blob::Received(std::move(owner), data, size);
}

using Owner = std::shared_ptr<const void>;

void DeleteOwner(void*, void* owner) { delete static_cast<Owner*>(owner); }

void FillPart(const Blob& frame, Part& part) {
  if (frame.size() >= kLendBytes && frame.owner() != nullptr) {
    // libzmq only reads what it sends.
    zmq_msg_init_data(part.get(), const_cast<char*>(frame.data()), frame.size(),
                      DeleteOwner, new Owner(frame.owner()));
    return;
  }
  zmq_msg_init_size(part.get(), frame.size());
  if (frame.size() != 0) std::memcpy(part.data(), frame.data(), frame.size());
}

bool SendPart(void* socket, Part& part, int flags) {
  int sent;
  do {
    sent = zmq_msg_send(part.get(), socket, flags | ZMQ_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent >= 0;
}

// During its lifetime, random() of the C library has an unpredictable state.
// libzmq takes the first identity that a ROUTER assigns from it, and aborts if
// a peer has claimed the next one; otherwise the first is the same number in
// every process. Afterwards the program's own sequence continues. The state is
// the process's, and so is the lock: of two overlapping instances the first
// would restore an outdated state.
class ABSL_SCOPED_LOCKABLE UnknownRandomState {
 public:
  UnknownRandomState() ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex_)
      : lock_(&mutex_),
        before_(initstate(static_cast<unsigned>(NewSystemRandom()->Next()),
                          state_, sizeof(state_))) {}
  ~UnknownRandomState() ABSL_UNLOCK_FUNCTION() { setstate(before_); }
  UnknownRandomState(const UnknownRandomState&) = delete;
  UnknownRandomState& operator=(const UnknownRandomState&) = delete;

 private:
  static absl::Mutex mutex_;
  const absl::MutexLock lock_;
  char state_[256];
  char* const before_;
};

ABSL_CONST_INIT absl::Mutex UnknownRandomState::mutex_(absl::kConstInit);

// libzmq has one more thread besides those for I/O; each has an epoll and an
// eventfd. The spare ones are for the first socket, and for what others open
// meanwhile.
constexpr int kReaperThreads = 1;
constexpr int kDescriptorsOfThread = 2;
constexpr int kSpareDescriptors = 8;

absl::Status NoSocket(int error) {
  return absl::ResourceExhaustedError(
      absl::StrCat("No further socket can be opened: ", zmq_strerror(error),
                   "; raise the limit of open files (ulimit -n)"));
}

// Checks whether `count` further descriptors can be open at once: opens and
// closes them.
absl::Status CheckDescriptorsCanOpen(int count) {
  std::vector<int> opened;
  int error = 0;
  while (error == 0 && std::ssize(opened) < count) {
    const int descriptor = eventfd(0, EFD_CLOEXEC);
    if (descriptor >= 0) opened.push_back(descriptor);
    if (descriptor < 0) error = errno;
  }
  for (const int descriptor : opened) close(descriptor);
  return error == 0 ? absl::OkStatus() : NoSocket(error);
}

}  // namespace

ZmqContext::ZmqContext(int io_threads)
    : io_threads_(io_threads), context_(zmq_ctx_new()) {
  zmq_ctx_set(context_, ZMQ_IO_THREADS, io_threads);
  zmq_ctx_set(context_, ZMQ_MAX_SOCKETS, 65535);
  zmq_ctx_set(context_, ZMQ_BLOCKY, 0);
  // A send wakes libzmq's thread, which would take the processor from the
  // sender in the middle of its work. A process with another scheduling policy
  // keeps it: libzmq aborts if it may not change it.
  if (sched_getscheduler(0) == SCHED_OTHER) {
    zmq_ctx_set(context_, ZMQ_THREAD_SCHED_POLICY, SCHED_BATCH);
  }
}

ZmqContext::~ZmqContext() {
  while (zmq_ctx_term(context_) != 0 && errno == EINTR) {
  }
}

absl::Status ZmqContext::Start() const {
  absl::MutexLock lock(&mutex_);
  if (!started_) RETURN_IF_ERROR(StartLocked());
  started_ = true;
  return absl::OkStatus();
}

absl::Status ZmqContext::StartLocked() const {
  SystemThreadStarter starter;
  RETURN_IF_ERROR(CheckThreadsCanStart(starter, io_threads_ + kReaperThreads));
  RETURN_IF_ERROR(CheckDescriptorsCanOpen((io_threads_ + kReaperThreads) *
                                              kDescriptorsOfThread +
                                          kSpareDescriptors));
  void* const first = zmq_socket(context_, ZMQ_PAIR);
  if (first == nullptr) return NoSocket(errno);
  zmq_close(first);
  return absl::OkStatus();
}

ZmqSocket& ZmqSocket::operator=(ZmqSocket&& other) noexcept {
  Close();
  socket_ = std::exchange(other.socket_, nullptr);
  return *this;
}

absl::StatusOr<ZmqSocket> ZmqSocket::Open(const ZmqContext& context, int type) {
  const UnknownRandomState state;
  RETURN_IF_ERROR(context.Start());
  void* const socket = zmq_socket(context.get(), type);
  if (socket != nullptr) return ZmqSocket(socket);
  return NoSocket(errno);
}

void ZmqSocket::Close() {
  if (socket_ != nullptr) zmq_close(std::exchange(socket_, nullptr));
}

void ZmqSocket::Set(int option, int value) {
  zmq_setsockopt(socket_, option, &value, sizeof(value));
}

void ZmqSocket::Set64(int option, uint64_t value) {
  zmq_setsockopt(socket_, option, &value, sizeof(value));
}

int ZmqSocket::Get(int option) const {
  int value = 0;
  size_t size = sizeof(value);
  return zmq_getsockopt(socket_, option, &value, &size) == 0 ? value : -1;
}

std::string ZmqSocket::LastEndpoint() const {
  char endpoint[1024] = {};
  size_t size = sizeof(endpoint);
  if (zmq_getsockopt(socket_, ZMQ_LAST_ENDPOINT, endpoint, &size) != 0) {
    return "";
  }
  return endpoint;
}

bool ZmqSocket::HasInput() const {
  const int events = Get(ZMQ_EVENTS);
  return events > 0 && (events & ZMQ_POLLIN) != 0;
}

bool ZmqSocket::ReceiveRoute(Route& route) {
  Part part;
  if (!part.Receive(socket_)) return false;
  route.foreign = part.size() != kOwnIdentityBytes || part.data()[0] != 0;
  route.id = route.foreign ? 0 : LoadBigEndian(part.data() + 1);
  return true;
}

bool ZmqSocket::ReceiveFrames(Frames& frames, int* source) {
  frames.clear();
  bool more = true;
  while (more) {
    Part part;
    if (!part.Receive(socket_)) return false;
    if (source != nullptr && frames.empty()) {
      *source = zmq_msg_get(part.get(), ZMQ_SRCFD);
    }
    more = part.more();
    // The rest of an oversized message is discarded as it arrives.
    if (frames.size() > kMaxFrames) continue;
    frames.push_back(part.size() < kViewBytes ? CopyOf(part) : ViewOf(part));
  }
  return true;
}

ZmqSocket::Sent ZmqSocket::Send(const RoutingId* route, const Frames& frames) {
  if (route == nullptr) return SendFrames(frames, /*message_begun=*/false);
  char identity[kOwnIdentityBytes] = {};
  StoreBigEndian(*route, identity + 1);
  const int sent =
      zmq_send(socket_, identity, sizeof(identity), ZMQ_SNDMORE | ZMQ_DONTWAIT);
  if (sent >= 0) return SendFrames(frames, /*message_begun=*/true);
  return errno == EAGAIN || errno == EINTR ? Sent::kFull : Sent::kGone;
}

ZmqSocket::Sent ZmqSocket::SendFrames(const Frames& frames,
                                      bool message_begun) {
  for (size_t i = 0; i < frames.size(); ++i) {
    Part part;
    FillPart(frames[i], part);
    const bool last = i + 1 == frames.size();
    if (SendPart(socket_, part, last ? 0 : ZMQ_SNDMORE)) continue;
    // Queues are counted in messages: within a message only the end of the
    // connection can interfere.
    const bool full = errno == EAGAIN && i == 0 && !message_begun;
    return full ? Sent::kFull : Sent::kGone;
  }
  return Sent::kSent;
}

}  // namespace weft::bus
