// Elements to and from rows of larger tensors: what slices, batches and windows
// share.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_DATA_ELEMENT_ROWS_H_
#define WEFT_LIBS_KERNELS_DATA_ELEMENT_ROWS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "libs/kernels/data/dataset.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor.h"

namespace weft {

// The shape of `rows` tensors of shape `row`. INVALID_ARGUMENT where that is
// too large.
absl::StatusOr<TensorShape> RowsShape(int64_t rows, const TensorShape& row);

// Row `row` of the tensor, without the first dimension. REQUIRES: it is there.
absl::StatusOr<Tensor> RowOf(const Tensor& tensor, int64_t row,
                             Allocator& allocator);

// Copies all of `from` to the elements of `to` from `begin` on. `charge` counts
// the texts: RESOURCE_EXHAUSTED where there is no memory for them.
// REQUIRES: one dtype; `to` has as many elements there.
absl::Status CopyCharged(HeapCharge& charge, const Tensor& from, Tensor& to,
                         int64_t begin);

// Components `c` of `elements`, of which there is one at least and each has it,
// as rows of one tensor; takes them out of `elements`. INVALID_ARGUMENT, in
// TensorFlow's words, where they differ in shape or type.
absl::StatusOr<Tensor> JoinRows(std::vector<DatasetElement>& elements, size_t c,
                                Allocator& allocator);

// A dataset of elements that are there, in their order.
DatasetPtr NewElementsDataset(std::string name, ElementSpec spec,
                              std::vector<DatasetElement> elements);
// The same as the value of a graph's edge. INVALID_ARGUMENT where variants are
// too deep inside one another.
absl::StatusOr<Tensor> ElementsTensor(std::string name, ElementSpec spec,
                                      std::vector<DatasetElement> elements);
// The elements of such a dataset; null of any other object.
const std::vector<DatasetElement>* ElementsOf(const VariantObject& object);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_ELEMENT_ROWS_H_
