// Writes summaries of a training for TensorBoard: the loss, a histogram of the
// weights, an image, an audio clip, a text, and the graph.
//
//   summaries /tmp/logs          # or s3://bucket/logs
//   tensorboard --logdir=/tmp/logs
#include <cstdio>
#include <string>

#include "examples/usage.h"
#include "libs/api/weft.h"

namespace weft::examples {
namespace {

constexpr int kSteps = 20;

struct Model {
  Operation train;
  Output summaries;
};

// Builds a model with three weights that converge to 1, -2 and 3.
Model BuildModel(const Scope& root) {
  auto w = ops::Variable(root.WithName("w"), {0.0f, 0.0f, 0.0f});
  const Output error = ops::Sub(root, w, {1.0f, -2.0f, 3.0f});
  const Output loss = ops::Sum(root, ops::Square(root, error), {0});
  ops::ScalarSummary(root, "loss", loss);
  ops::HistogramSummary(root, "weights/spread", w);
  ops::ImageSummary(root, "weights", ops::Reshape(root, w, {1, 1, 3, 1}),
                    {.max_images = 1});
  ops::AudioSummary(root, "error", ops::Reshape(root, error, {1, 3}), 8000.0f);
  ops::TextSummary(root, "note", "*three* weights");
  return {.train = train::GradientDescent(0.1f).Minimize(root, loss),
          .summaries = ops::MergeAllSummaries(root)};
}

absl::Status Main(const std::string& logdir) {
  const Scope root = Scope::Root();
  const Model model = BuildModel(root);
  const Operation init = ops::GlobalVariablesInitializer(root);
  ASSIGN_OR_RETURN(auto session, Session::Connect("", root));
  // The session provides the file system, so the writer must be destroyed
  // before the session.
  ASSIGN_OR_RETURN(auto writer,
                   summary::FileWriter::Create(*session->file_system(),
                                               session->scheduler(), logdir));
  ASSIGN_OR_RETURN(const std::string graph, ExportGraphDef(root.graph()));
  RETURN_IF_ERROR(writer->AddGraph(graph));
  RETURN_IF_ERROR(session->Run(init));
  for (int step = 0; step < kSteps; ++step) {
    ASSIGN_OR_RETURN(const Tensor summary, session->Run(model.summaries));
    RETURN_IF_ERROR(writer->AddSummary(summary.scalar<std::string>(), step));
    RETURN_IF_ERROR(session->Run(model.train));
  }
  RETURN_IF_ERROR(writer->Close());
  std::printf("tensorboard --logdir=%s\n", logdir.c_str());
  return absl::OkStatus();
}

}  // namespace
}  // namespace weft::examples

int main(int argc, char** argv) {
  if (argc != 2 || argv[1][0] == '-') {
    return weft::examples::ShowUsage(
        argc, argv, "LOGDIR",
        "LOGDIR: the directory that TensorBoard is to look at.");
  }
  const absl::Status status = weft::examples::Main(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
