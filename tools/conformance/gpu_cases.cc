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
  return IsAmong(directory, {
                                // The reader has a kernel for CPUs only. Its
                                // queue was requested on the GPU, and soft
                                // placement does not change that.
                                "queues/string_input_producer",
                                "records/ordered_producer",
                                "records/shuffled_producer",
                                // Fetches a reference variable and its update
                                // in an unspecified order.
                                "sessions/extend_local",
                                // Expects nodes to be on CPUs.
                                "sessions/log_device_placement",
                            });
}

bool IsBeyondCuda(absl::string_view directory) {
  return IsAmong(directory, {
                                // The kernels for NVIDIA GPUs reject these ops.
                                "ops/MaxPool_across_channels",
                                "ops/batch_norm_of_nothing",
                                // CPUs round to half precision after each
                                // addition, but these kernels add in float.
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
