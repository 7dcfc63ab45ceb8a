#include "libs/train/sessions/session_run_hook.h"

namespace weft::train {

absl::Status SessionRunHook::Begin(const Scope&) { return absl::OkStatus(); }

absl::Status SessionRunHook::AfterCreateSession(Session&, Coordinator&) {
  return absl::OkStatus();
}

absl::StatusOr<SessionRunArgs> SessionRunHook::BeforeRun(SessionRunContext&) {
  return SessionRunArgs();
}

absl::Status SessionRunHook::AfterRun(SessionRunContext&,
                                      const SessionRunValues&) {
  return absl::OkStatus();
}

absl::StatusOr<SessionRunHook::Others> SessionRunHook::PollOtherPrograms(
    Session&) {
  return Others::kUnknown;
}

void SessionRunHook::OnLastStepRejected(Session&) {}

absl::Status SessionRunHook::End(Session&) { return absl::OkStatus(); }

bool SessionRunHook::HasReachedEnd(Session&) { return false; }

absl::Status SessionRunHook::TrainingHasEnded(Session&) {
  return absl::OkStatus();
}

void SessionRunHook::BeforeSessionDestroyed() {}

absl::Status SessionRunHook::SaveBetweenUpdates(
    absl::FunctionRef<absl::Status()> save) {
  return save();
}

Operation SessionRunHook::ServedTrainOp() const { return Operation(); }

}  // namespace weft::train
