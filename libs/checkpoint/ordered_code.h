// Ordered code encodes numbers and strings as bytes that sort in the same
// order, for keys of sorted tables
// (tensorflow/core/lib/strings/ordered_code.cc). Encoded strings are
// self-terminating, so that the parts of a key can be concatenated.
//
// Threads: stateless functions. The Read functions consume their value from the
// front of `bytes`, which is untrusted. For an invalid encoding they return
// INVALID_ARGUMENT and consume nothing.
#ifndef WEFT_LIBS_CHECKPOINT_ORDERED_CODE_H_
#define WEFT_LIBS_CHECKPOINT_ORDERED_CODE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft::checkpoint {

// Appends and reads a number. It is encoded as one byte with the number of
// following bytes, and then the number in big-endian order without leading
// zeros.
void AppendNumIncreasing(uint64_t value, std::string* bytes);
absl::StatusOr<uint64_t> ReadNumIncreasing(absl::string_view* bytes);

// Appends and reads a string. It is encoded with 0x00 as 0x00 0xff and 0xff as
// 0xff 0x00, and ends with 0x00 0x01.
void AppendStringIncreasing(absl::string_view value, std::string* bytes);
absl::StatusOr<std::string> ReadStringIncreasing(absl::string_view* bytes);

// Appends and reads a signed number. A number that fits into n*7 bits and a
// sign is encoded in n bytes. It is stored in two's complement, big-endian,
// with the first n bits after the sign inverted. For example, -64 to 63 take
// one byte, and 0 is 0x80.
void AppendSignedNumIncreasing(int64_t value, std::string* bytes);
absl::StatusOr<int64_t> ReadSignedNumIncreasing(absl::string_view* bytes);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_ORDERED_CODE_H_
