// Tests with a real client and a real server, on loopback.
#include "libs/metrics/metrics_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "libs/base/clock.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/test_matchers.h"
#include "libs/metrics/metrics_text.h"

namespace weft {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Client is one connection to a port of 127.0.0.1.
class Client {
 public:
  explicit Client(int port, bool must_connect = true) {
    timeval timeout{.tv_sec = 60, .tv_usec = 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int refused =
        connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address));
    EXPECT_TRUE(refused == 0 || !must_connect);
  }
  ~Client() { close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Sends the text. Returns false if the connection is closed.
  bool Say(const std::string& text) {
    return send(fd_, text.data(), text.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(text.size());
  }
  // Returns the bytes received until the other end closes.
  std::string Hear() {
    std::string heard;
    char piece[4096];
    ssize_t size = 0;
    while ((size = recv(fd_, piece, sizeof(piece), 0)) > 0) {
      heard.append(piece, static_cast<size_t>(size));
    }
    is_closed_ = size == 0 || (size < 0 && errno == ECONNRESET);
    return heard;
  }
  bool HasSomethingToHear() {
    pollfd wait{fd_, POLLIN, 0};
    return poll(&wait, 1, /*milliseconds=*/2) != 0;
  }
  bool is_closed() const { return is_closed_; }

 private:
  const int fd_ = socket(AF_INET, SOCK_STREAM, 0);
  bool is_closed_ = false;
};

class MetricsServerTest : public ::testing::Test {
 protected:
  void Start(MetricsServerOptions options = {}) {
    options.scheduler = scheduler_.get();
    options.host = "127.0.0.1";
    ASSERT_OK_AND_ASSIGN(server_, MetricsServer::Listen(options));
    server_->Start(
        [this] { return absl::StrCat("asked ", ++times_asked_, "\n"); });
  }
  std::string Ask(const std::string& request) {
    Client client(server_->port());
    client.Say(request);
    std::string answer = client.Hear();
    EXPECT_TRUE(client.is_closed());
    return answer;
  }
  static std::string Get(const std::string& path) {
    return absl::StrCat("GET ", path, " HTTP/1.1\r\nHost: here\r\n\r\n");
  }

  SystemClock clock_;
  const std::unique_ptr<Scheduler> scheduler_ =
      NewThreadScheduler(clock_, {.compute_threads = 1});
  std::atomic<int> times_asked_{0};
  std::unique_ptr<MetricsServer> server_;
};

TEST_F(MetricsServerTest, MetricsAreCollectedPerRequest) {
  Start();
  EXPECT_EQ(server_->url(),
            absl::StrCat("http://127.0.0.1:", server_->port(), "/metrics"));
  const std::string first = Ask(Get("/metrics"));
  EXPECT_THAT(first, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(first, HasSubstr(absl::StrCat("Content-Type: ",
                                            MetricsText::kContentType)));
  EXPECT_THAT(first, EndsWith("\r\n\r\nasked 1\n"));
  EXPECT_THAT(Ask(Get("/metrics?name=x")), EndsWith("\r\n\r\nasked 2\n"));
  const std::string head = Ask("HEAD /metrics HTTP/1.1\r\nHost: here\r\n\r\n");
  EXPECT_THAT(head, StartsWith("HTTP/1.1 200 "));
  EXPECT_THAT(head, EndsWith("\r\n\r\n"));
  EXPECT_THAT(Ask("GET /metrics HTTP/1.0\r\n\r\n"), EndsWith("asked 4\n"));
}

TEST_F(MetricsServerTest, OtherRequestsAreRefused) {
  Start();
  const std::string unknown = Ask(Get("/"));
  EXPECT_THAT(unknown, StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(unknown, EndsWith("There is only /metrics here.\n"));
  const std::string post = Ask(
      "POST /metrics HTTP/1.1\r\nHost: here\r\nContent-Length: 100000000\r\n"
      "\r\nabc");
  EXPECT_THAT(post, StartsWith("HTTP/1.1 405 "));
  EXPECT_THAT(post, HasSubstr("Allow: GET, HEAD"));
  EXPECT_THAT(Ask("DELETE /metrics HTTP/1.1\r\nHost: here\r\n\r\n"),
              StartsWith("HTTP/1.1 405 "));
  EXPECT_EQ(times_asked_, 0);
}

TEST_F(MetricsServerTest, MalformedRequestClosesOnlyItsConnection) {
  Start({.max_time = absl::Milliseconds(500)});
  for (const std::string& request :
       {std::string("\r\n\r\n \r\n\r\n"), std::string("GET\r\n\r\n"),
        std::string(100, '\0') + "\r\n\r\n",
        "GET /" + std::string(40000, 'a') + " HTTP/1.1\r\n\r\n",
        "GET /metrics HTTP/1.1\r\nHost: " + std::string(40000, 'a') +
            "\r\n\r\n",
        std::string("GET /metrics HTTP/1.1\r\nContent-Length: -1\r\n\r\n")}) {
    Client client(server_->port());
    client.Say(request);
    EXPECT_THAT(client.Hear(), Not(HasSubstr("asked")));
    EXPECT_TRUE(client.is_closed());
  }
  EXPECT_THAT(Ask(Get("/metrics")), EndsWith("asked 1\n"));
}

TEST_F(MetricsServerTest, BodyOfAGetIsIgnored) {
  Start();
  EXPECT_THAT(Ask("GET /metrics HTTP/1.1\r\nHost: here\r\nContent-Length: 3"
                  "\r\n\r\nabc"),
              EndsWith("asked 1\n"));
}

TEST_F(MetricsServerTest, SilentClientIsDisconnected) {
  Start({.max_time = absl::Milliseconds(20)});
  Client silent(server_->port());
  EXPECT_EQ(silent.Hear(), "");
  EXPECT_TRUE(silent.is_closed());
  Client halfway(server_->port());
  EXPECT_TRUE(halfway.Say("GET /metr"));
  halfway.Hear();
  EXPECT_TRUE(halfway.is_closed());
}

TEST_F(MetricsServerTest, SlowClientIsDisconnected) {
  Start({.max_time = absl::Milliseconds(50)});
  Client slow(server_->port());
  ASSERT_TRUE(slow.Say("GET /metrics HTTP/1.1\r\nX: "));
  // The client sends a byte every 2 ms until the server closes the connection.
  while (!slow.HasSomethingToHear() && slow.Say("a")) {
  }
  slow.Hear();
  EXPECT_TRUE(slow.is_closed());
  EXPECT_EQ(times_asked_, 0);
}

TEST_F(MetricsServerTest, ConnectionsBeyondTheLimitWait) {
  Start({.max_connections = 2, .max_time = absl::Milliseconds(100)});
  Client first(server_->port());
  Client second(server_->port());
  // The third client is served after the others have been disconnected.
  EXPECT_THAT(Ask(Get("/metrics")), EndsWith("asked 1\n"));
}

TEST_F(MetricsServerTest, ConcurrentRequestsAreAnswered) {
  Start();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<Client>(server_->port()));
    ASSERT_TRUE(clients.back()->Say(Get("/metrics")));
  }
  for (const auto& client : clients) {
    EXPECT_THAT(client->Hear(), HasSubstr("asked "));
  }
  EXPECT_EQ(times_asked_, 20);
}

TEST_F(MetricsServerTest, DestructorDoesNotWaitForClients) {
  Start({.max_time = absl::InfiniteDuration()});
  Client silent(server_->port());
  Client halfway(server_->port());
  ASSERT_TRUE(halfway.Say("GET /metr"));
  const int port = server_->port();
  server_.reset();
  EXPECT_EQ(halfway.Hear(), "");
  EXPECT_TRUE(halfway.is_closed());
  // After the destruction of a server, its port is free again.
  ASSERT_OK_AND_ASSIGN(
      server_,
      MetricsServer::Listen(
          {.scheduler = scheduler_.get(), .host = "127.0.0.1", .port = port}));
}

// The destructor may run while answers are being sent and connections are being
// closed.
TEST_F(MetricsServerTest, DestructorDoesNotWaitForBusyClients) {
  Start();
  const int port = server_->port();
  std::atomic<bool> is_over{false};
  std::vector<std::unique_ptr<Event>> ended(4);
  for (auto& event : ended) {
    event = scheduler_->NewEvent();
    scheduler_->Schedule(Pool::kBlocking, [&is_over, port, &event] {
      while (!is_over) {
        Client client(port, /*must_connect=*/false);
        client.Say(Get("/metrics"));
        client.Hear();
      }
      event->Set();
    });
  }
  while (times_asked_ < 100) {
    scheduler_->NewEvent()->WaitUntil(clock_.Now() + absl::Milliseconds(1));
  }
  server_.reset();
  const int times_asked = times_asked_;
  is_over = true;
  for (const auto& event : ended) event->Wait();
  EXPECT_EQ(times_asked_, times_asked);
}

// The disk does not respond, and more kernels read from it than the blocking
// pool has threads.
TEST_F(MetricsServerTest, WorksWhileTheBlockingPoolIsBusy) {
  const std::unique_ptr<Scheduler> scheduler = NewThreadScheduler(
      clock_, {.compute_threads = 1, .max_blocking_threads = 1});
  // `release` is shared, because the waiting thread may still use it when this
  // test's variables are destroyed.
  const std::shared_ptr<Event> release = scheduler->NewEvent();
  scheduler->Schedule(Pool::kBlocking, [release] { release->Wait(); });
  auto server = MetricsServer::Listen(
      {.scheduler = scheduler.get(), .host = "127.0.0.1"});
  EXPECT_OK(server);
  if (server.ok()) {
    (*server)->Start([] { return "here\n"; });
    Client client((*server)->port());
    EXPECT_TRUE(client.Say(Get("/metrics")));
    EXPECT_THAT(client.Hear(), EndsWith("\r\n\r\nhere\n"));
    server->reset();
  }
  release->Set();
}

TEST_F(MetricsServerTest, MayBeDestroyedBeforeItStarts) {
  ASSERT_OK_AND_ASSIGN(server_,
                       MetricsServer::Listen({.scheduler = scheduler_.get()}));
  Client waits(server_->port());
  server_.reset();
  waits.Hear();
  EXPECT_TRUE(waits.is_closed());
}

TEST_F(MetricsServerTest, PortInUseIsReported) {
  Start();
  const auto second = MetricsServer::Listen({.scheduler = scheduler_.get(),
                                             .host = "127.0.0.1",
                                             .port = server_->port()});
  EXPECT_THAT(second.status(), StatusIs(absl::StatusCode::kAlreadyExists,
                                        "Choose another --metrics_port"));
}

TEST_F(MetricsServerTest, InvalidListenAddressIsReported) {
  for (const int port : {-1, 65536}) {
    EXPECT_THAT(
        MetricsServer::Listen({.scheduler = scheduler_.get(), .port = port})
            .status(),
        StatusIs(absl::StatusCode::kInvalidArgument,
                 "ports go from 0 to 65535"));
  }
  EXPECT_THAT(MetricsServer::Listen(
                  {.scheduler = scheduler_.get(), .host = "192.0.2.1"})
                  .status(),
              StatusIs(absl::StatusCode::kInvalidArgument, "192.0.2.1:0: "));
  EXPECT_THAT(MetricsServer::Listen(
                  {.scheduler = scheduler_.get(), .host = "no.such.invalid"})
                  .status(),
              StatusIs(absl::StatusCode::kUnavailable, "not known"));
}

}  // namespace
}  // namespace weft
