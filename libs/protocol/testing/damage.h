// Damaged and hostile variants of a message, for tests of readers.
#ifndef WEFT_LIBS_PROTOCOL_TESTING_DAMAGE_H_
#define WEFT_LIBS_PROTOCOL_TESTING_DAMAGE_H_

#include <cstddef>
#include <functional>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "libs/bus/message.h"

namespace weft::protocol {

inline bus::Message WithBody(const bus::Message& message, std::string body) {
  bus::Message result = message;
  result.body = bus::Blob::FromString(std::move(body));
  return result;
}

// Calls `read` with the message truncated at each byte of its body, with each
// byte changed in some ways, and without or with too many attachments. It must
// return from each; the result for the undamaged message must be true. Returns
// how many damaged messages were read without an error: a changed number cannot
// be detected.
inline int ReadDamaged(const bus::Message& message,
                       const std::function<bool(bus::Message)>& read) {
  EXPECT_TRUE(read(message));
  const std::string body(message.body.view());
  int undetected = 0;
  for (size_t i = 0; i < body.size(); ++i) {
    // Missing padding at the end may go undetected.
    const bool was_read = read(WithBody(message, body.substr(0, i)));
    EXPECT_FALSE(was_read && i + 8 < body.size()) << "cut at " << i;
    for (const int mask : {0x01, 0x80, 0xff, 0x7f}) {
      std::string flipped = body;
      flipped[i] = static_cast<char>(flipped[i] ^ mask);
      undetected += read(WithBody(message, std::move(flipped))) ? 1 : 0;
    }
  }
  bus::Message more = message;
  more.attachments.push_back(bus::Blob::FromString("more"));
  (void)read(std::move(more));
  if (!message.attachments.empty()) {
    bus::Message fewer = message;
    fewer.attachments.pop_back();
    EXPECT_FALSE(read(std::move(fewer)));
    bus::Message shorter = message;
    shorter.attachments[0] = message.attachments[0].Part(0, 1);
    EXPECT_FALSE(read(std::move(shorter)));
  }
  return undetected;
}

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_TESTING_DAMAGE_H_
