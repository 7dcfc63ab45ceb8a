// KeysOfSlot: the keys under which checkpoints have an optimizer's slot of a
// part of a partitioned variable.
//
// Within a variable scope "m" the slot "Adam" of part "m/emb/part_1" is called
// "m/m/emb/part_1/Adam". TensorFlow cuts as many characters off that name as
// the part's has, which leaves "1/Adam", and saves each slot as a variable of
// its own, "m/emb/1/Adam", that no other partition can be restored from. Weft
// saves the slots of all parts as slices of one variable, "m/emb/Adam", and
// restores both forms.
//
// Threads: pure functions.
#ifndef WEFT_LIBS_TRAIN_SLOT_KEYS_H_
#define WEFT_LIBS_TRAIN_SLOT_KEYS_H_

#include <string>
#include <vector>

namespace weft::train {

struct SlotKeys {
  std::string of_all_parts;   // "m/emb/Adam"
  std::string of_part;        // TensorFlow's: "m/emb/1/Adam"
  std::string of_first_part;  // the same of part 0, which may be the only one
};

// `full_name`: of the partitioned variable, "m/emb". Outside of a variable
// scope all keys are equal. REQUIRES: `slot` ends with "/" and a name behind
// `part`, as Optimizer names slots.
SlotKeys KeysOfSlot(const std::string& full_name, const std::string& part,
                    const std::string& slot);

// The keys other than `key` by which a slot that is saved as `key` is restored,
// in the order in which they are looked for. None where `key` is none of these.
std::vector<std::string> OtherKeys(const SlotKeys& keys,
                                   const std::string& key);

}  // namespace weft::train

#endif  // WEFT_LIBS_TRAIN_SLOT_KEYS_H_
