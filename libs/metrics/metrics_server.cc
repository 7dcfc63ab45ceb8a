#include "libs/metrics/metrics_server.h"

#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/metrics/metrics_text.h"

namespace weft {
namespace {

// The maximum size of the request on a connection. Larger requests are refused.
constexpr size_t kMaxRequestBytes = size_t{16} << 10;
constexpr int kBacklog = 64;

// Returns host and port in the form "127.0.0.1:80" or "[::1]:80".
std::string HostAndPort(const std::string& host, int port) {
  const bool is_ipv6 = host.find(':') != std::string::npos;
  return is_ipv6 ? absl::StrCat("[", host, "]:", port)
                 : absl::StrCat(host, ":", port);
}

absl::Status Annotated(const MetricsServerOptions& options,
                       absl::StatusCode code, absl::string_view why) {
  return {code,
          absl::StrCat("Metrics can't be served at ",
                       HostAndPort(options.host, options.port), ": ", why)};
}

absl::Status CouldNotListen(const MetricsServerOptions& options, int error) {
  if (error == EADDRINUSE) {
    return Annotated(options, absl::StatusCode::kAlreadyExists,
                     "the port is taken. Choose another --metrics_port.");
  }
  const bool is_wrong = error == EADDRNOTAVAIL || error == EACCES;
  return Annotated(options,
                   is_wrong ? absl::StatusCode::kInvalidArgument
                            : absl::StatusCode::kUnavailable,
                   std::strerror(error));
}

// Returns a listening socket, or -1 with the error in errno.
int ListenAt(const addrinfo& address) {
  const int socket_fd =
      socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_fd < 0) return -1;
  const int on = 1;
  // Without SO_REUSEADDR, the port would stay unusable for a minute after its
  // last client has gone.
  setsockopt(socket_fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  if (bind(socket_fd, address.ai_addr, address.ai_addrlen) == 0 &&
      listen(socket_fd, kBacklog) == 0) {
    return socket_fd;
  }
  const int error = errno;
  close(socket_fd);
  errno = error;
  return -1;
}

// Listens at the first usable address of the host. Like the task itself, it
// prefers IPv4 to IPv6.
absl::StatusOr<int> ListenAt(const MetricsServerOptions& options) {
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int error = EADDRNOTAVAIL;
  for (const int family : {AF_INET, AF_INET6}) {
    hints.ai_family = family;
    if (getaddrinfo(options.host.c_str(), absl::StrCat(options.port).c_str(),
                    &hints, &found) != 0) {
      continue;
    }
    const int socket_fd = ListenAt(*found);
    error = errno;
    freeaddrinfo(found);
    if (socket_fd >= 0) return socket_fd;
    return CouldNotListen(options, error);
  }
  return Annotated(options, absl::StatusCode::kUnavailable,
                   "the name of the host is not known.");
}

// Returns the address of the socket, such as "127.0.0.1:9100", and the port.
std::pair<std::string, int> AddressOf(int socket_fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  auto* const address = reinterpret_cast<sockaddr*>(&storage);
  char host[NI_MAXHOST] = "";
  char port[NI_MAXSERV] = "0";
  if (getsockname(socket_fd, address, &size) == 0) {
    getnameinfo(address, size, host, sizeof(host), port, sizeof(port),
                NI_NUMERICHOST | NI_NUMERICSERV);
  }
  const int number = std::atoi(port);
  return {HostAndPort(host, number), number};
}

MHD_Result Answer(MHD_Connection* connection, unsigned int code,
                  const std::string& text, const char* type) {
  MHD_Response* const response = MHD_create_response_from_buffer(
      text.size(), const_cast<char*>(text.data()), MHD_RESPMEM_MUST_COPY);
  if (response == nullptr) return MHD_NO;  // ends the connection
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
  MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close");
  if (code == MHD_HTTP_METHOD_NOT_ALLOWED) {
    MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
  }
  const MHD_Result result = MHD_queue_response(connection, code, response);
  MHD_destroy_response(response);
  return result;
}

bool IsRead(absl::string_view method) {
  return method == MHD_HTTP_METHOD_GET || method == MHD_HTTP_METHOD_HEAD;
}

}  // namespace

// Impl is the implementation. All methods except the constructor, Start and the
// destructor run in the closure.
class MetricsServer::Impl {
 public:
  explicit Impl(const MetricsServerOptions& options)
      : options_(options), ended_(options.scheduler->NewEvent()) {}

