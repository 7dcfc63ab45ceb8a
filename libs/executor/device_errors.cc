#include "libs/executor/device_errors.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/device/device_memory.h"
#include "libs/resource/variable.h"

namespace weft {
namespace {

// The maximum number of variables that a text names.
constexpr size_t kNamed = 3;

// Returns "3 variables 1200 (w 800, b 400)", or an empty string.
std::string DescribeVariables(const ResourceManager& resources) {
  std::vector<std::shared_ptr<Resource>> all;
  resources.AppendAll(all);
  std::vector<std::pair<int64_t, std::string>> variables;
  for (const std::shared_ptr<Resource>& resource : all) {
    // Resources of other kinds are skipped: they may be locked for long, and
    // have nothing on the device.
    if (resource->type_name() != Variable::kTypeName) continue;
    const int64_t bytes = resource->info().num_bytes;
    if (bytes == 0) continue;
    variables.push_back({bytes, static_cast<Variable&>(*resource).name()});
  }
  if (variables.empty()) return "";
  std::sort(variables.begin(), variables.end(), std::greater<>());
  int64_t bytes = 0;
  std::string named;
  for (size_t i = 0; i < variables.size(); ++i) {
    bytes += variables[i].first;
    if (i >= kNamed) continue;
    absl::StrAppend(&named, i == 0 ? "" : ", ", variables[i].second, " ",
                    variables[i].first);
  }
  if (variables.size() > kNamed) absl::StrAppend(&named, ", ...");
  return absl::StrCat(": ", variables.size(),
                      variables.size() == 1 ? " variable " : " variables ",
                      bytes, " (", named, "), values of steps the rest");
}

}  // namespace

std::string DescribeMemory(const Device& device,
                           const ResourceManager* resources) {
  const DeviceMemory memory = MemoryOf(device);
  if (memory.limit == 0) return "";
  std::string text = absl::StrCat("; buffers hold ", memory.in_use, " of its ",
                                  memory.limit, " bytes");
  if (resources != nullptr) {
    absl::StrAppend(&text, DescribeVariables(*resources));
  }
  if (const int64_t free = FreeMemoryOf(device); free > 0) {
    absl::StrAppend(&text, "; ", free, " of the hardware's ", memory.total,
                    " bytes are free");
  }
  return text;
}

LastNodes::List LastNodes::Get() const {
  List list{};
  const uint32_t count = count_.load(std::memory_order_relaxed);
  const uint32_t listed = std::min<uint32_t>(count, kNodes);
  for (uint32_t i = 0; i < listed; ++i) {
    list[i] =
        nodes_[(count - listed + i) % kNodes].load(std::memory_order_relaxed);
  }
  return list;
}

std::string Describe(const LastNodes::List& nodes) {
  std::string text;
  for (const NodeItem* node : nodes) {
    if (node == nullptr) continue;
    absl::StrAppend(
        &text,
        text.empty() ? "; the last nodes of the step that ran there: " : ", ",
        node->view.name, " (", node->view.op, ")");
  }
  return text;
}

}  // namespace weft
