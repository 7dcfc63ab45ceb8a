// Ordered code: numbers and strings as bytes whose order is theirs, for keys of
// sorted tables (tensorflow/core/lib/strings/ordered_code.cc). The strings of a
// key end themselves, so that parts can follow one another.
//
// Threads: functions without state. The Read functions take what they read off
// the front of `bytes`, which may come from anywhere: INVALID_ARGUMENT, with
// nothing taken, where it is no such code.
#ifndef WEFT_LIBS_CHECKPOINT_ORDERED_CODE_H_
#define WEFT_LIBS_CHECKPOINT_ORDERED_CODE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace weft::checkpoint {

// A byte that counts the bytes that follow: the number, largest byte first,
// without zeros in front.
void AppendNumIncreasing(uint64_t value, std::string* bytes);
absl::StatusOr<uint64_t> ReadNumIncreasing(absl::string_view* bytes);

// 0x00 becomes 0x00 0xff, 0xff becomes 0xff 0x00; 0x00 0x01 ends it.
void AppendStringIncreasing(absl::string_view value, std::string* bytes);
absl::StatusOr<std::string> ReadStringIncreasing(absl::string_view* bytes);

// n bytes for what n*7 bits and a sign hold: two's complement, largest byte
// first, of which the first n bits beneath the sign's are turned around (-64 to
// 63 is one byte, 0x80 for 0).
void AppendSignedNumIncreasing(int64_t value, std::string* bytes);
absl::StatusOr<int64_t> ReadSignedNumIncreasing(absl::string_view* bytes);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_ORDERED_CODE_H_
