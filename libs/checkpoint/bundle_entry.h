// BundleHeader and BundleEntry are the records of a checkpoint index. There is
// one header, under the empty key, and one entry for each tensor and for each
// slice. This header also defines the names of checkpoint files.
//
// Value types, not thread-safe. Serialized forms are byte-identical to
// TensorFlow's protos (schemas/tf/tensor_bundle.proto). Input bytes are
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

// The key of the header. No tensor may have this key.
inline constexpr absl::string_view kHeaderKey = "";

// Return the file names "PREFIX.index" and "PREFIX.data-00000-of-00002".
std::string IndexFilename(absl::string_view prefix);
std::string DataFilename(absl::string_view prefix, int shard, int num_shards);
// Returns whether `ending` has the form that DataFilename appends to a prefix,
// ".data-I-of-N". So "model.data-mine" is not mistaken for a data file of
// "model".
bool IsDataEnding(absl::string_view ending);
// Removes an ending such as ".tempstate7" from a name. A checkpoint file has
// this ending while it is being written. Returns false if the name has no such
// ending.
bool ConsumeTemporaryEnding(absl::string_view* name);
// Returns the shard number of a data file, which is the same for all names that
// the file has over time: 1 for "model.data-00001-of-00002", for its earlier
// name "model_temp/part-00001-of-00002.data-00000-of-00001", and for both with
// the ending ".tempstate7" while the file is being written. Returns nothing for
// other files.
std::optional<uint32_t> ShardOfDataFile(absl::string_view path);

struct BundleHeader {
  int num_shards = 1;  // number of data files
  bool big_endian = false;
  // Versions of the format: the writer's version, the oldest reader that can
  // read the format, and excluded readers.
  int producer = 1;
  int min_consumer = 0;
  std::vector<int> bad_consumers;
  friend bool operator==(const BundleHeader&, const BundleHeader&) = default;
};

std::string SerializeBundleHeader(const BundleHeader& header);
// Parses the header. DATA_LOSS if `bytes` are not a header.
absl::StatusOr<BundleHeader> ParseBundleHeader(absl::string_view bytes);
// Returns INVALID_ARGUMENT if this version of Weft cannot read the data, and
// UNIMPLEMENTED if the byte order of the data is not that of this machine.
absl::Status CheckReadable(const BundleHeader& header);

// BundleEntry describes stored bytes and their location. A tensor that is
// stored in slices does not use the location, because its slices have their own
// entries.
struct BundleEntry : TensorInfo {
  // The data file, and the offset and size of the bytes in this file.
  int shard = 0;
  int64_t offset = 0;
  int64_t size = 0;
  uint32_t masked_crc32c = 0;
  friend bool operator==(const BundleEntry&, const BundleEntry&) = default;
};

std::string SerializeBundleEntry(const BundleEntry& entry);
// Parses the entry of `key`. DATA_LOSS, naming `key`, if `bytes` are not an
// entry or contain an invalid shape, an invalid slice or a negative location.
// RESOURCE_EXHAUSTED if `allocator` does not have enough memory for the slices,
// because a few bytes may describe millions of slices.
absl::StatusOr<BundleEntry> ParseBundleEntry(
    absl::string_view key, absl::string_view bytes,
    Allocator& allocator = HeapAllocator());

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_BUNDLE_ENTRY_H_
