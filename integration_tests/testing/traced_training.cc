// Trains a model and traces its runs, for tensorboard_test.py. A ProfilerHook
// writes traces to DIRECTORY/hook, and a FileWriter writes traces to
// DIRECTORY/writer.
//
//   traced_training DIRECTORY
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "libs/api/weft.h"

namespace weft {
namespace {

constexpr RunOptions kTrace{.trace_level = TraceLevel::kFullTrace,
                            .output_partition_graphs = true};

absl::Status TraceOneRun(Session& session, const Scope& root,
                         const Operation& train, const std::string& logdir) {
  ASSIGN_OR_RETURN(const auto writer,
                   summary::FileWriter::Create(*session.file_system(),
                                               session.scheduler(), logdir));
  ASSIGN_OR_RETURN(const std::string graph, ExportGraphDef(root.graph()));
  RETURN_IF_ERROR(writer->AddGraph(graph));
  RunMetadata metadata;
  RETURN_IF_ERROR(session.Run({}, train, kTrace, &metadata));
  ASSIGN_OR_RETURN(const std::string bytes, Serialize(metadata));
  RETURN_IF_ERROR(writer->AddRunMetadata(bytes, "the run", /*step=*/1));
  return writer->Close();
}

absl::Status Main(const std::string& directory) {
  const Scope root = Scope::Root();
  const ops::Variable step = train::GetOrCreateGlobalStep(root);
  auto w = ops::Variable(root.WithName("w"), {0.0f, 0.0f, 0.0f});
  const Output error = ops::Sub(root, w, {1.0f, -2.0f, 3.0f});
  const Output loss = ops::Sum(root, ops::Square(root, error), {0});
  const Operation train =
      train::GradientDescent(0.1f).Minimize(root, loss, {.global_step = step});
  auto profiler = std::make_shared<train::ProfilerHook>(train::ProfilerOptions{
      .save_steps = 2, .output_dir = directory + "/hook"});
  ASSIGN_OR_RETURN(
      const auto session,
      train::SingularMonitoredSession(
          root, {}, {.hooks = {train::StopAtStep(6), std::move(profiler)}}));
  RETURN_IF_ERROR(
      TraceOneRun(*session->raw_session(), root, train, directory + "/writer"));
  while (!session->ShouldStop()) RETURN_IF_ERROR(session->Run(train));
  return session->Close();
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: traced_training DIRECTORY\n");
    return 2;
  }
  const absl::Status status = weft::Main(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
