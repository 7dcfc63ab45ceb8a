#include "libs/bus/address.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"

namespace weft::bus {
namespace {

constexpr absl::string_view kScheme = "zmq://";
constexpr size_t kMaxHostLength = 253;  // DNS, RFC 1035

absl::Status Invalid(absl::string_view text, absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat("Address \"", text, "\": ", what,
                   "; write host:port, [IPv6]:port or zmq://host:port"));
}

// Returns the scheme of an address: "grpc://" of "grpc://host:80". Empty if the
// address has no scheme.
absl::string_view SchemeOf(absl::string_view text) {
  const size_t end = text.find("://");
  return end == absl::string_view::npos ? "" : text.substr(0, end + 3);
}

bool IsNameChar(char c) {
  return absl::ascii_isalnum(c) || c == '-' || c == '.' || c == '_';
}
bool IsIpv6Char(char c) {
  return absl::ascii_isxdigit(c) || c == ':' || c == '.' || c == '%' ||
         IsNameChar(c);
}

absl::Status CheckHost(absl::string_view text, const std::string& host,
                       bool in_brackets) {
  if (host.empty()) return Invalid(text, "the host is missing");
  if (host.size() > kMaxHostLength)
    return Invalid(text, "the host is too long");
  const auto allowed = in_brackets ? IsIpv6Char : IsNameChar;
  if (!std::all_of(host.begin(), host.end(), allowed)) {
    return Invalid(text, "the host contains an invalid character");
  }
  if (in_brackets && !absl::StrContains(host, ':')) {
    return Invalid(text, "only an IPv6 address may be in [ ]");
  }
  return absl::OkStatus();
}

// Splits "[::1]:80" and "host:80" into the host and the rest.
absl::Status SplitHost(absl::string_view text, absl::string_view rest,
                       absl::string_view& host, absl::string_view& port) {
  const size_t end = rest.empty() || rest[0] != '['
                         ? rest.find(':')
                         : std::min(rest.find(']'), rest.size() - 1) + 1;
  if (end >= rest.size() || rest[end] != ':') {
    return Invalid(text, "there is no \":port\" after the host");
  }
  host = rest.substr(0, end);
  port = rest.substr(end + 1);
  return absl::OkStatus();
}

absl::StatusOr<uint16_t> ParsePort(absl::string_view text,
                                   absl::string_view port) {
  const bool digits =
      !port.empty() && port.size() <= 5 &&
      std::all_of(port.begin(), port.end(), absl::ascii_isdigit);
  int number = 0;
  if (!digits || !absl::SimpleAtoi(port, &number) || number > 65535) {
    return Invalid(text, "the port is not a number from 0 to 65535");
  }
  return static_cast<uint16_t>(number);
}

}  // namespace

absl::StatusOr<Address> Address::Parse(absl::string_view text) {
  absl::string_view rest = text;
  if (!absl::ConsumePrefix(&rest, kScheme) && !SchemeOf(rest).empty()) {
    return Invalid(text, absl::StrCat("the scheme ", SchemeOf(rest),
                                      " is unknown, zmq:// is the only one"));
  }
  absl::string_view host, port;
  if (absl::Status split = SplitHost(text, rest, host, port); !split.ok()) {
    return split;
  }
  const bool in_brackets =
      absl::ConsumePrefix(&host, "[") && absl::ConsumeSuffix(&host, "]");
  Address address;
  address.host = std::string(host);
  if (absl::Status ok = CheckHost(text, address.host, in_brackets); !ok.ok()) {
    return ok;
  }
  absl::StatusOr<uint16_t> number = ParsePort(text, port);
  if (!number.ok()) return std::move(number).status();
  address.port = *number;
  return address;
}

std::string Address::ToString() const {
  if (absl::StrContains(host, ':')) return absl::StrCat("[", host, "]:", port);
  return absl::StrCat(host, ":", port);
}

std::string Address::ToTarget() const {
  return absl::StrCat(kScheme, ToString());
}

}  // namespace weft::bus
