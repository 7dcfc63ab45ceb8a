// BundleHeader and BundleEntry are the records of a checkpoint index: a header
// under the empty key, and an entry for each tensor and each slice. This header
// also defines the names of checkpoint files.
//
// Value types, not thread-safe. Serialized forms are byte-identical to
// TensorFlow's protos (schemas/tf/tensor_bundle.proto); input bytes are
// untrusted.
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

// Key of the header; no tensor may have it.
inline constexpr absl::string_view kHeaderKey = "";

// "PREFIX.index" and "PREFIX.data-00000-of-00002".
std::string IndexFilename(absl::string_view prefix);
std::string DataFilename(absl::string_view prefix, int shard, int num_shards);
// Whether `ending` has the form that DataFilename appends to a prefix,
// ".data-I-of-N", so that "model.data-mine" is not mistaken for data of
// "model".
bool IsDataEnding(absl::string_view ending);
// Removes the ending ".tempstate7", which a checkpoint file has while it is
// written, from a name; returns false if there is none.
bool ConsumeTemporaryEnding(absl::string_view* name);
// Returns the shard number of a data file, the same for all names in its life:
// 1 for "model.data-00001-of-00002" and for its earlier name,
// "model_temp/part-00001-of-00002.data-00000-of-00001", also while it is
// written (with ".tempstate7" at its end). None for other files.
std::optional<uint32_t> ShardOfDataFile(absl::string_view path);

struct BundleHeader {
  int num_shards = 1;  // data files
  bool big_endian = false;
  // Versions of the format: the writer's, the oldest reader that supports it,
  // and excluded readers.
  int producer = 1;
  int min_consumer = 0;
  std::vector<int> bad_consumers;
  friend bool operator==(const BundleHeader&, const BundleHeader&) = default;
};

std::string SerializeBundleHeader(const BundleHeader& header);
// DATA_LOSS if `bytes` are not a header.
absl::StatusOr<BundleHeader> ParseBundleHeader(absl::string_view bytes);
// INVALID_ARGUMENT if this version of Weft can't read the data, or
// UNIMPLEMENTED if its byte order is not this machine's.
absl::Status CheckReadable(const BundleHeader& header);

// Location and description of stored bytes. For a tensor that is stored in
// slices, which have their own entries, the location is unused.
struct BundleEntry : TensorInfo {
  // Data file, offset and size in bytes.
  int shard = 0;
  int64_t offset = 0;
  int64_t size = 0;
  uint32_t masked_crc32c = 0;
  friend bool operator==(const BundleEntry&, const BundleEntry&) = default;
};

std::string SerializeBundleEntry(const BundleEntry& entry);
// DATA_LOSS, naming `key`, if `bytes` are not an entry or contain invalid
// values: an invalid shape or slice, a negative location. RESOURCE_EXHAUSTED if
// `allocator` has no memory for its slices, of which a few bytes may describe
// millions.
absl::StatusOr<BundleEntry> ParseBundleEntry(
    absl::string_view key, absl::string_view bytes,
    Allocator& allocator = HeapAllocator());

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_BUNDLE_ENTRY_H_
