// bare_round_trip measures round trips and transfers between two processes on
// this machine: without Weft, over ZeroMQ and TCP, and with only Weft's Wire.
// Weft's own results are reported relative to these.
//
// raw_tcp: blocking send and recv. round_trip: DEALER to ROUTER, with a
// blocking zmq_recv at both ends, and the server replies inline; also from 16
// threads at once, each with its own DEALER. wire_round_trip: the same bytes
// over ZmqWire; the server replies inside the event, and the caller waits on an
// Event of the Scheduler. *_100MB: 100 MB in one direction, in pieces of 1 MiB,
// until the receiver has them in one buffer and confirms with one byte.
//
// The other process is this program with --serve.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/strings/str_cat.h"
#include "benchmarks/common/report.h"
#include "libs/base/clock.h"
#include "libs/base/command_line.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/bus/zmq/zmq_wire.h"

ABSL_FLAG(bool, json, false, "Print one JSON object on the last line.");
ABSL_FLAG(int, steps, 20000, "Round trips to time for each metric.");
ABSL_FLAG(double, seconds, 3.0, "Time limit of each measurement.");
ABSL_FLAG(std::string, serve, "", "What the other process serves.");

namespace weft::benchmarks {
namespace {

constexpr size_t kSmall = 64;
constexpr size_t kLarge = 100'000'000;
constexpr size_t kPiece = 1 << 20;
constexpr int kThreads = 16;

void Must(bool ok, const char* what) {
  if (ok) return;
  std::perror(what);
  std::exit(1);
}

// ---------------------------------------------------------------- processes

// Sends the port of this process to its parent process.
void Announce(int port) {
  std::printf("%d\n", port);
  std::fflush(stdout);
}

// Runs this program with --serve=WHAT in another process. The destructor kills
// the process.
class OtherProcess {
 public:
  explicit OtherProcess(const std::string& what) {
    int out[2];
    Must(pipe(out) == 0, "pipe");
    const std::string serve = "--serve=" + what;
    pid_ = fork();
    Must(pid_ >= 0, "fork");
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      dup2(out[1], STDOUT_FILENO);
      execl("/proc/self/exe", "bare_round_trip", serve.c_str(), nullptr);
      _exit(1);
    }
    close(out[1]);
    FILE* const lines = fdopen(out[0], "r");
    Must(std::fscanf(lines, "%d", &port_) == 1, "no port from --serve");
    std::fclose(lines);
  }
  ~OtherProcess() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  int port() const { return port_; }

