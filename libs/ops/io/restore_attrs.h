// An attr of RestoreV2: what else the tensors may be called in a checkpoint.
// TensorFlow ignores it, as all attrs whose names begin with "_".
#ifndef WEFT_LIBS_OPS_IO_RESTORE_ATTRS_H_
#define WEFT_LIBS_OPS_IO_RESTORE_ATTRS_H_

namespace weft {

// list(string), one for each tensor: names, with a line break between two, that
// are looked for in that order where the checkpoint has none of the tensor's.
inline constexpr char kOtherNamesAttr[] = "_other_names";

}  // namespace weft

#endif  // WEFT_LIBS_OPS_IO_RESTORE_ATTRS_H_
