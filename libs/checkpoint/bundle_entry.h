// What the index of a checkpoint says: a header under the empty key, and an
// entry for each tensor and each slice; and how its files are called.
//
// Values, not synchronised. Serialized forms are TensorFlow's protos
// (schemas/tf/tensor_bundle.proto), byte for byte; they may come from anywhere.
#ifndef WEFT_LIBS_CHECKPOINT_BUNDLE_ENTRY_H_
#define WEFT_LIBS_CHECKPOINT_BUNDLE_ENTRY_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/checkpoint/tensor_info.h"
#include "libs/tensor/buffer.h"

namespace weft::checkpoint {

// The header's key; no tensor may have it.
inline constexpr absl::string_view kHeaderKey = "";

// "PREFIX.index" and "PREFIX.data-00000-of-00002".
std::string IndexFilename(absl::string_view prefix);
std::string DataFilename(absl::string_view prefix, int shard, int num_shards);
// Whether `ending` is what DataFilename puts after a prefix, ".data-I-of-N": so
// that nobody takes "model.data-mine" for data of "model".
bool IsDataEnding(absl::string_view ending);
// Takes ".tempstate7" off the end of a name, which a file of a checkpoint has
// while it is written; false when it is not there.
bool ConsumeTemporaryEnding(absl::string_view* name);
// Which shard of a save a data file holds, so that all names that it has in its
// life say the same: 1 for "model.data-00001-of-00002" and for what becomes
// that, "model_temp/part-00001-of-00002.data-00000-of-00001", also while it is
// written (".tempstate7" at its end). None for other files.
std::optional<uint32_t> ShardOfDataFile(absl::string_view path);

struct BundleHeader {
  int num_shards = 1;  // data files
  bool big_endian = false;
  // Versions of the format: the writer's, the oldest that can read it, and
  // those that can't.
  int producer = 1;
  int min_consumer = 0;
  std::vector<int> bad_consumers;
  friend bool operator==(const BundleHeader&, const BundleHeader&) = default;
};

std::string SerializeBundleHeader(const BundleHeader& header);
// DATA_LOSS where `bytes` are no header.
absl::StatusOr<BundleHeader> ParseBundleHeader(absl::string_view bytes);
// INVALID_ARGUMENT if this version of Weft can't read the data, or
// UNIMPLEMENTED if its byte order is not this machine's.
absl::Status CheckReadable(const BundleHeader& header);

// Where the bytes are, and what they are. For a tensor that is stored in
// slices, which have entries of their own, the place says nothing.
struct BundleEntry : TensorInfo {
  // Which data file, from where on, how many bytes.
  int shard = 0;
  int64_t offset = 0;
  int64_t size = 0;
  uint32_t masked_crc32c = 0;
  friend bool operator==(const BundleEntry&, const BundleEntry&) = default;
};

std::string SerializeBundleEntry(const BundleEntry& entry);
// DATA_LOSS, naming `key`, where `bytes` are no entry or say what can't be: an
// invalid shape or slice, a negative place. RESOURCE_EXHAUSTED where
// `allocator` has no memory for its slices, which may be millions in few bytes.
absl::StatusOr<BundleEntry> ParseBundleEntry(
    absl::string_view key, absl::string_view bytes,
    Allocator& allocator = HeapAllocator());

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_BUNDLE_ENTRY_H_
