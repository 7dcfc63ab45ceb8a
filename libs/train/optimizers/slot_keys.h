// KeysOfSlot returns the checkpoint keys of an optimizer slot of a part of a
// partitioned variable.
//
// Within a variable scope "m", the slot "Adam" of part "m/emb/part_1" is called
// "m/m/emb/part_1/Adam". TensorFlow removes the length of the part's name from
// the front of that name, which leaves "1/Adam". It then saves each slot as a
// separate variable, "m/emb/1/Adam", so that no other partitioning can be
// restored. Weft saves the slots of all parts as slices of one variable,
// "m/emb/Adam", and restores both forms.
//
// Threads: the functions are pure.
#ifndef WEFT_LIBS_TRAIN_OPTIMIZERS_SLOT_KEYS_H_
#define WEFT_LIBS_TRAIN_OPTIMIZERS_SLOT_KEYS_H_

#include <string>
#include <vector>

namespace weft::train {

struct SlotKeys {
  std::string of_all_parts;  // slot of all parts: "m/emb/Adam"
  std::string of_part;       // TensorFlow's key of this part: "m/emb/1/Adam"
  // TensorFlow's key of part 0, which may be the only part.
  std::string of_first_part;
};

// Returns the keys of `slot` for `part`. `full_name` is the name of the
// partitioned variable, "m/emb". Outside a variable scope all keys are equal.
// REQUIRES: `slot` is `part`, "/" and a name, as Optimizer names slots.
SlotKeys KeysOfSlot(const std::string& full_name, const std::string& part,
                    const std::string& slot);

// Returns the other keys from which a slot saved as `key` can be restored, in
// lookup order. Empty if `key` is not one of `keys`.
std::vector<std::string> OtherKeys(const SlotKeys& keys,
                                   const std::string& key);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_OPTIMIZERS_SLOT_KEYS_H_
