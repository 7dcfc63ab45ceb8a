#include "libs/coordinator/waiting_call.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/first_names.h"

namespace weft {
namespace {

constexpr size_t kNamed = 8;

}  // namespace

std::string ListTasks(const std::set<std::string>& tasks) {
  return FirstNames(tasks, kNamed);
}

absl::Time WaitingCall::NextTime() const {
  const absl::Time next = std::min(deadline, lines.next());
  return has_left.ok() ? next : std::min(next, back_until);
}

std::string WaitingCall::Describe() const {
  const std::string who = status_done != nullptr ? "A status of the cluster"
                          : request == nullptr
                              ? "A list of devices"
                              : absl::StrCat("A session of ", request->task);
  if (!missing.empty()) {
    return absl::StrCat(who, " waits for ", ListTasks(missing), " to join");
  }
  if (!reporting.empty()) {
    return absl::StrCat(who, " waits for ", ListTasks(reporting),
                        " to report which resources exist there");
  }
  return absl::StrCat(who, " waits for earlier placements");
}

absl::Status WaitingCall::TooLate() const {
  if (missing.empty()) {
    return absl::DeadlineExceededError(
        absl::StrCat(Describe(), ", which took too long."));
  }
  const bool is_one = missing.size() == 1;
  return absl::DeadlineExceededError(absl::StrCat(
      ListTasks(missing), is_one ? " has" : " have", " not joined. Start ",
      is_one ? "it, or leave it" : "them, or leave them",
      " out with device_filters."));
}

absl::AnyInvocable<void()> WaitingCall::Fail(absl::Status why) {
  if (status_done != nullptr) {
    return [done = std::move(status_done), why = std::move(why)]() mutable {
      done(std::move(why));
    };
  }
  if (request == nullptr) {
    return [done = std::move(list_done), why = std::move(why)]() mutable {
      done(std::move(why));
    };
  }
  return [done = std::move(place_done), why = std::move(why),
          request = std::move(request)]() mutable { done(std::move(why)); };
}

}  // namespace weft
