// Nesting limits the depth of nested variants. Lists and optionals hold
// tensors, datasets hold their inputs and captured tensors, and these tensors
// may hold variants again. Destructors and traversals recurse, so every kernel
// that puts tensors into a variant must call Nest for each of them.
//
//   int64_t nesting = 1;
//   for (const Tensor& tensor : tensors) {
//     RETURN_IF_ERROR(Nest(tensor, nesting));
//   }
//   variant.metadata = absl::StrCat(..., nesting);  // NestingOf reads it
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_CONTROL_NESTING_H_
#define WEFT_LIBS_KERNELS_CONTROL_NESTING_H_

#include <cstdint>

#include "absl/status/status.h"
#include "libs/tensor/tensor.h"
#include "libs/tensor/variant.h"

namespace weft {

inline constexpr int64_t kMaxNesting = 1000;

// The metadata of these types holds their nesting.
inline constexpr char kListType[] = "tensorflow::TensorList";
inline constexpr char kDatasetType[] = "tensorflow::DatasetVariantWrapper";

// 1 for a variant that holds no other, otherwise 1 more than the deepest one in
// it. Constant time for lists, optionals and datasets.
int64_t NestingOf(const Variant& variant);

// Raises `nesting` to that of a variant that holds `inner`. Returns
// INVALID_ARGUMENT, with the limit, beyond kMaxNesting.
absl::Status Nest(const Tensor& inner, int64_t& nesting);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_CONTROL_NESTING_H_
