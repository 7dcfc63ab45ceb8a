// What the canned models share and nobody else uses.
#ifndef WEFT_LIBS_ESTIMATOR_CANNED_PARTS_H_
#define WEFT_LIBS_ESTIMATOR_CANNED_PARTS_H_

#include "libs/ops/scope.h"

namespace weft::estimator {

// How the logits of the linear part of a combined model are spread.
void AddLinearActivationSummary(const Scope& scope, const Output& logits);

}  // namespace weft::estimator

#endif  // WEFT_LIBS_ESTIMATOR_CANNED_PARTS_H_
