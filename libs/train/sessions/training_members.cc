#include "libs/train/sessions/training_members.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/resource/lookup_ops.h"
#include "libs/train/optimizers/shared_names.h"

namespace weft::train {
namespace {

constexpr absl::Duration kTimeout = absl::Seconds(5);

// Encoding of an entry: training, a number that grows with each write, state.
constexpr int kStateBits = 2;
constexpr int kBeatBits = 40;

constexpr char kBeforeId = '#';

}  // namespace

std::string TrainingMembers::UniqueName(absl::string_view label,
                                        Random* random) {
  const std::unique_ptr<Random> own =
      random == nullptr ? NewSystemRandom() : nullptr;
  Random& used = own != nullptr ? *own : *random;
  return absl::StrCat(label, std::string(1, kBeforeId),
                      absl::Hex(used.NextId()));
}

std::string TrainingMembers::LabelOf(absl::string_view name) {
  return std::string(name.substr(0, name.find(kBeforeId)));
}

TrainingMembers::TrainingMembers(std::string table, std::string name)
    : table_(std::move(table)), name_(std::move(name)) {}

absl::Status TrainingMembers::AddNodes(const Scope& scope,
                                       const Output& global_step) {
  if (write_) return absl::OkStatus();
  const Scope beside = InContainerOf(
      scope.ReenterScope("").SubScope(table_).ColocateWith(global_step),
      global_step);
  const Output table = ops::MutableHashTable(
      beside.WithName("table"), DT_STRING, DT_INT64,
      {.shared_name = SharedNameBeside(global_step, table_)});
  value_ = ops::Placeholder(beside.WithName("value"), DT_INT64, {.shape = {1}});
  write_ = ops::LookupTableInsert(beside, table,
                                  Tensor::Vector<std::string>({name_}), value_);
  removed_names_ = ops::Placeholder(beside.WithName("removed_names"), DT_STRING,
                                    {.shape = {-1}});
  remove_ = ops::LookupTableRemove(beside, table, removed_names_);
  const ops::LookupTableExportOutputs all =
      ops::LookupTableExport(beside, table, DT_STRING, DT_INT64);
  names_ = all.keys;
  values_ = all.values;
  return scope.status();
}

int64_t TrainingMembers::NextValue(absl::Time now) {
  if (num_beats_ == 0) num_beats_ = absl::ToUnixMicros(now);
  const int64_t beat = ++num_beats_ & ((int64_t{1} << kBeatBits) - 1);
  return (entry_.training << (kBeatBits + kStateBits)) | (beat << kStateBits) |
         static_cast<int64_t>(entry_.state);
}

absl::Status TrainingMembers::Report(Session& session, State state,
                                     int64_t training) {
  {
    absl::MutexLock lock(&mutex_);
    entry_ = {state, training};
  }
  return Beat(session);
}

absl::Status TrainingMembers::Renumber(Session& session, int64_t training) {
  {
    absl::MutexLock lock(&mutex_);
    entry_.training = training;
  }
  return Beat(session);
}

// Another thread may have written a different state in between.
absl::Status TrainingMembers::Beat(Session& session) {
  while (true) {
    Entry written;
    int64_t value = 0;
    {
      absl::MutexLock lock(&mutex_);
      written = entry_;
      value = NextValue(session.scheduler().clock().Now());
    }
    RETURN_IF_ERROR(session.Run({{value_, Tensor::Vector<int64_t>({value})}},
                                write_, {.timeout = kTimeout}));
    absl::MutexLock lock(&mutex_);
    if (entry_ == written) return absl::OkStatus();
  }
}

absl::Duration TrainingMembers::SilenceOf(const std::string& name,
                                          int64_t value, absl::Time now) {
  const auto [seen, is_new] = seen_.try_emplace(name, Seen{value, now});
  if (!is_new && seen->second.value != value) seen->second = {value, now};
  return now - seen->second.since;
}

absl::StatusOr<std::vector<TrainingMembers::Member>> TrainingMembers::Read(
    Session& session) {
  ASSIGN_OR_RETURN(
      const std::vector<Tensor> all,
      session.Run({}, {names_, values_}, {}, {.timeout = kTimeout}));
  const auto names = all[0].flat<std::string>();
  const auto values = all[1].flat<int64_t>();
  const absl::Time now = session.scheduler().clock().Now();
  std::vector<Member> members;
  absl::MutexLock lock(&mutex_);
  const std::set<std::string> present(names.begin(), names.end());
  std::erase_if(
      seen_, [&](const auto& seen) { return !present.contains(seen.first); });
  for (size_t i = 0; i < names.size(); ++i) {
    const int64_t value = values[i];
    members.push_back(
        {.name = names[i],
         .state = static_cast<State>(value & ((1 << kStateBits) - 1)),
         .training = value >> (kBeatBits + kStateBits),
         .value = value,
         .silence = SilenceOf(names[i], value, now)});
  }
  std::sort(members.begin(), members.end(),
            [](const Member& a, const Member& b) { return a.name < b.name; });
  return members;
}

void TrainingMembers::RestartSilence() {
  absl::MutexLock lock(&mutex_);
  seen_.clear();
}

absl::Status TrainingMembers::Remove(Session& session,
                                     const std::vector<std::string>& names) {
  return session.Run({{removed_names_, Tensor::Vector<std::string>(names)}},
                     remove_, {.timeout = kTimeout});
}

}  // namespace weft::train
