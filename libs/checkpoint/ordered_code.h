// Ordered code encodes numbers and strings as bytes that sort in the same
// order, for keys of sorted tables
// (tensorflow/core/lib/strings/ordered_code.cc). Encoded strings are
// self-terminating, so that the parts of a key can be concatenated.
//
// Threads: stateless functions. The Read functions consume their value from the
// front of `bytes`, which is untrusted: INVALID_ARGUMENT, with nothing
// consumed, for invalid code.
#ifndef WEFT_LIBS_CHECKPOINT_ORDERED_CODE_H_
#define WEFT_LIBS_CHECKPOINT_ORDERED_CODE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft::checkpoint {

// Encodes a byte with the number of following bytes, then the number,
// big-endian without leading zeros.
void AppendNumIncreasing(uint64_t value, std::string* bytes);
absl::StatusOr<uint64_t> ReadNumIncreasing(absl::string_view* bytes);

// 0x00 becomes 0x00 0xff, 0xff becomes 0xff 0x00; 0x00 0x01 ends it.
void AppendStringIncreasing(absl::string_view value, std::string* bytes);
absl::StatusOr<std::string> ReadStringIncreasing(absl::string_view* bytes);

// Encodes a number that fits into n*7 bits and a sign in n bytes: two's
// complement, big-endian, with the first n bits after the sign inverted (-64 to
// 63 is one byte, 0x80 for 0).
void AppendSignedNumIncreasing(int64_t value, std::string* bytes);
absl::StatusOr<int64_t> ReadSignedNumIncreasing(absl::string_view* bytes);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_ORDERED_CODE_H_
