#include "libs/master/session_quotas.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace weft {
namespace {

int64_t BytesOf(const Tensor& tensor) {
  return static_cast<int64_t>(tensor.TotalBytes());
}

std::string LargestFeed(absl::Span<const Tensor> feeds,
                        const protocol::CallableSpec& spec) {
  size_t largest = 0;
  for (size_t i = 0; i < feeds.size(); ++i) {
    if (BytesOf(feeds[i]) > BytesOf(feeds[largest])) largest = i;
  }
  return absl::StrCat("feed ", spec.feeds[largest], " of ",
                      BytesOf(feeds[largest]), " bytes");
}

}  // namespace

int64_t SessionQuotas::BytesOfGraph(size_t sent, int num_nodes,
                                    int64_t expanded_bytes) {
  return std::max(static_cast<int64_t>(sent),
                  num_nodes * kLeastNodeBytes + expanded_bytes);
}

absl::Status SessionQuotas::CheckGraph(int64_t bytes_before, int64_t bytes_more,
                                       const std::string& task) const {
  if (bytes_more <= max_graph_bytes - bytes_before) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      task, ": the session's graph has ", bytes_before, " bytes of the ",
      max_graph_bytes, " that it may have, and can't be extended by ",
      bytes_more, ". Each node counts for at least ", kLeastNodeBytes,
      ", and so do the nodes of the functions that are called. Feed large "
      "constants, call functions less often, or raise "
      "max_graph_bytes_per_session there."));
}

absl::Status SessionQuotas::CheckCallables(size_t num_before,
                                           const std::string& task) const {
  if (num_before < static_cast<uint64_t>(max_callables)) {
    return absl::OkStatus();
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      task, ": the session has ", num_before,
      " callables, one for each set of feeds, fetches and targets. Release "
      "some, or raise max_callables_per_session there."));
}

absl::StatusOr<int64_t> FedBytes::Take(absl::Span<const Tensor> feeds,
                                       int64_t limit,
                                       const protocol::CallableSpec& spec,
                                       const std::string& task) {
  int64_t bytes = 0;
  for (const Tensor& feed : feeds) bytes += BytesOf(feed);
  if (bytes == 0) return 0;
  int64_t before = taken_.load(std::memory_order_relaxed);
  while (bytes <= limit - before) {
    if (taken_.compare_exchange_weak(before, before + bytes,
                                     std::memory_order_relaxed)) {
      return bytes;
    }
  }
  return absl::ResourceExhaustedError(absl::StrCat(
      LargestFeed(feeds, spec), ": ", task, " has no room for ", bytes,
      " bytes of feeds: running steps of the session take ", before, " of the ",
      limit,
      " that they may. Feed less at once, or raise max_fed_bytes_per_session "
      "there."));
}

void FedBytes::GiveBack(int64_t bytes) {
  if (bytes > 0) taken_.fetch_sub(bytes, std::memory_order_relaxed);
}

}  // namespace weft
