// PrefixNames: names in an imported collection that holds messages, put below
// an import scope.
#ifndef WEFT_LIBS_TRAIN_PREFIX_NAMES_H_
#define WEFT_LIBS_TRAIN_PREFIX_NAMES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace weft {

namespace tf {
class CollectionDef;
class VariableDef;
}  // namespace tf

namespace train {

// "PREFIX/NAME"; NAME where it or the prefix is empty.
std::string PrefixName(absl::string_view prefix, absl::string_view name);

void PrefixNames(absl::string_view prefix, tf::VariableDef* def);

// Of queue runners, savers, contexts of cond and while; what other collections
// hold stays. INVALID_ARGUMENT where it is no such message.
absl::Status PrefixNames(absl::string_view name, absl::string_view prefix,
                         tf::CollectionDef* def);

}  // namespace train
}  // namespace weft

#endif  // WEFT_LIBS_TRAIN_PREFIX_NAMES_H_
