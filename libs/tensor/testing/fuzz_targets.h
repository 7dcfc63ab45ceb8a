// The target for the fuzzer of TensorProtos and the replay of its corpus.
#ifndef WEFT_LIBS_TENSOR_TESTING_FUZZ_TARGETS_H_
#define WEFT_LIBS_TENSOR_TESTING_FUZZ_TARGETS_H_

#include <string>

#include "absl/strings/string_view.h"
#include "libs/base/testing/fuzz_corpus.h"
#include "libs/tensor/tensor.h"
#include "libs/tensor/tensor_proto.h"
#include "libs/tensor/testing/small_allocator.h"

namespace weft {

// A parsed tensor is serialized again, and must parse to the same.
inline void FuzzTensorProto(absl::string_view bytes) {
  constexpr size_t kMemory = size_t{1} << 20;
  SmallAllocator small(kMemory, kMemory);
  const auto tensor = ParseTensorProto(bytes, small);
  if (!tensor.ok()) return;
  (void)tensor->ToString();
  const std::string written = SerializeTensorProto(*tensor);
  const auto again = ParseTensorProto(written, HeapAllocator());
  RequireForFuzz(again.ok() && again->dtype() == tensor->dtype() &&
                 again->shape() == tensor->shape());
  RequireForFuzz(SerializeTensorProto(*again) == written);
}

}  // namespace weft

#endif  // WEFT_LIBS_TENSOR_TESTING_FUZZ_TARGETS_H_