 private:
  pid_t pid_;
  int port_ = 0;
};

// ---------------------------------------------------------------------- TCP

sockaddr_in Loopback(int port) {
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

void NoDelay(int fd) {
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

int AcceptOne() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  Must(bind(listener, any, size) == 0 && listen(listener, 1) == 0, "listen");
  getsockname(listener, any, &size);
  Announce(ntohs(address.sin_port));
  const int fd = accept(listener, nullptr, nullptr);
  NoDelay(fd);
  return fd;
}

int Connect(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(port);
  Must(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0,
       "connect");
  NoDelay(fd);
  return fd;
}

void WriteAll(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = send(fd, data, size, 0);
    Must(n > 0, "send");
    data += n;
    size -= n;
  }
}

// Reads `size` bytes. Returns false if the connection has ended.
bool ReadAll(int fd, char* data, size_t size) {
  while (size > 0) {
    const ssize_t n = recv(fd, data, std::min(size, kPiece), 0);
    if (n <= 0) return false;
    data += n;
    size -= n;
  }
  return true;
}

void ServeTcpEcho() {
  const int fd = AcceptOne();
  char bytes[kSmall];
  while (ReadAll(fd, bytes, kSmall)) WriteAll(fd, bytes, kSmall);
}

void ServeTcpSink() {
  const int fd = AcceptOne();
  std::vector<char> landing(kLarge);
  while (ReadAll(fd, landing.data(), kLarge)) WriteAll(fd, "!", 1);
}

Timing TimeSteps(const std::function<void()>& step) {
  return Measure(step, absl::GetFlag(FLAGS_steps), 500,
                 absl::GetFlag(FLAGS_seconds));
}
Timing TimeLarge(const std::function<void()>& step) {
  return Measure(step, 1000, 3, absl::GetFlag(FLAGS_seconds));
}
double GigabytesPerSecond(const Timing& timing) {
  return kLarge / timing.Quantile(0.5) / 1e9;
}

Timing TcpRoundTrip() {
  OtherProcess echo("tcp_echo");
  const int fd = Connect(echo.port());
  char bytes[kSmall] = {};
  Timing timing = TimeSteps([&] {
    WriteAll(fd, bytes, kSmall);
    Must(ReadAll(fd, bytes, kSmall), "recv");
  });
  close(fd);
  return timing;
}

Timing TcpLarge() {
  OtherProcess sink("tcp_sink");
  const int fd = Connect(sink.port());
  const std::vector<char> bytes(kLarge, 'x');
  Timing timing = TimeLarge([&] {
    char done;
    WriteAll(fd, bytes.data(), kLarge);
    Must(ReadAll(fd, &done, 1), "recv");
  });
  close(fd);
  return timing;
}

// ------------------------------------------------------------------- ZeroMQ

// Sends all parts of a received message back.
void Echo(void* socket) {
  int more = 1;
  while (more != 0) {
    zmq_msg_t part;
    zmq_msg_init(&part);
    Must(zmq_msg_recv(&part, socket, 0) >= 0, "zmq_msg_recv");
    more = zmq_msg_more(&part);
    Must(zmq_msg_send(&part, socket, more ? ZMQ_SNDMORE : 0) >= 0,
         "zmq_msg_send");
  }
}

void ServeZmqEcho() {
  void* const context = zmq_ctx_new();
  void* const router = zmq_socket(context, ZMQ_ROUTER);
  Must(zmq_bind(router, "tcp://127.0.0.1:*") == 0, "zmq_bind");
  char endpoint[256];
  size_t size = sizeof(endpoint);
  zmq_getsockopt(router, ZMQ_LAST_ENDPOINT, endpoint, &size);
  Announce(std::atoi(std::strrchr(endpoint, ':') + 1));
  while (true) Echo(router);
}

// DEALER sockets of one context that are connected to the ROUTER of another
// process.
class ZmqCallers {
 public:
  explicit ZmqCallers(int count) {
    const std::string endpoint = absl::StrCat("tcp://127.0.0.1:", echo_.port());
    const int linger = 0;
    for (int i = 0; i < count; ++i) {
      dealers_.push_back(zmq_socket(context_, ZMQ_DEALER));
      zmq_setsockopt(dealers_[i], ZMQ_LINGER, &linger, sizeof(linger));
      Must(zmq_connect(dealers_[i], endpoint.c_str()) == 0, "zmq_connect");
    }
  }
  ~ZmqCallers() {
    for (void* dealer : dealers_) zmq_close(dealer);
    zmq_ctx_term(context_);
  }

  void RoundTrip(int caller) {
    char bytes[kSmall] = {};
    Must(zmq_send(dealers_[caller], bytes, kSmall, 0) >= 0, "zmq_send");
    Must(zmq_recv(dealers_[caller], bytes, kSmall, 0) >= 0, "zmq_recv");
  }

 private:
  OtherProcess echo_{"zmq_echo"};
  void* const context_ = zmq_ctx_new();
  std::vector<void*> dealers_;
};

Timing ZmqRoundTrip() {
  ZmqCallers one(1);
  return TimeSteps([&] { one.RoundTrip(0); });
}

double ZmqRateOfThreads() {
  const SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock);
  ZmqCallers callers(kThreads);
  return RateOfThreads(
      *scheduler, kThreads, [&](int caller) { callers.RoundTrip(caller); },
      absl::GetFlag(FLAGS_seconds));
}

// --------------------------------------------------------------------- Wire

// A server that replies to each message with the same message, and to each 100
// MB with one byte.
class Server : public bus::WireEvents {
 public:
  explicit Server(bus::Wire& wire) : wire_(wire) {}

  void OnOpen(bus::ConnectionId) override {}
  void OnMessage(bus::ConnectionId connection, bus::Frames frames) override {
    if (frames[0].size() > kSmall) return Land(connection, frames[0]);
    wire_.Send(connection, std::move(frames)).IgnoreError();
  }
  void OnClose(bus::ConnectionId, const absl::Status&) override {}

 private:
  void Land(bus::ConnectionId connection, const bus::Blob& piece) {
    std::memcpy(landing_.data() + landed_, piece.data(), piece.size());
    landed_ += piece.size();
    if (landed_ < kLarge) return;
    landed_ = 0;
    wire_.Send(connection, {bus::Blob::FromString("!")}).IgnoreError();
  }

  bus::Wire& wire_;
  std::vector<char> landing_ = std::vector<char>(kLarge);
  size_t landed_ = 0;
};

// A client that waits for one message at a time.
class Client : public bus::WireEvents {
 public:
  explicit Client(Scheduler& scheduler) : scheduler_(scheduler) {}

  // Must be called before the expected message can arrive.
  void Expect() {
    event_ = scheduler_.NewEvent();
    expected_.store(event_.get(), std::memory_order_release);
  }
  void Wait() { event_->Wait(); }

