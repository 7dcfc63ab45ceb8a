// Access to lists of tensors. A list is a Variant that holds the tensors, with
// their description in its metadata. A list that is not shared is changed in
// place, so that pushing n tensors takes linear time. Internal to this folder.
//
// Threads: pure functions. Errors are INVALID_ARGUMENT, with TensorFlow's texts
// if it has any: a variant may come from any peer.
#ifndef WEFT_LIBS_KERNELS_CONTROL_LIST_VALUE_H_
#define WEFT_LIBS_KERNELS_CONTROL_LIST_VALUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/kernels/op_kernel.h"
#include "libs/tensor/shape.h"
#include "libs/tensor/tensor.h"
#include "libs/tensor/variant.h"

namespace weft::lists {

// Far above the size of any list; bounds the memory that one number can make a
// kernel allocate.
inline constexpr int64_t kMaxElements = int64_t{1} << 24;

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// ListKind describes the tensors of a list.
struct ListKind {
  DataType dtype = DT_INVALID;
  int64_t max_elements = -1;  // -1: unbounded
  int64_t depth = 1;          // nesting depth; see nesting.h
  PartialShape shape;
};

// List is a tensor list that a kernel is processing.
struct List {
  ListKind kind;
  // Elements that were never set are not initialized.
  std::shared_ptr<std::vector<Tensor>> tensors;
};

// The variant of that type in a scalar; `what` is for the error text.
absl::StatusOr<const Variant*> VariantOf(const Tensor& handle,
                                         absl::string_view type_name,
                                         absl::string_view what);

absl::StatusOr<List> ReadList(const Tensor& handle);
// Input 0, to be modified: a copy unless only the kernel holds it.
absl::StatusOr<List> TakeList(OpKernelContext& context);
// Returns a variant, the element type of list tensors, that holds the list.
Variant VariantFrom(List list);
// Sets output 0 to the list.
absl::Status WriteList(OpKernelContext& context, List list);

// A scalar -1 is a shape of unknown rank.
absl::StatusOr<PartialShape> ShapeFrom(const Tensor& tensor);
absl::StatusOr<int64_t> ScalarFrom(const Tensor& tensor,
                                   absl::string_view what);
absl::Status CheckType(const List& list, DataType dtype);
absl::Status CheckElement(const List& list, const Tensor& tensor);
// Merges the list's element shape with the requested one.
absl::StatusOr<PartialShape> ElementShape(const List& list,
                                          const Tensor& asked);
// Returns element `i` of the list, or zeros if the element was never set.
absl::StatusOr<Tensor> ElementAt(OpKernelContext& context, const List& list,
                                 size_t i, PartialShape shape);

}  // namespace weft::lists

#endif  // WEFT_LIBS_KERNELS_CONTROL_LIST_VALUE_H_
