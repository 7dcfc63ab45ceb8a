// Internal helpers shared by the canned models.
#ifndef WEFT_LIBS_ESTIMATOR_CANNED_CANNED_PARTS_H_
#define WEFT_LIBS_ESTIMATOR_CANNED_CANNED_PARTS_H_

#include "libs/ops/scope.h"

namespace weft::estimator {

// Adds a histogram summary of the linear logits of a combined model.
void AddLinearActivationSummary(const Scope& scope, const Output& logits);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_CANNED_CANNED_PARTS_H_
