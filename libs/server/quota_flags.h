// The flags of a task's quotas, which have the names of the fields of Quotas.
#ifndef WEFT_LIBS_SERVER_QUOTA_FLAGS_H_
#define WEFT_LIBS_SERVER_QUOTA_FLAGS_H_

#include "libs/server/quotas.h"

namespace weft {

Quotas QuotasFromFlags();

}  // namespace weft

#endif  // WEFT_LIBS_SERVER_QUOTA_FLAGS_H_
