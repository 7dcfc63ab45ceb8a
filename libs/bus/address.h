// Address is where a task listens: "host:port" in a cluster spec,
// "zmq://host:port" as the target of a session.
#ifndef WEFT_LIBS_BUS_ADDRESS_H_
#define WEFT_LIBS_BUS_ADDRESS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft::bus {

struct Address {
  std::string host;   // a name, an IPv4 address, or an IPv6 address without [ ]
  uint16_t port = 0;  // 0: any free port; only for listening

  // Parses either form. An INVALID_ARGUMENT error names the defect.
  static absl::StatusOr<Address> Parse(absl::string_view text);

  // Returns "host:port", with an IPv6 host in [ ].
  std::string ToString() const;
  // Returns "zmq://host:port".
  std::string ToTarget() const;

  friend bool operator==(const Address&, const Address&) = default;
};

}  // namespace weft::bus

#endif  // WEFT_LIBS_BUS_ADDRESS_H_
