// An attr of RestoreV2 with alternative names of the tensors in a checkpoint.
// TensorFlow ignores it, like all attrs whose names begin with "_".
#ifndef WEFT_LIBS_OPS_IO_RESTORE_ATTRS_H_
#define WEFT_LIBS_OPS_IO_RESTORE_ATTRS_H_

namespace weft {

// list(string), one for each tensor: names, separated by line breaks, that are
// tried in order if the checkpoint does not have the tensor's name.
inline constexpr char kOtherNamesAttr[] = "_other_names";

}  // namespace weft

#endif  // WEFT_LIBS_OPS_IO_RESTORE_ATTRS_H_
