// Fuzz targets for cluster specs and device names, which come from users and
// peers. Also used to replay the fuzzers' corpora. The parsers must return for
// any text.
#ifndef WEFT_LIBS_CLUSTER_TESTING_FUZZ_TARGETS_H_
#define WEFT_LIBS_CLUSTER_TESTING_FUZZ_TARGETS_H_

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "libs/base/testing/fuzz_corpus.h"
#include "libs/cluster/cluster_spec.h"
#include "libs/cluster/device_filters.h"
#include "libs/cluster/device_name.h"
#include "libs/cluster/tf_config.h"

namespace weft {

// Parses a text as a cluster spec (JSON, a ClusterDef in text form, or the
// command-line form) and as a whole TF_CONFIG.
inline void FuzzClusterSpec(absl::string_view text) {
  if (const auto spec = ClusterSpec::Parse(text); spec.ok()) {
    const auto again = ClusterSpec::Parse(spec->ToString());
    RequireForFuzz(again.ok() && *again == *spec);
    RequireForFuzz(CheckSpecsAgree(*spec, "a", *again, "b").ok());
    for (const auto& [job, tasks] : spec->jobs()) {
      for (const auto& [index, address] : tasks) {
        const auto found = spec->TaskAddress(job, index);
        RequireForFuzz(found.ok() && *found == address);
        RequireForFuzz(DeviceName::Parse(TaskName(job, index)).ok());
      }
    }
  }
  const auto config = TfConfig::Parse(text);
  if (!config.ok() || !config->IsTrainer()) return;
  RequireForFuzz(config->trainer_index() >= 0 &&
                 config->trainer_index() < config->num_trainers());
}

// Parses each line as a device name. Also compares the names with each other,
// and uses them as filters.
inline void FuzzDeviceName(absl::string_view text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  if (lines.size() > 8) lines.resize(8);
  DeviceName merged;
  for (const std::string& line : lines) {
    const auto name = DeviceName::Parse(line);
    if (!name.ok()) continue;
    const auto again = DeviceName::Parse(name->ToString());
    RequireForFuzz(again.ok() && *again == *name);
    RequireForFuzz(name->IsSpecificationOf(*name) &&
                   name->IsCompatibleWith(merged) ==
                       merged.IsCompatibleWith(*name));
    const bool compatible = merged.IsCompatibleWith(*name);
    RequireForFuzz(merged.MergeFrom(*name).ok() == compatible);
    RequireForFuzz(!compatible || name->IsSpecificationOf(merged));
    merged = merged.OverriddenBy(*name);
    RequireForFuzz(name->IsSpecificationOf(merged));
  }
  if (const auto filters = DeviceFilters::Parse(lines); filters.ok()) {
    (void)filters->Passes(merged);
    (void)filters->PassesTask(merged);
  }
}

}  // namespace weft

#endif  // WEFT_LIBS_CLUSTER_TESTING_FUZZ_TARGETS_H_
