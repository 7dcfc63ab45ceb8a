// The state of an iterator as a variant, which SerializeIterator gives and
// DeserializeIterator takes: its tensors by name. The format is Weft's own:
// type_name "weft::IteratorState", metadata the names one after the other, each
// followed by a line end, and as many tensors. Windows and groups, data sets of
// elements that are there, are in it as variants "weft::Elements".
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_DATA_ITERATOR_STATE_H_
#define WEFT_LIBS_KERNELS_DATA_ITERATOR_STATE_H_

#include "absl/status/statusor.h"
#include "libs/kernels/data/dataset.h"
#include "libs/tensor/variant.h"

namespace weft {

// UNIMPLEMENTED, naming it, where a value holds another data set or object of
// the process.
absl::StatusOr<Variant> EncodeIteratorState(
    const IteratorStateWriter::Values& values);
// INVALID_ARGUMENT unless it is such a state.
absl::StatusOr<IteratorStateReader::Values> DecodeIteratorState(
    const Variant& state);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_ITERATOR_STATE_H_
