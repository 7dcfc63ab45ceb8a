#include "tools/conformance/step_player.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "libs/base/clock.h"
#include "libs/base/status.h"
#include "libs/fs/path.h"

namespace weft::conformance {
namespace {

constexpr absl::string_view kScratch = "@tmp/";
constexpr absl::Duration kJoinTimeout = absl::Seconds(30);

absl::Status Differs(absl::string_view text) {
  return absl::UnknownError(text);
}

// Returns whether a code matches the expected one. INVALID_ARGUMENT also
// matches where TensorFlow reports INTERNAL or ABORTED for a bad argument.
bool IsExpectedCode(absl::StatusCode code, absl::string_view expected) {
  if (StatusCodeName(code) == expected) return true;
  return code == absl::StatusCode::kInvalidArgument &&
         (expected == "INTERNAL" || expected == "ABORTED");
}

absl::Status CheckError(const absl::Status& status,
                        const ExpectedError& expected) {
  if (status.ok()) {
    return Differs(absl::StrCat("no error, want ", expected.code));
  }
  if (!IsExpectedCode(status.code(), expected.code)) {
    return Differs(
        absl::StrCat("error ", status.ToString(), ", want ", expected.code));
  }
  if (!absl::StrContains(status.message(), expected.contains)) {
    return Differs(absl::StrCat("error \"", status.message(),
                                "\" does not contain \"", expected.contains,
                                "\""));
  }
  return absl::OkStatus();
}

}  // namespace

// A step that runs in the background.
struct StepPlayer::Background {
  const Step* step = nullptr;
  RunRequest request;
  Fetched fetched = absl::InternalError("the step has not run");
  std::unique_ptr<Event> done;
};

StepPlayer::StepPlayer(const Case& test_case, const TensorPack& tensors,
                       FileSystem& fs, std::string scratch,
                       SessionFactory& factory, Scheduler& scheduler)
    : case_(test_case),
      tensors_(tensors),
      fs_(fs),
      scratch_(std::move(scratch)),
      factory_(factory),
      scheduler_(scheduler) {}

StepPlayer::~StepPlayer() {
  // Ends the background steps that still run. Their results no longer matter.
  for (auto& [name, session] : sessions_) session->Close().IgnoreError();
  for (auto& [name, background] : background_) background->done->Wait();
}

bool StepPlayer::KnowsAction(absl::string_view action) {
  return action == "run" || action == "join" || action == "extend" ||
         action == "close" || action == "reset" || action == "sleep";
}

absl::Status StepPlayer::Play(const Step& step) {
  if (step.action == "run") {
    return step.background.empty() ? PlayRun(step) : StartBackground(step);
  }
  if (step.action == "join") return Join(step);
  if (step.action == "extend") return Extend(step);
  if (step.action == "close") return Close(step);
  if (step.action == "reset") return Reset(step);
  if (step.action == "sleep") return Sleep(step);
  return Differs(absl::StrCat("unknown action ", step.action));
}

absl::Status StepPlayer::PlayRun(const Step& step) {
  ASSIGN_OR_RETURN(const RunRequest request, MakeRequest(step));
  absl::StatusOr<ReplaySession*> session = GetSession(step.session);
  // If the graph is rejected when it is sent to the session, the run counts as
  // rejected.
  const Fetched fetched =
      session.ok() ? (*session)->Run(request) : Fetched(session.status());
  RETURN_IF_ERROR(CheckOutcome(step, step, fetched));
  if (!session.ok()) return absl::OkStatus();
  RETURN_IF_ERROR(CheckPlacement(step, **session));
  RETURN_IF_ERROR(CheckLogLines(step, **session));
  return CheckFiles(step);
}

absl::Status StepPlayer::StartBackground(const Step& step) {
  auto background = std::make_unique<Background>();
  background->step = &step;
  background->done = scheduler_.NewEvent();
  ASSIGN_OR_RETURN(background->request, MakeRequest(step));
  ASSIGN_OR_RETURN(ReplaySession* const session, GetSession(step.session));
  scheduler_.Schedule(Pool::kBlocking, [session, b = background.get()] {
    b->fetched = session->Run(b->request);
    b->done->Set();
  });
  background_[step.background] = std::move(background);
  return absl::OkStatus();
}

absl::Status StepPlayer::Join(const Step& step) {
  auto it = background_.find(step.join);
  if (it == background_.end()) {
    return Differs(absl::StrCat("no background step ", step.join));
  }
  Background& background = *it->second;
  if (!background.done->WaitUntil(scheduler_.clock().Now() + kJoinTimeout)) {
    return Differs(absl::StrCat("background step ", step.join,
                                " has not ended after ",
                                absl::FormatDuration(kJoinTimeout)));
  }
  absl::Status checked =
      CheckOutcome(step, *background.step, background.fetched);
  background_.erase(it);
  return checked;
}

absl::Status StepPlayer::Extend(const Step& step) {
  ASSIGN_OR_RETURN(ReplaySession* const session, GetSession(step.session));
  ASSIGN_OR_RETURN(const std::string graph_def,
                   fs_.ReadFile(JoinPath(case_.directory, step.graph)));
  const absl::Status extended = session->Extend(graph_def);
  if (step.expect_error) return CheckError(extended, *step.expect_error);
  return extended;
}

absl::Status StepPlayer::Close(const Step& step) {
  ASSIGN_OR_RETURN(ReplaySession* const session, GetSession(step.session));
  const absl::Status closed = session->Close();
  sessions_.erase(step.session);
  if (step.expect_error) return CheckError(closed, *step.expect_error);
  return closed;
}

absl::Status StepPlayer::Reset(const Step& step) {
  const absl::Status reset = factory_.Reset(step.task, step.containers);
  if (step.expect_error) return CheckError(reset, *step.expect_error);
  return reset;
}

absl::Status StepPlayer::Sleep(const Step& step) {
  scheduler_.NewEvent()->WaitUntil(scheduler_.clock().Now() + step.pause);
  return absl::OkStatus();
}

absl::StatusOr<ReplaySession*> StepPlayer::GetSession(const std::string& name) {
  auto it = sessions_.find(name);
  if (it != sessions_.end()) return it->second.get();
  auto spec = case_.sessions.find(name);
  if (spec == case_.sessions.end()) {
    return Differs(absl::StrCat("the case has no session ", name));
  }
  ASSIGN_OR_RETURN(const std::string graph_def,
                   fs_.ReadFile(JoinPath(case_.directory, spec->second.graph)));
  const bool keep_placement = std::any_of(
      case_.steps.begin(), case_.steps.end(), [&](const Step& step) {
        return step.session == name && step.expect_placement.has_value();
      });
  ASSIGN_OR_RETURN(
      std::unique_ptr<ReplaySession> session,
      factory_.NewSession(spec->second, graph_def, keep_placement));
  return (sessions_[name] = std::move(session)).get();
}

absl::StatusOr<Tensor> StepPlayer::FindTensor(const std::string& key) const {
  auto it = tensors_.find(key);
  if (it != tensors_.end()) return it->second;
  return Differs(absl::StrCat("tensors.pb has no ", key));
}

absl::Status StepPlayer::AddFeeds(const KeyedFeeds& feeds,
                                  RunRequest& request) const {
  for (const auto& [name, key] : feeds) {
    ASSIGN_OR_RETURN(Tensor tensor, FindTensor(key));
    request.feeds.emplace_back(name, std::move(tensor));
  }
  return absl::OkStatus();
}

absl::StatusOr<RunRequest> StepPlayer::MakeRequest(const Step& step) const {
  RunRequest request{.feeds = {},
                     .fetches = step.fetches,
                     .targets = step.targets,
                     .timeout = step.timeout};
  RETURN_IF_ERROR(AddFeeds(step.feeds, request));
  RETURN_IF_ERROR(AddFeeds(step.repeat_feeds, request));
  for (const PathFeed& feed : step.path_feeds) {
    std::vector<std::string> paths;
    for (const std::string& path : feed.paths) {
      paths.push_back(ResolvePath(path));
    }
    request.feeds.emplace_back(
        feed.tensor, feed.is_vector
                         ? Tensor::Vector<std::string>(absl::MakeSpan(paths))
                         : Tensor::Scalar(paths[0]));
  }
  return request;
}

std::string StepPlayer::ResolvePath(const std::string& path) const {
  absl::string_view rest = path;
  if (absl::ConsumePrefix(&rest, kScratch)) return JoinPath(scratch_, rest);
  return JoinPath(case_.directory, path);
}

absl::Status StepPlayer::CheckOutcome(const Step& step, const Step& how,
                                      const Fetched& fetched) const {
  if (step.expect_error) {
    return CheckError(fetched.status(), *step.expect_error);
  }
  if (!fetched.ok()) return Differs(fetched.status().ToString());
  return CheckFetches(step, how, *fetched);
}

absl::Status StepPlayer::CheckFetches(
    const Step& step, const Step& how,
    const std::vector<Tensor>& fetched) const {
  if (how.compare.mode == Comparison::Mode::kMoments) {
    if (fetched.empty()) return Differs("nothing was fetched");
    auto difference = MomentsDifference(fetched[0], how.compare);
    return difference ? Differs(absl::StrCat(how.fetches[0], ": ", *difference))
                      : absl::OkStatus();
  }
  if (fetched.size() != step.expect.size()) {
    return Differs(
        absl::StrCat(fetched.size(), " fetches, want ", step.expect.size()));
  }
  for (size_t i = 0; i < fetched.size(); ++i) {
    ASSIGN_OR_RETURN(const Tensor want, FindTensor(step.expect[i]));
    auto difference = Difference(fetched[i], want, how.compare);
    if (difference) {
      return Differs(absl::StrCat(how.fetches[i], ": ", *difference));
    }
  }
  return absl::OkStatus();
}

absl::Status StepPlayer::CheckFiles(const Step& step) const {
  for (const auto& [made, kept] : step.expect_files) {
    ASSIGN_OR_RETURN(const std::string got, fs_.ReadFile(ResolvePath(made)));
    ASSIGN_OR_RETURN(const std::string want, fs_.ReadFile(ResolvePath(kept)));
    if (got == want) continue;
    const auto at =
        std::mismatch(got.begin(), got.end(), want.begin(), want.end());
    return Differs(absl::StrCat(made, " (", got.size(), " bytes) differs from ",
                                kept, " (", want.size(), " bytes) at byte ",
                                at.first - got.begin()));
  }
  return absl::OkStatus();
}

absl::Status StepPlayer::CheckPlacement(const Step& step,
                                        ReplaySession& session) const {
  if (!step.expect_placement) return absl::OkStatus();
  std::map<std::string, std::string> devices;
  for (const Placement& placement : session.Placements()) {
    devices[placement.node] = placement.device;
  }
  for (const auto& [node, device] : *step.expect_placement) {
    if (devices[node] == device) continue;
    return Differs(absl::StrCat(node, " is on \"", devices[node], "\", want \"",
                                device, "\""));
  }
  return absl::OkStatus();
}

absl::Status StepPlayer::CheckLogLines(const Step& step,
                                       ReplaySession& session) {
  if (!step.expect_log_lines) return absl::OkStatus();
  std::vector<std::string> lines;
  for (const Placement& placement : session.Placements()) {
    lines.push_back(placement.log_line);
  }
  // A step logs only the nodes that it is the first to place.
  const size_t seen = std::min(lines_seen_[&session], lines.size());
  lines_seen_[&session] = lines.size();
  lines.erase(lines.begin(), lines.begin() + seen);
  std::sort(lines.begin(), lines.end());
  if (lines == *step.expect_log_lines) return absl::OkStatus();
  return Differs(
      absl::StrCat("logged [", absl::StrJoin(lines, "; "), "], want [",
                   absl::StrJoin(*step.expect_log_lines, "; "), "]"));
}

}  // namespace weft::conformance
