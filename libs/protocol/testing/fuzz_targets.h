// Targets for the fuzzers of the roles' messages and the replay of their
// corpora: readers of requests, as services use them, and of replies, as
// clients do. They must return for any bytes; a decoded message is encoded
// again and must decode to the same.
//
// A case is a message: one byte with its method, one with what the reader of a
// reply expects (how many fetches, how many nodes), then frames: the body, and
// the attachments. Each frame is two bytes with its length, little endian, and
// its bytes, or the remaining ones.
#ifndef WEFT_LIBS_PROTOCOL_TESTING_FUZZ_TARGETS_H_
#define WEFT_LIBS_PROTOCOL_TESTING_FUZZ_TARGETS_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "libs/bus/message.h"

namespace weft::protocol {

// Messages of one role, including its replies; those of other roles have no
// effect.
void FuzzMasterMessage(absl::string_view bytes);
void FuzzWorkerMessage(absl::string_view bytes);
void FuzzCoordinatorMessage(absl::string_view bytes);
void FuzzFileMessage(absl::string_view bytes);

struct FuzzCase {
  bus::Message message;
  uint8_t expected = 0;
};
FuzzCase FuzzCaseOf(absl::string_view bytes);
// Returns the bytes of a case; no frame may be longer than 65535 bytes.
std::string FuzzBytesOf(const FuzzCase& fuzz_case);

}  // namespace weft::protocol

#endif  // WEFT_LIBS_PROTOCOL_TESTING_FUZZ_TARGETS_H_
