// The state of an iterator as a variant, for SerializeIterator and
// DeserializeIterator: its tensors by name. The format is specific to Weft:
// type_name is "weft::IteratorState", metadata the names, each followed by a
// line end, and there is a tensor for each name. Windows and groups, which are
// datasets of given elements, are stored as variants "weft::Elements".
//
// Threads: pure functions.
#ifndef WEFT_LIBS_KERNELS_DATA_ITERATOR_STATE_H_
#define WEFT_LIBS_KERNELS_DATA_ITERATOR_STATE_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "libs/kernels/data/dataset.h"
#include "libs/tensor/variant.h"

namespace weft {

// The maximum number of variants in a state. Shared variants are written once
// for each path to them, so a few lists could otherwise fill the memory.
inline constexpr int64_t kMaxStateVariants = int64_t{1} << 20;

// Returns UNIMPLEMENTED, naming it, if a value holds another dataset or object
// of the process, and RESOURCE_EXHAUSTED beyond `max_variants`.
absl::StatusOr<Variant> EncodeIteratorState(
    const IteratorStateWriter::Values& values,
    int64_t max_variants = kMaxStateVariants);
// Returns INVALID_ARGUMENT for malformed states.
absl::StatusOr<IteratorStateReader::Values> DecodeIteratorState(
    const Variant& state);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_ITERATOR_STATE_H_
