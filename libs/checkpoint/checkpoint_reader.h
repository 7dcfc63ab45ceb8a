// CheckpointReader reads tensors, and slices of them, from a checkpoint in
// either of TensorFlow's formats. A slice may be read from a tensor that was
// saved whole, or in other slices. Implementations: BundleReader (V2) and
// TensorSliceReader (V1); docs/design/checkpoint_format.md describes both
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
// or an error of the file system, or the cause of a cancellation.
//
// Threads: one at a time. All calls block.
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
  // Maximum number of open files, besides a V2 checkpoint's index: a checkpoint
  // may have more files than a client of a checkpoint writer may open. If the
  // slices of a tensor are in more files, they are reopened as needed.
  static constexpr size_t kMaxOpenFiles = 8;

  // A tensor, and the location of its bytes.
  struct Listed : TensorInfo {
    int64_t bytes = 0;    // at most INT64_MAX, whatever the files say
    std::set<int> files;  // numbers of data files
  };

  // Opens PREFIX.index (V2). Without that file, `prefix` names the files of a
  // V1 checkpoint: one path, or a pattern that matches all its shards
  // ("model-?????-of-00002", see FileSystem::GetMatchingPaths). `file_system`
  // must outlive the reader, as must `cancellation`, which may be null and
  // stops reading between two chunks, and `allocator`, which bounds the memory
  // for lists of slices: RESOURCE_EXHAUSTED beyond it.
  static absl::StatusOr<std::unique_ptr<CheckpointReader>> Open(
      FileSystem& file_system, absl::string_view prefix,
      const Cancellation* cancellation = nullptr,
      Allocator& allocator = HeapAllocator());

  virtual ~CheckpointReader() = default;

  // 1 or 2.
  virtual int format() const = 0;
  virtual int num_data_files() const = 0;
  // Returns the description of a tensor. Shared, not copied, because one tensor
  // may be requested in thousands of slices.
  virtual absl::StatusOr<std::shared_ptr<const TensorInfo>> FindTensor(
      absl::string_view name) = 0;
  // All tensors, by name.
  virtual absl::StatusOr<std::map<std::string, Listed>> ListTensors() = 0;

  // Returns the whole tensor, assembled if it was saved in slices.
  virtual absl::StatusOr<Tensor> Read(absl::string_view name,
                                      Allocator& allocator) = 0;
  virtual absl::StatusOr<Tensor> ReadSlice(absl::string_view name,
                                           const TensorSlice& slice,
                                           Allocator& allocator) = 0;
  // Checks whether Read would succeed with enough memory: reads everything, and
  // holds at most one slice at a time.
  virtual absl::Status Verify(absl::string_view name, Allocator& allocator) = 0;
};

// Whether Open would find files of a checkpoint of either format; does not
// check their contents.
absl::StatusOr<bool> CheckpointExists(FileSystem& file_system,
                                      absl::string_view prefix);

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_CHECKPOINT_READER_H_
