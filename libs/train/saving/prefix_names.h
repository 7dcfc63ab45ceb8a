// PrefixNames adds the import scope to names in an imported collection of
// messages.
#ifndef WEFT_LIBS_TRAIN_SAVING_PREFIX_NAMES_H_
#define WEFT_LIBS_TRAIN_SAVING_PREFIX_NAMES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weft {

namespace tf {
class CollectionDef;
class VariableDef;
}  // namespace tf

namespace train {

// Returns "PREFIX/NAME", or NAME if either the name or the prefix is empty.
std::string PrefixName(absl::string_view prefix, absl::string_view name);

void PrefixNames(absl::string_view prefix, tf::VariableDef* def);

// Adds the prefix to names in queue runners, savers, and contexts of cond and
// while. Other collections are unchanged. INVALID_ARGUMENT if `def` cannot be
// parsed as the message of its collection.
absl::Status PrefixNames(absl::string_view name, absl::string_view prefix,
                         tf::CollectionDef* def);

}  // namespace train
}  // namespace weft

#endif  // WEFT_LIBS_TRAIN_SAVING_PREFIX_NAMES_H_
