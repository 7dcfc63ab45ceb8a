// Conversions between elements and rows of larger tensors, for slices, batches
// and windows.
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

// The shape of `rows` tensors of shape `row`. INVALID_ARGUMENT if it is too
// large.
absl::StatusOr<TensorShape> RowsShape(int64_t rows, const TensorShape& row);

// Row `row` of the tensor, without the first dimension. REQUIRES: it exists.
absl::StatusOr<Tensor> RowOf(const Tensor& tensor, int64_t row,
                             Allocator& allocator);

// Copies `from` to the elements of `to` starting at `begin`. `charge` counts
// the strings; returns RESOURCE_EXHAUSTED without memory for them. REQUIRES:
// one dtype, and enough elements in `to`.
absl::Status CopyCharged(HeapCharge& charge, const Tensor& from, Tensor& to,
                         int64_t begin);

// Joins components `c` of `elements`, which must not be empty, as rows of one
// tensor, and moves them out of `elements`. INVALID_ARGUMENT, with TensorFlow's
// texts, if they differ in shape or type.
absl::StatusOr<Tensor> JoinRows(std::vector<DatasetElement>& elements, size_t c,
                                Allocator& allocator);

// A dataset of the given elements, in order.
DatasetPtr NewElementsDataset(std::string name, ElementSpec spec,
                              std::vector<DatasetElement> elements);
// The same dataset as the value of a graph's edge. INVALID_ARGUMENT if variants
// are nested too deeply.
absl::StatusOr<Tensor> ElementsTensor(std::string name, ElementSpec spec,
                                      std::vector<DatasetElement> elements);
// The elements of such a dataset; null for any other object.
const std::vector<DatasetElement>* ElementsOf(const VariantObject& object);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_ELEMENT_ROWS_H_
