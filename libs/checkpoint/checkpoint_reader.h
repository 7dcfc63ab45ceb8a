// CheckpointReader reads tensors, and slices of them, from a checkpoint in
// either of TensorFlow's formats. A slice may be read from a tensor that was
// saved whole, or in other slices. The implementations are BundleReader (V2)
// and TensorSliceReader (V1). docs/design/checkpoint_format.md describes both
// formats.
//
// Files are untrusted: everything is checked before it is used, and memory is
// reserved only for data that the files are large enough to hold. Errors:
//   NOT_FOUND         no file, no such tensor
//   DATA_LOSS         damage; the text names file, place and tensor
//   OUT_OF_RANGE      a data file ends before its tensor does
//   INVALID_ARGUMENT  the checkpoint does not hold what is asked for: another
//                     shape, a slice that the stored ones do not cover
//   UNIMPLEMENTED     a type that Weft does not hold, a foreign byte order
//   RESOURCE_EXHAUSTED  no memory for a tensor, or for the bytes of its strings
//                     or variants
// Other errors are those of the file system, and the cause of a cancellation.
//
// Threads: only one thread at a time may use a reader. All calls block.
#ifndef WEFT_LIBS_CHECKPOINT_CHECKPOINT_READER_H_
#define WEFT_LIBS_CHECKPOINT_CHECKPOINT_READER_H_

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "libs/base/async/cancellation.h"
#include "libs/checkpoint/tensor_info.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/fs/file_system.h"
#include "libs/tensor/buffer.h"
#include "libs/tensor/tensor.h"

namespace weft::checkpoint {

class CheckpointReader {
 public:
  // The maximum number of open files, not counting the index of a V2
  // checkpoint. A checkpoint may have more files than a client of a checkpoint
  // writer may open. If the slices of a tensor are in more files, these are
  // closed and reopened as needed.
  static constexpr size_t kMaxOpenFiles = 8;

  // Listed describes a tensor and the location of its bytes.
  struct Listed : TensorInfo {
    int64_t bytes = 0;    // limited to INT64_MAX
    std::set<int> files;  // numbers of data files
  };

  // Opens PREFIX.index (V2). If that file does not exist, `prefix` names the
  // files of a V1 checkpoint: it is one path, or a pattern that matches all
  // shards ("model-?????-of-00002", see FileSystem::GetMatchingPaths). The
  // arguments must outlive the reader. `cancellation` may be null; it stops
  // reading between two chunks. `allocator` limits the memory for lists of
  // slices: RESOURCE_EXHAUSTED if they need more.
  static absl::StatusOr<std::unique_ptr<CheckpointReader>> Open(
      FileSystem& file_system, absl::string_view prefix,
      const Cancellation* cancellation = nullptr,
      Allocator& allocator = HeapAllocator());

  virtual ~CheckpointReader() = default;

  // Returns the version of the format, 1 or 2.
  virtual int format() const = 0;
  virtual int num_data_files() const = 0;
  // Returns the description of a tensor. The result is shared and not copied,
  // because one tensor may be requested in thousands of slices.
  virtual absl::StatusOr<std::shared_ptr<const TensorInfo>> FindTensor(
      absl::string_view name) = 0;
  // Returns the descriptions of all tensors, by name.
  virtual absl::StatusOr<std::map<std::string, Listed>> ListTensors() = 0;

  // Returns the whole tensor. If the tensor was saved in slices, assembles it.
  virtual absl::StatusOr<Tensor> Read(absl::string_view name,
                                      Allocator& allocator) = 0;
  virtual absl::StatusOr<Tensor> ReadSlice(absl::string_view name,
                                           const TensorSlice& slice,
                                           Allocator& allocator) = 0;
  // Checks whether Read would succeed if there is enough memory. Reads
  // everything, but holds only one slice in memory at a time.
  virtual absl::Status Verify(absl::string_view name, Allocator& allocator) = 0;
};

// Returns whether Open would find the files of a checkpoint in either format.
// Does not check their contents.
absl::StatusOr<bool> CheckpointExists(FileSystem& file_system,
                                      absl::string_view prefix);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_CHECKPOINT_READER_H_
