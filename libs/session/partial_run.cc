// Implements the client side of partial runs, which tracks the declared, fed
// and fetched tensors.
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/async/sync_call.h"
#include "libs/base/exceptions.h"
#include "libs/base/hash_tables.h"
#include "libs/base/status.h"
#include "libs/session/session.h"

namespace weft {
namespace {

// Returns the position of `wanted` in `all`, and marks it as used. The error
// texts are TensorFlow's.
absl::StatusOr<int> FindUnused(const Output& wanted, absl::string_view what,
                               absl::string_view had,
                               const std::vector<Output>& all,
                               std::vector<bool>& turns) {
  if (!wanted) {
    return absl::InvalidArgumentError(
        absl::StrCat("A ", what, " of this partial run is null."));
  }
  const auto found = std::find(all.begin(), all.end(), wanted);
  if (found == all.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("The ", what, " ", wanted.name(),
                     " was not specified in partial_run_setup."));
  }
  const int position = static_cast<int>(found - all.begin());
  if (turns[position]) {
    return absl::InvalidArgumentError(absl::StrCat(
        "The ", what, " ", wanted.name(), " has already been ", had, "."));
  }
  turns[position] = true;
  return position;
}

bool IsPlaceholder(const Node& node) {
  return node.type() == "Placeholder" || node.type() == "PlaceholderV2";
}

// Maps each fed tensor to the position of its feed.
using FeedPositions = FlatHashMap<OutputTensor, int>;

// Returns, for each feed, whether the fetch depends on it. Searches the graph
// backwards from the fetch.
std::vector<bool> NeedsOf(const Output& fetch, const FeedPositions& feeds) {
  // Stands for an output that cannot be fed, of a node that only has to run.
  constexpr int kNoOutput = -1;
  std::vector<bool> needs(feeds.size());
  std::vector<OutputTensor> left = {fetch.output_tensor()};
  FlatHashSet<const Node*> seen;
  while (!left.empty()) {
    const OutputTensor next = left.back();
    left.pop_back();
    const auto feed = feeds.find(next);
    if (feed != feeds.end()) {
      needs[feed->second] = true;
      continue;
    }
    if (!seen.insert(next.node).second) continue;
    for (const OutputTensor& input : next.node->inputs()) left.push_back(input);
    for (const Node* control : next.node->control_inputs()) {
      // A fed placeholder never runs, not even for its control edges.
      left.push_back({control, IsPlaceholder(*control) ? 0 : kNoOutput});
    }
  }
  return needs;
}

bool HasAll(const std::vector<bool>& turns) {
  return std::find(turns.begin(), turns.end(), false) == turns.end();
}

}  // namespace

struct Session::OpenPartialRun {
  uint64_t callable = 0;
  // The declared feeds and fetches, in the order of their declaration; never
  // changed.
  std::vector<Output> feeds;
  std::vector<Output> fetches;
  // needs[fetch][feed] tells whether the fetch depends on the feed.
  std::vector<std::vector<bool>> needs;

  // Whether each feed was fed and each fetch was fetched. Guarded by the
  // session's lock.
  std::vector<bool> fed;
  std::vector<bool> fetched;
  int calls = 0;  // number of pending calls

  absl::Status CheckFetch(int fetch, const std::vector<bool>& now_fed) const {
    for (size_t feed = 0; feed < now_fed.size(); ++feed) {
      if (!needs[fetch][feed] || now_fed[feed]) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "Fetch ", fetches[fetch].name(),
          " can't be computed from the feeds that have been fed so far."));
    }
    return absl::OkStatus();
  }
  bool is_over() const { return calls == 0 && HasAll(fed) && HasAll(fetched); }
};

absl::StatusOr<std::string> Session::PartialRunSetup(
    const std::vector<Output>& feeds, const std::vector<Output>& fetches,
    const std::vector<Operation>& targets) {
  const auto make = [&]() -> absl::StatusOr<uint64_t> {
    RETURN_IF_ERROR(state_->error());
    ASSIGN_OR_RETURN(protocol::CallableSpec spec,
                     SpecOf(feeds, fetches, targets));
    spec.is_partial = true;
    return NewCallable(spec);
  };
  // Making the callable also compiles it, so after this all inputs of its nodes
  // are known to be connected.
  ASSIGN_OR_RETURN(const uint64_t callable, CatchExceptions(make));
  auto handle =
      CatchExceptions([&] { return OpenPartial(callable, feeds, fetches); });
  if (!handle.ok()) Release(callable);
  return handle;
}