  ~Impl() {
    if (is_started_) {
      ending_.store(true);
      eventfd_write(wake_, 1);
      ended_->Wait();
    }
    if (daemon_ != nullptr) MHD_stop_daemon(daemon_);
    if (wake_ >= 0) close(wake_);
  }

  absl::Status Listen() {
    if (options_.port < 0 || options_.port > 65535) {
      return Annotated(options_, absl::StatusCode::kInvalidArgument,
                       "ports go from 0 to 65535.");
    }
    wake_ = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (wake_ < 0) return CouldNotListen(options_, errno);
    ASSIGN_OR_RETURN(const int socket_fd, ListenAt(options_));
    auto [address, port] = AddressOf(socket_fd);
    port_ = port;
    url_ = absl::StrCat("http://", address, options_.path);
    return StartDaemon(socket_fd);
  }

  void Start(std::function<std::string()> text) {
    text_ = std::move(text);
    is_started_ = true;
    options_.scheduler->Schedule(Pool::kUnbounded, [this] { Drive(); });
  }

  int port() const { return port_; }
  const std::string& url() const { return url_; }

 private:
  // Starts libmicrohttpd, which closes the socket when its daemon is stopped.
  absl::Status StartDaemon(int socket_fd) {
    daemon_ = MHD_start_daemon(
        MHD_USE_EPOLL, 0, nullptr, nullptr, &Impl::OnRequest, this,
        MHD_OPTION_LISTEN_SOCKET, socket_fd, MHD_OPTION_CONNECTION_LIMIT,
        static_cast<unsigned int>(std::max(1, options_.max_connections)),
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMaxRequestBytes,
        MHD_OPTION_NOTIFY_CONNECTION, &Impl::OnConnection, this,
        MHD_OPTION_END);
    if (daemon_ == nullptr) {
      return Annotated(options_, absl::StatusCode::kUnavailable,
                       "libmicrohttpd does not start");
    }
    epoll_ = MHD_get_daemon_info(daemon_, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
    return absl::OkStatus();
  }

  void Drive() {
    while (!ending_.load()) {
      const bool had_none = began_.empty();
      has_opened_ = has_closed_ = false;
      MHD_run(daemon_);
      CutLateConnections();
      // When libmicrohttpd is at its connection limit, it does not look for
      // other connections before it runs again.
      if (std::exchange(is_called_, false) && had_none && !has_opened_) {
        WaitForDescriptors();
      }
      if (!has_closed_) Wait();
    }
    ended_->Set();
  }

  // Waits until a socket or the destructor needs attention, or a connection
  // times out.
  void Wait() {
    pollfd waits[] = {{epoll_, POLLIN, 0}, {wake_, POLLIN, 0}};
    poll(waits, 2, Milliseconds());
    is_called_ = waits[0].revents != 0;
  }

  // Pauses if a client cannot be accepted because the process has no file
  // descriptor left. libmicrohttpd would retry without a pause.
  void WaitForDescriptors() const {
    pollfd wait{wake_, POLLIN, 0};
    poll(&wait, 1, /*milliseconds=*/100);
  }

  // Returns the time until the next timeout, or -1 if there is none.
  int Milliseconds() const {
    absl::Duration left = absl::InfiniteDuration();
    const absl::Time now = options_.scheduler->clock().Now();
    for (const auto& [connection, began] : began_) {
      left = std::min(left, began + options_.max_time - now);
    }
    // A connection has timed out but is not closed yet, so check again soon.
    if (left <= absl::ZeroDuration()) left = absl::Milliseconds(10);
    MHD_UNSIGNED_LONG_LONG library_left = 0;
    if (MHD_get_timeout(daemon_, &library_left) == MHD_YES) {
      left = std::min(
          left, absl::Milliseconds(static_cast<int64_t>(
                    std::min<unsigned long long>(library_left, INT_MAX))));
    }
    if (left == absl::InfiniteDuration()) return -1;
    return static_cast<int>(std::min<int64_t>(
        absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1))),
        INT_MAX));
  }

  // Shuts down the sockets of connections that have timed out. libmicrohttpd
  // notices this and closes them.
  void CutLateConnections() {
    const absl::Time now = options_.scheduler->clock().Now();
    for (const auto& [connection, began] : began_) {
      if (now < began + options_.max_time) continue;
      const auto* info = MHD_get_connection_info(
          connection, MHD_CONNECTION_INFO_CONNECTION_FD);
      if (info != nullptr) shutdown(info->connect_fd, SHUT_RDWR);
    }
  }

  static void OnConnection(void* self, MHD_Connection* connection,
                           void** /*context*/,
                           MHD_ConnectionNotificationCode what) {
    auto& server = *static_cast<Impl*>(self);
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
      server.began_[connection] = server.options_.scheduler->clock().Now();
      server.has_opened_ = true;
    } else {
      server.began_.erase(connection);
      server.has_closed_ = true;
    }
  }

  // libmicrohttpd calls this function with the headers, then for each part of a
  // body, and finally for the answer. `context` is null in the first call.
  static MHD_Result OnRequest(void* self, MHD_Connection* connection,
                              const char* url, const char* method,
                              const char* /*version*/, const char* /*body*/,
                              size_t* body_size, void** context) {
    constexpr char kPlain[] = "text/plain; charset=utf-8";
    auto& server = *static_cast<Impl*>(self);
    if (!IsRead(method)) {
      return Answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED,
                    "Only GET and HEAD are answered here.\n", kPlain);
    }
    if (std::exchange(*context, self) == nullptr) return MHD_YES;
    if (*body_size != 0) {
      *body_size = 0;  // the body is ignored
      return MHD_YES;
    }
    if (url != server.options_.path) {
      return Answer(
          connection, MHD_HTTP_NOT_FOUND,
          absl::StrCat("There is only ", server.options_.path, " here.\n"),
          kPlain);
    }
    return Answer(connection, MHD_HTTP_OK, server.text_(),
                  MetricsText::kContentType);
  }

  const MetricsServerOptions options_;
  const std::unique_ptr<Event> ended_;  // set when Drive ends
  std::string url_;
  int port_ = 0;
  int wake_ = -1;
  int epoll_ = -1;  // owned by libmicrohttpd
  MHD_Daemon* daemon_ = nullptr;
  std::function<std::string()> text_;
  bool is_started_ = false;
  std::atomic<bool> ending_{false};
  std::map<MHD_Connection*, absl::Time> began_;
  bool is_called_ = false;   // the last Wait found a socket ready
  bool has_opened_ = false;  // a connection was opened in this turn
  bool has_closed_ = false;
};

absl::StatusOr<std::unique_ptr<MetricsServer>> MetricsServer::Listen(
    const MetricsServerOptions& options) {
  auto impl = std::make_unique<Impl>(options);
  RETURN_IF_ERROR(impl->Listen());
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(impl)));
}

MetricsServer::MetricsServer(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)) {}

MetricsServer::~MetricsServer() = default;

void MetricsServer::Start(std::function<std::string()> text) {
  impl_->Start(std::move(text));
}

int MetricsServer::port() const { return impl_->port(); }
const std::string& MetricsServer::url() const { return impl_->url(); }

}  // namespace weft
