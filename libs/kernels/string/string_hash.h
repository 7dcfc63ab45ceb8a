// Hashes of strings with the same bits as TensorFlow's buckets and fingerprints
// (tsl/platform/hash.cc, fingerprint.h, strong_hash.h).
//
// Pure functions of bytes; equal on all machines.
#ifndef WEFT_LIBS_KERNELS_STRING_STRING_HASH_H_
#define WEFT_LIBS_KERNELS_STRING_STRING_HASH_H_

#include <cstdint>

#include "absl/strings/string_view.h"

namespace weft {

// MurmurHash64A with TensorFlow's seed: StringToHashBucket.
uint64_t LegacyHash(absl::string_view bytes);

// FarmHash's Fingerprint64, which is stable forever: StringToHashBucketFast.
uint64_t Fingerprint(absl::string_view bytes);

// Combines two fingerprints, in this order.
uint64_t JoinFingerprints(uint64_t first, uint64_t second);

// SipHash-2-4 with a secret key: StringToHashBucketStrong.
uint64_t KeyedHash(uint64_t key0, uint64_t key1, absl::string_view bytes);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_STRING_STRING_HASH_H_
