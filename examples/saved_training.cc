#include "examples/saved_training.h"

#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/checkpoint/checkpoint_state.h"

namespace weft::examples {

// Builds a model with 784 weights and a bias for each of 100 outputs. All
// labels are 1.
SavedTraining::SavedTraining(SavedTrainingOptions options)
    : options_(std::move(options)) {
  const Scope scope =
      root_.WithDeviceFunction(ReplicaDeviceSetter({.ps_tasks = 3}));
  const ops::Variable global_step = train::GetOrCreateGlobalStep(scope);
  const ops::Variable weights_1 =
      ops::GetVariable(scope, "weights_1", {784, 100});
  const ops::Variable biases_1 = ops::GetVariable(scope, "biases_1", {100});
  const Output x =
      ops::RandomUniform(scope, ops::Const(scope, {16, 784}), DT_FLOAT);
  const Output y = ops::Add(scope, ops::MatMul(scope, x, weights_1), biases_1);
  loss_ = ops::Mean(scope, ops::Square(scope, ops::Sub(scope, y, 1.0f)),
                    ops::Const(scope, {0, 1}));
  train_ = train::GradientDescent(1e-2f).Minimize(scope, loss_,
                                                  {.global_step = global_step});
  // The step is read after the increment, so that each training step returns
  // its own number.
  step_ = global_step.Read(scope.WithControlDependencies({train_}));
  init_ = ops::GlobalVariablesInitializer(scope);
  train::SaverOptions sharded;
  sharded.sharded = true;
  saver_.emplace(root_, std::move(sharded));
}

absl::Status SavedTraining::Train(const std::string& target) {
  ASSIGN_OR_RETURN(auto session, Session::Connect(target, root_));
  RETURN_IF_ERROR(RestoreOrInitialize(*session));
  int64_t step = 0;
  while (step < options_.steps) {
    ASSIGN_OR_RETURN(const auto values,
                     session->Run({}, {step_, loss_}, {train_}));
    step = values[0].scalar<int64_t>();
    if (step % options_.save_every == 0 || step == options_.steps) {
      RETURN_IF_ERROR(Save(*session, step, values[1].scalar<float>()));
    }
  }
  return session->Close();
}

absl::Status SavedTraining::RestoreOrInitialize(Session& session) {
  ASSIGN_OR_RETURN(
      const auto newest,
      checkpoint::LatestCheckpoint(*session.file_system(), options_.folder));
  if (!newest.has_value()) return session.Run(init_);
  RETURN_IF_ERROR(saver_->Restore(session, *newest));
  std::printf("restored %s\n", newest->c_str());
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status SavedTraining::Save(Session& session, int64_t step, float loss) {
  ASSIGN_OR_RETURN(
      const std::string path,
      saver_->Save(session, absl::StrCat(options_.folder, "/model"),
                   {.global_step = step}));
  std::printf("step %lld, loss %.4f: saved %s\n", static_cast<long long>(step),
              loss, path.c_str());
  std::fflush(stdout);
  return absl::OkStatus();
}

}  // namespace weft::examples
