// RawPeer is the other end of a TCP connection, controlled by a test, which may
// send anything or nothing. Its calls block, with a time limit.
#ifndef WEFT_LIBS_BUS_TESTING_RAW_PEER_H_
#define WEFT_LIBS_BUS_TESTING_RAW_PEER_H_

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "libs/bus/address.h"

namespace weft::bus {

class RawPeer {
 public:
  // Connects to an IPv4 address.
  explicit RawPeer(const Address& to)
      : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    SetLimit();
    sockaddr_in address = Ipv4(to);
    connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&address),
                         sizeof(address)) == 0;
  }
  // Takes over an accepted connection.
  explicit RawPeer(int fd) : fd_(fd), connected_(fd >= 0) { SetLimit(); }
  ~RawPeer() {
    if (fd_ >= 0) close(fd_);
  }
  RawPeer(RawPeer&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)), connected_(other.connected_) {}

  bool connected() const { return connected_; }

  // Returns false if the other end has closed.
  bool Say(const std::string& bytes) {
    size_t sent = 0;
    while (sent < bytes.size()) {
      const ssize_t n =
          send(fd_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) return false;
      sent += static_cast<size_t>(n);
    }
    return true;
  }

  // Returns exactly that many bytes; fewer at the end of the connection or at
  // the time limit.
  std::string Hear(size_t size) {
    std::string bytes(size, '\0');
    size_t heard = 0;
    while (heard < size) {
      const ssize_t n = recv(fd_, bytes.data() + heard, size - heard, 0);
      if (n <= 0) break;
      heard += static_cast<size_t>(n);
    }
    bytes.resize(heard);
    return bytes;
  }

  // Reads until the other end closes; returns false if it did not within the
  // limit.
  bool WaitForClose() {
    char bytes[4096];
    ssize_t n;
    while ((n = recv(fd_, bytes, sizeof(bytes), 0)) > 0) {
    }
    return n == 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
  }

  // Waits, without reading, until the other end has reset the connection;
  // returns false if it did not within the limit.
  bool IsReset() {
    pollfd ended = {fd_, 0, 0};
    return poll(&ended, 1, 60'000) > 0;
  }

  // Sends `bytes` repeatedly until the other end closes; returns false if it
  // did not within the limit. (A single send may block on an end that no longer
  // reads.)
  bool SendUntilClosed(const std::string& bytes) {
    size_t sent = 0;
    pollfd ready = {fd_, POLLIN | POLLOUT, 0};
    while (poll(&ready, 1, 60'000) > 0) {
      if ((ready.revents & (POLLIN | POLLHUP | POLLERR)) != 0) {
        return WaitForClose();
      }
      const ssize_t n = send(fd_, bytes.data() + sent, bytes.size() - sent,
                             MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) sent = (sent + static_cast<size_t>(n)) % bytes.size();
    }
    return false;
  }

  // Acts as a ZMTP 3 DEALER without encryption (rfc.zeromq.org/spec/23): the
  // ZMTP greeting, READY with the given identity, and the other end's.
  bool ShakeHands(const std::string& identity = "") {
    std::string zmtp_greeting("\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL", 16);
    zmtp_greeting.resize(64);
    return Say(zmtp_greeting) && Hear(64).size() == 64 &&
           Say(Ready(identity)) && HearCommand();
  }

  static std::string ShortFrame(uint8_t flags, const std::string& body) {
    return std::string{static_cast<char>(flags),
                       static_cast<char>(body.size())} +
           body;
  }
  static std::string LongFrameHeader(uint8_t flags, uint64_t size) {
    std::string header{static_cast<char>(flags | 2)};
    for (int shift = 56; shift >= 0; shift -= 8) {
      header.push_back(static_cast<char>(size >> shift));
    }
    return header;
  }

  static sockaddr_in Ipv4(const Address& address) {
    sockaddr_in result = {};
    result.sin_family = AF_INET;
    result.sin_port = htons(address.port);
    inet_pton(AF_INET, address.host.c_str(), &result.sin_addr);
    return result;
  }

 private:
  static std::string Property(const std::string& name,
                              const std::string& value) {
    std::string result{static_cast<char>(name.size())};
    result += name;
    result += std::string("\0\0\0", 3);
    result.push_back(static_cast<char>(value.size()));
    return result + value;
  }
  static std::string Ready(const std::string& identity) {
    return ShortFrame(4, std::string("\x05READY") +
                             Property("Socket-Type", "DEALER") +
                             Property("Identity", identity));
  }
  bool HearCommand() {
    const std::string header = Hear(2);
    return header.size() == 2 && Hear(static_cast<uint8_t>(header[1])).size() ==
                                     static_cast<uint8_t>(header[1]);
  }
  void SetLimit() const {
    const timeval limit = {60, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
  }

  int fd_;
  bool connected_;
};

// A port at which a test accepts connections itself.
class RawListener {
 public:
  RawListener() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = RawPeer::Ipv4(address_);
    socklen_t size = sizeof(address);
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    if (bind(fd_, any, size) != 0 || listen(fd_, 16) != 0) return;
    getsockname(fd_, any, &size);
    address_.port = ntohs(address.sin_port);
  }
  ~RawListener() { close(fd_); }

  const Address& address() const { return address_; }
  RawPeer Accept() { return RawPeer(accept(fd_, nullptr, nullptr)); }

 private:
  const int fd_;
  Address address_ = {"127.0.0.1", 0};
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_TESTING_RAW_PEER_H_
