// The state of an iterator as a variant, which SerializeIterator gives and
// DeserializeIterator takes: its tensors by name. The format is Weft's own:
// type_name "weft::IteratorState", metadata the names one after the other, each
// followed by a line end, and as many tensors. Windows and groups, datasets of
// elements that are there, are in it as variants "weft::Elements".
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_DATA_ITERATOR_STATE_H_
#define WEFT_LIBS_KERNELS_DATA_ITERATOR_STATE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "libs/kernels/data/dataset.h"
#include "libs/tensor/variant.h"

namespace weft {

// Variants of one state. Those that share tensors are written once for each way
// to them, so a few lists could fill the memory.
inline constexpr int64_t kMaxStateVariants = int64_t{1} << 20;

// UNIMPLEMENTED, naming it, where a value holds another dataset or object of
// the process; RESOURCE_EXHAUSTED beyond `max_variants`.
absl::StatusOr<Variant> EncodeIteratorState(
    const IteratorStateWriter::Values& values,
    int64_t max_variants = kMaxStateVariants);
// INVALID_ARGUMENT unless it is such a state.
absl::StatusOr<IteratorStateReader::Values> DecodeIteratorState(
    const Variant& state);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_ITERATOR_STATE_H_
