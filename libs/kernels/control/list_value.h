// Lists of tensors as kernels read and write them. A list is a Variant with its
// tensors, what it knows of them in the metadata; one that nobody else holds is
// changed in place, so that pushing n tensors takes n steps. Internal to this
// folder.
//
// Threads: pure functions. Errors are INVALID_ARGUMENT, in TensorFlow's words
// where it has any: a variant may come from anybody.
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

// Far above any list; bounds what one number can make us allocate.
inline constexpr int64_t kMaxElements = int64_t{1} << 24;

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// What a list knows of its tensors.
struct ListKind {
  DataType dtype = DT_INVALID;
  int64_t max_elements = -1;  // none
  int64_t depth = 1;          // its nesting; see nesting.h
  PartialShape shape;
};

// A list on its way through a kernel.
struct List {
  ListKind kind;
  // Those that were never set are not initialized.
  std::shared_ptr<std::vector<Tensor>> tensors;
};

// The variant in a scalar, of that type; `what` is for the error.
absl::StatusOr<const Variant*> VariantOf(const Tensor& handle,
                                         absl::string_view type_name,
                                         absl::string_view what);

absl::StatusOr<List> ReadList(const Tensor& handle);
// Input 0, to be changed: a copy unless the kernel alone holds it.
absl::StatusOr<List> TakeList(OpKernelContext& context);
// The list as an element of a tensor.
Variant VariantFrom(List list);
// As output 0.
absl::Status WriteList(OpKernelContext& context, List list);

// A scalar -1 is a shape of which nothing is known.
absl::StatusOr<PartialShape> ShapeFrom(const Tensor& tensor);
absl::StatusOr<int64_t> ScalarFrom(const Tensor& tensor,
                                   absl::string_view what);
absl::Status CheckType(const List& list, DataType dtype);
absl::Status CheckElement(const List& list, const Tensor& tensor);
// What the list knows of it, and what is asked.
absl::StatusOr<PartialShape> ElementShape(const List& list,
                                          const Tensor& asked);
// The element, or zeros where none was set.
absl::StatusOr<Tensor> ElementAt(OpKernelContext& context, const List& list,
                                 size_t i, PartialShape shape);

}  // namespace weft::lists

#endif  // WEFT_LIBS_KERNELS_CONTROL_LIST_VALUE_H_