absl::StatusOr<std::string> Session::OpenPartial(
    uint64_t callable, const std::vector<Output>& feeds,
    const std::vector<Output>& fetches) {
  auto run = std::make_shared<OpenPartialRun>();
  run->callable = callable;
  run->feeds = feeds;
  run->fetches = fetches;
  run->fed.resize(feeds.size());
  run->fetched.resize(fetches.size());
  FeedPositions positions;
  for (size_t i = 0; i < feeds.size(); ++i) {
    positions[feeds[i].output_tensor()] = static_cast<int>(i);
  }
  for (const Output& fetch : fetches) {
    run->needs.push_back(NeedsOf(fetch, positions));
  }
  std::string handle = absl::StrCat(callable);
  absl::MutexLock lock(&mutex_);
  partial_runs_[handle] = std::move(run);
  return handle;
}

absl::StatusOr<Session::PartialCall> Session::BeginPartialCall(
    const std::string& handle, const FeedList& feeds,
    const std::vector<Output>& fetches) {
  absl::MutexLock lock(&mutex_);
  if (closed_) {
    return absl::FailedPreconditionError("Session has been closed.");
  }
  const auto it = partial_runs_.find(handle);
  if (it == partial_runs_.end()) {
    return absl::InvalidArgumentError(
        "Must run 'setup' before performing partial runs!");
  }
  OpenPartialRun& run = *it->second;
  std::vector<bool> fed = run.fed;
  std::vector<bool> fetched = run.fetched;
  PartialCall call{.callable = run.callable};
  for (const auto& [feed, value] : feeds) {
    ASSIGN_OR_RETURN(const int position,
                     FindUnused(feed, "feed", "fed", run.feeds, fed));
    const DataType type = RemoveRefType(feed.dtype());
    if (value.dtype() != type) {
      return absl::InvalidArgumentError(
          absl::StrCat("The feed ", feed.name(), " takes ", DataTypeName(type),
                       ", but ", DataTypeName(value.dtype()), " is provided."));
    }
    RETURN_IF_ERROR(CheckFeedShape(feed.name(), feed.shape(), value));
    call.feeds.push_back(position);
  }
  for (const Output& fetch : fetches) {
    ASSIGN_OR_RETURN(const int position, FindUnused(fetch, "fetch", "fetched",
                                                    run.fetches, fetched));
    RETURN_IF_ERROR(run.CheckFetch(position, fed));
    call.fetches.push_back(position);
  }
  run.fed = std::move(fed);
  run.fetched = std::move(fetched);
  ++run.calls;
  return call;
}

void Session::EndPartialCall(const std::string& handle, bool has_failed) {
  uint64_t callable = 0;
  {
    absl::MutexLock lock(&mutex_);
    const auto it = partial_runs_.find(handle);
    if (it == partial_runs_.end()) return;  // another call failed
    OpenPartialRun& run = *it->second;
    --run.calls;
    if (!has_failed && !run.is_over()) return;
    callable = run.callable;
    partial_runs_.erase(it);
  }
  Release(callable);
}

absl::StatusOr<std::vector<Tensor>> Session::PartialRun(
    const std::string& handle, const FeedList& feeds,
    const std::vector<Output>& fetches) {
  std::vector<Tensor> values, results;
  const auto prepare = [&] {
    for (const auto& [feed, value] : feeds) values.push_back(value);
    results.resize(fetches.size());
    return BeginPartialCall(handle, feeds, fetches);
  };
  ASSIGN_OR_RETURN(const PartialCall call, CatchExceptions(prepare));
  SyncCall done(scheduler_);
  master_->RunCallable(id_, call.callable,
                       {.feeds = values,
                        .fetches = absl::MakeSpan(results),
                        .feed_indices = call.feeds,
                        .fetch_indices = call.fetches,
                        .thread = protocol::CallingThread::kWaits},
                       done.Done());
  const absl::Status ran = done.Wait();
  EndPartialCall(handle, !ran.ok());
  RETURN_IF_ERROR(ran);
  return results;
}

}  // namespace weft
