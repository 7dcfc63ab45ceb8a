// The devices a session may use: asked of all tasks of the cluster that pass
// its device filters, and waited for as TensorFlow does: with a log line now
// and then that names who is missing.
#ifndef WEFT_LIBS_MASTER_DEVICE_CATALOGUE_H_
#define WEFT_LIBS_MASTER_DEVICE_CATALOGUE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "libs/base/logging.h"
#include "libs/base/scheduler.h"
#include "libs/device/device.h"
#include "libs/protocol/worker.h"

namespace weft {

struct CatalogueOptions {
  Scheduler* scheduler = nullptr;                  // never null
  protocol::WorkerDirectory* directory = nullptr;  // never null
  // The asking task, which passes every filter.
  std::string own_task;
  Logger* logger = nullptr;  // may be null
};

// Names of the tasks of which `filters` (partial device names; none: all) let
// at least one device pass. INVALID_ARGUMENT for a filter that does not parse.
absl::StatusOr<std::vector<std::string>> FilterTasks(
    const CatalogueOptions& options, const std::vector<std::string>& filters);

// Devices of the tasks that pass the filters, in the order of the tasks.
// DEADLINE_EXCEEDED names the tasks that have not answered by then. Blocks.
absl::StatusOr<std::vector<DeviceAttributes>> GatherDevices(
    const CatalogueOptions& options, const std::vector<std::string>& filters,
    absl::Time deadline);

}  // namespace weft

#endif  // WEFT_LIBS_MASTER_DEVICE_CATALOGUE_H_
