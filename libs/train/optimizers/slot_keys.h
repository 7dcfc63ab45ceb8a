// KeysOfSlot returns the checkpoint keys of an optimizer slot of a part of a
// partitioned variable.
//
// Within a variable scope "m" the slot "Adam" of part "m/emb/part_1" is called
// "m/m/emb/part_1/Adam". TensorFlow cuts as many characters off that name as
// the part's has, which leaves "1/Adam", and saves each slot as a variable of
// its own, "m/emb/1/Adam", from which no other partitioning can be restored.
// Weft saves the slots of all parts as slices of one variable, "m/emb/Adam",
// and restores both forms.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_TRAIN_OPTIMIZERS_SLOT_KEYS_H_
#define WEFT_LIBS_TRAIN_OPTIMIZERS_SLOT_KEYS_H_

#include <string>
#include <vector>

namespace weft::train {

struct SlotKeys {
  std::string of_all_parts;   // "m/emb/Adam"
  std::string of_part;        // TensorFlow's: "m/emb/1/Adam"
  std::string of_first_part;  // the same of part 0, which may be the only one
};

// `full_name`: the name of the partitioned variable, "m/emb". Outside of a
// variable scope all keys are equal. REQUIRES: `slot` ends with "/" and a name
// after `part`, as Optimizer names slots.
SlotKeys KeysOfSlot(const std::string& full_name, const std::string& part,
                    const std::string& slot);

// The keys other than `key` from which a slot saved as `key` can be restored,
// in lookup order. Empty if `key` is none of these.
std::vector<std::string> OtherKeys(const SlotKeys& keys,
                                   const std::string& key);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_OPTIMIZERS_SLOT_KEYS_H_
