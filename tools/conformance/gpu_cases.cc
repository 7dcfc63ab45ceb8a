#include "tools/conformance/gpu_cases.h"

#include <initializer_list>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace weft::conformance {
namespace {

bool IsAmong(absl::string_view directory,
             std::initializer_list<absl::string_view> names) {
  for (absl::string_view name : names) {
    if (absl::EndsWith(directory, absl::StrCat("/", name))) return true;
  }
  return false;
}

}  // namespace

bool IsOfCpus(absl::string_view directory) {
  return IsAmong(directory,
                 {
                     // A reader has a kernel for CPUs only; its queue was asked
                     // for on the GPU, which soft placement does not take back.
                     "queues/string_input_producer",
                     "records/ordered_producer",
                     "records/shuffled_producer",
                     // Fetches a reference and its change, in no order.
                     "sessions/extend_local",
                     // Expects nodes on CPUs.
                     "sessions/log_device_placement",
                 });
}

bool IsBeyondCuda(absl::string_view directory) {
  return IsAmong(directory, {
                                // Refused.
                                "ops/MaxPool_across_channels",
                                "ops/batch_norm_of_nothing",
                                // CPUs round to half at each addition, and
                                // these add as floats.
                                "ops/Cumsum_half",
                                "ops/Softmax_half",
                                "ops/Sum_half",
                            });
}

bool HasErrorsOfCpus(absl::string_view directory) {
  return IsAmong(directory, {
                                "ops/Gather",
                                "ops/GatherV2",
                                "ops/SparseSoftmaxCrossEntropyWithLogits",
                                "ops/UnsortedSegmentMax",
                                "ops/UnsortedSegmentMin",
                                "ops/UnsortedSegmentProd",
                                "ops/UnsortedSegmentSum",
                            });
}

}  // namespace weft::conformance
