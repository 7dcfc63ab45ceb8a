#include "libs/ops/load_balancing.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/fnv1a.h"
#include "libs/base/status.h"

namespace weft {
namespace {

absl::Status CheckTasks(const char* strategy, int num_tasks) {
  if (num_tasks > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      strategy, " needs at least one task to choose from, not ", num_tasks));
}

template <typename T>
const T* Attr(const NodeSpec& node, const char* name) {
  auto it = node.attrs.find(name);
  return it == node.attrs.end() ? nullptr : it->second.Get<T>();
}

// FNV-1a, then mixed so that the low bits depend on every character. Must never
// change: replicas of different builds must agree.
uint64_t StableHash(const std::string& text) {
  uint64_t hash = ExtendFnv1a(kFnv1aOffset, text);
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
  return hash ^ (hash >> 33);
}

}  // namespace

absl::StatusOr<double> ByteSizeLoad(const NodeSpec& node) {
  const auto* shape = Attr<PartialShape>(node, "shape");
  if (shape == nullptr) return 1;
  if (!shape->IsFullyDefined()) {
    return absl::InvalidArgumentError(
        absl::StrCat("The size of '", node.name, "' is not known: its shape ",
                     shape->ToString(), " is not fully defined"));
  }
  const auto* dtype = Attr<DataType>(node, "dtype");
  const size_t size =
      dtype == nullptr ? 1 : DataTypeSize(RemoveRefType(*dtype));
  double bytes = static_cast<double>(std::max<size_t>(size, 1));
  for (const int64_t dim : shape->dims()) bytes *= static_cast<double>(dim);
  return bytes;
}

PsStrategy RoundRobin(int num_tasks) {
  auto next = std::make_shared<int>(0);
  return [num_tasks, next](const NodeSpec&) -> absl::StatusOr<int> {
    RETURN_IF_ERROR(CheckTasks("RoundRobin", num_tasks));
    const int task = *next;
    *next = (task + 1) % num_tasks;
    return task;
  };
}

PsStrategy GreedyLoadBalancing(int num_tasks, LoadFunction load) {
  auto loads =
      std::make_shared<std::vector<double>>(std::max(num_tasks, 0), 0.0);
  return [num_tasks, load = std::move(load),
          loads](const NodeSpec& node) -> absl::StatusOr<int> {
    RETURN_IF_ERROR(CheckTasks("GreedyLoadBalancing", num_tasks));
    if (load == nullptr) {
      return absl::InvalidArgumentError(
          "GreedyLoadBalancing needs a load function");
    }
    ASSIGN_OR_RETURN(const double added, load(node));
    if (!(added >= 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("The load of '", node.name, "' is ", added,
                       "; GreedyLoadBalancing needs loads of at least 0"));
    }
    const auto least = std::min_element(loads->begin(), loads->end());
    *least += added;
    return static_cast<int>(least - loads->begin());
  };
}

PsStrategy RandomByName(int num_tasks, int64_t seed) {
  return [num_tasks, seed](const NodeSpec& node) -> absl::StatusOr<int> {
    RETURN_IF_ERROR(CheckTasks("RandomByName", num_tasks));
    const uint64_t hash = StableHash(absl::StrCat(node.name, "_", seed));
    return static_cast<int>(hash % static_cast<uint64_t>(num_tasks));
  };
}

}  // namespace weft
