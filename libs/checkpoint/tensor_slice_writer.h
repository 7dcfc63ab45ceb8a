// TensorSliceWriter writes one table of a V1 checkpoint, for graphs from before
// TensorFlow 1.0. Other graphs save in format V2 (BundleWriter).
//
// Threads: only one thread at a time may use a writer. Calls block.
#ifndef WEFT_LIBS_CHECKPOINT_TENSOR_SLICE_WRITER_H_
#define WEFT_LIBS_CHECKPOINT_TENSOR_SLICE_WRITER_H_

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "libs/base/async/cancellation.h"
#include "libs/base/random.h"
#include "libs/checkpoint/saved_slices.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/fs/file_system.h"
#include "libs/tensor/tensor.h"

namespace weft::checkpoint {

class TensorSliceWriter {
 public:
  // `file_system` must outlive the writer.
  TensorSliceWriter(FileSystem& file_system, absl::string_view path,
                    Random& random);

  // Adds the part `slice` of a tensor of shape `whole`. The writer keeps a
  // reference to the values until it is destroyed, and does not copy them.
  // INVALID_ARGUMENT if the slice was already added or has another shape than
  // its values, if the whole tensor was added before with another shape or
  // type, or if the values exceed a message of 2 GiB. UNIMPLEMENTED for a type
  // that the format does not support.
  absl::Status Add(absl::string_view name, const TensorShape& whole,
                   const TensorSlice& slice, const Tensor& values);
  // Writes the file atomically and durably. Creates its directory if needed.
  // After an error or a cancellation, no file is left.
  absl::Status Finish(const Cancellation* cancellation = nullptr);

 private:
  struct Slice {
    std::string name;
    TensorSlice slice;
    Tensor values;
  };

  absl::Status WriteTable(const std::string& path,
                          const Cancellation* cancellation) const;

  FileSystem& file_system_;
  const std::string path_;
  const std::string temporary_path_;
  std::map<std::string, SlicesOfTensor> tensors_;  // by name
  std::map<std::string, Slice> slices_;            // by key
};

}  // namespace weft::checkpoint

#endif  // WEFT_LIBS_CHECKPOINT_TENSOR_SLICE_WRITER_H_