  void OnOpen(bus::ConnectionId) override {}
  void OnMessage(bus::ConnectionId, bus::Frames) override {
    expected_.load(std::memory_order_acquire)->Set();
  }
  void OnClose(bus::ConnectionId, const absl::Status& why) override {
    Check(why);
  }

 private:
  Scheduler& scheduler_;
  std::unique_ptr<Event> event_;
  std::atomic<Event*> expected_{nullptr};
};

void ServeWire(bus::ChannelKind channel_kind) {
  bus::TuneHeapForBulk();
  const SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock);
  const auto wire = bus::NewZmqWire(*scheduler);
  Server server(*wire);
  const auto listener = wire->Listen({"127.0.0.1", 0}, channel_kind, server);
  Check(listener.status());
  Announce((*listener)->address().port);
  scheduler->NewEvent()->Wait();
}

Timing WireTiming(
    const std::string& what, bus::ChannelKind channel_kind,
    const std::function<Timing(bus::Wire&, bus::ConnectionId, Client&)>& time) {
  OtherProcess other(what);
  const SystemClock clock;
  const auto scheduler = NewThreadScheduler(clock);
  const auto wire = bus::NewZmqWire(*scheduler);
  Client client(*scheduler);
  const bus::Address address = {"127.0.0.1",
                                static_cast<uint16_t>(other.port())};
  const auto connection = wire->Dial(address, channel_kind, client);
  Timing timing = time(*wire, connection, client);
  wire->Close(connection);
  return timing;
}

Timing WireRoundTrip() {
  const auto time = [](bus::Wire& wire, bus::ConnectionId connection,
                       Client& client) {
    const bus::Blob bytes = bus::Blob::FromString(std::string(kSmall, 'x'));
    return TimeSteps([&] {
      client.Expect();
      Check(wire.Send(connection, {bytes}));
      client.Wait();
    });
  };
  return WireTiming("wire", bus::ChannelKind::kControl, time);
}

Timing WireLarge() {
  const auto time = [](bus::Wire& wire, bus::ConnectionId connection,
                       Client& client) {
    const bus::Blob bytes = bus::Blob::FromString(std::string(kLarge, 'x'));
    return TimeLarge([&] {
      client.Expect();
      for (size_t begin = 0; begin < kLarge; begin += kPiece) {
        const size_t size = std::min(kPiece, kLarge - begin);
        Check(wire.Send(connection, {bytes.Part(begin, size)}));
      }
      client.Wait();
    });
  };
  return WireTiming("wire_bulk", bus::ChannelKind::kBulk, time);
}

void Serve(const std::string& what) {
  if (what == "tcp_echo") return ServeTcpEcho();
  if (what == "tcp_sink") return ServeTcpSink();
  if (what == "zmq_echo") return ServeZmqEcho();
  ServeWire(what == "wire_bulk" ? bus::ChannelKind::kBulk
                                : bus::ChannelKind::kControl);
}

void Main() {
  Report report("bare_round_trip");
  report.Param("steps", absl::GetFlag(FLAGS_steps));
  report.Param("seconds", absl::GetFlag(FLAGS_seconds));
  report.Param("bytes", kSmall);
  report.Latency("raw_tcp", TcpRoundTrip());
  const Timing bare = ZmqRoundTrip();
  report.Latency("round_trip", bare);
  report.Value("round_trip_16_threads_rate", ZmqRateOfThreads(), "steps/s");
  const Timing wire = WireRoundTrip();
  report.Latency("wire_round_trip", wire);
  report.Value("wire_to_bare", wire.Quantile(0.5) / bare.Quantile(0.5), "x",
               "<= 1.3");
  const double tcp_large = GigabytesPerSecond(TcpLarge());
  report.Value("raw_tcp_100MB", tcp_large, "GB/s");
  const double wire_large = GigabytesPerSecond(WireLarge());
  report.Value("wire_100MB", wire_large, "GB/s");
  report.Value("wire_to_raw_tcp_100MB", wire_large / tcp_large, "x", ">= 0.9");
  report.Finish(absl::GetFlag(FLAGS_json));
}

}  // namespace
}  // namespace weft::benchmarks

int main(int argc, char** argv) {
  weft::ParseFlags(
      argc, argv,
      "What the machine and ZeroMQ alone take for a round trip and for bytes.");
  const std::string serve = absl::GetFlag(FLAGS_serve);
  if (serve.empty()) {
    weft::bus::TuneHeapForBulk();
    weft::benchmarks::Main();
  } else {
    weft::benchmarks::Serve(serve);
  }
}
