// Uses queues between steps and between sessions, and reads the input of a
// model through queues: a queue of file names, a reader, and a queue of
// examples.
//
//   input_queues                        # runs a cluster in this program
//   input_queues zmq://localhost:2222   # a task of a cluster on this machine
//                                       # with a ps and a worker
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "examples/in_process_cluster.h"
#include "libs/api/weft.h"

namespace {

using weft::Operation;
using weft::Output;
using weft::Scope;
using weft::Tensor;

constexpr char kPs[] = "/job:ps/task:0";

std::string Text(const Tensor& tensor) {
  return absl::StrJoin(tensor.flat<float>(), " ");
}

// Prints the code of a status, for example "OUT_OF_RANGE".
void PrintCode(const char* what, const absl::Status& status) {
  std::printf("%s: %s\n", what,
              absl::StatusCodeToString(status.code()).c_str());
}

// A queue on the parameter server. All programs that build this graph share the
// queue by its name.
struct Shared {
  Scope root = Scope::Root();
  weft::ops::Queue queue = weft::ops::Queue::Fifo(
      root.WithDevice(kPs), {weft::DT_FLOAT},
      {.shapes = {{2}}, .capacity = 10, .shared_name = "shared"});
  Output instances =
      weft::ops::Placeholder(root, weft::DT_FLOAT, {.shape = {-1, 2}});
  Operation enqueue_many = queue.EnqueueMany(root, {instances});
  Operation close = queue.Close(root);
  Output one = queue.Dequeue(root)[0];
  Output two = queue.DequeueMany(root, 2)[0];
  Output up_to_two = queue.DequeueUpTo(root, 2)[0];
  Output size = queue.Size(root);
};

absl::Status Enqueue(const std::string& target) {
  Shared shared;
  ASSIGN_OR_RETURN(auto session, weft::Session::Connect(target, shared.root));
  RETURN_IF_ERROR(session->Run(
      {{shared.instances,
        Tensor::FromValues<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}},
      shared.enqueue_many));
  return session->Run(shared.close);
}

absl::Status Dequeue(const std::string& target) {
  Shared shared;
  ASSIGN_OR_RETURN(auto session, weft::Session::Connect(target, shared.root));
  ASSIGN_OR_RETURN(const Tensor size, session->Run(shared.size));
  ASSIGN_OR_RETURN(const Tensor one, session->Run(shared.one));
  ASSIGN_OR_RETURN(const Tensor two, session->Run(shared.two));
  std::printf("of %d: one [%s], two [%s]", size.scalar<int32_t>(),
              Text(one).c_str(), Text(two).c_str());
  // The queue is closed and has only one element, so two elements will never be
  // available.
  PrintCode(", two more", session->Run(shared.two).status());
  ASSIGN_OR_RETURN(const Tensor rest, session->Run(shared.up_to_two));
  std::printf("up to two: [%s]\n", Text(rest).c_str());
  PrintCode("one more", session->Run(shared.one).status());
  return weft::Session::Reset(target, {});
}

// Shuffles elements in a queue. The seed determines their order. Until the
// queue is closed, at least two elements always remain in it for shuffling.
absl::Status Shuffle(const std::string& target) {
  const Scope root = Scope::Root();
  const auto queue = weft::ops::Queue::RandomShuffle(
      root, {weft::DT_FLOAT},
      [] {
        weft::ops::RandomShuffleQueueAttrs attrs;
        attrs.shapes = {weft::PartialShape::Scalar()};
        attrs.capacity = 10;
        attrs.min_after_dequeue = 2;
        return attrs;
      }(),
      /*seed=*/7);
  const Operation add = queue.EnqueueMany(
      root, {Tensor::Vector<float>({0, 1, 2, 3, 4, 5, 6, 7})});
  const Operation close = queue.Close(root);
  const Output six = queue.DequeueMany(root, 6)[0];
  const Output up_to_six = queue.DequeueUpTo(root, 6)[0];
  ASSIGN_OR_RETURN(auto session, weft::Session::Connect(target, root));
  RETURN_IF_ERROR(session->Run(add));
  ASSIGN_OR_RETURN(const Tensor first, session->Run(six));
  RETURN_IF_ERROR(session->Run(close));
  ASSIGN_OR_RETURN(const Tensor rest, session->Run(up_to_six));
  std::printf("shuffled: [%s], then [%s]\n", Text(first).c_str(),
              Text(rest).c_str());
  return session->Close();
}

// Makes batches of rows with different lengths. They are padded with zeros to
// the longest row of their batch.
absl::Status Pad(const std::string& target) {
  const Scope root = Scope::Root();
  const auto queue = weft::ops::Queue::PaddingFifo(
      root, {weft::DT_FLOAT}, {.shapes = {{-1}}, .capacity = 10});
  const Output row = weft::ops::Placeholder(root, weft::DT_FLOAT);
  const Operation add = queue.Enqueue(root, {row});
  const Output both = queue.DequeueMany(root, 2)[0];
  ASSIGN_OR_RETURN(auto session, weft::Session::Connect(target, root));
  for (const Tensor& one :
       {Tensor::Vector<float>({1}), Tensor::Vector<float>({2, 3})}) {
    RETURN_IF_ERROR(session->Run({{row, one}}, add));
  }
  ASSIGN_OR_RETURN(const Tensor batch, session->Run(both));
  std::printf("padded: [%s]\n", Text(batch).c_str());
  // The timeout ends the wait for an element.
  PrintCode(
      "nothing within 0.1 s",
      session->Run({}, both, {.timeout = absl::Milliseconds(100)}).status());
  return session->Close();
}

// Turns the lines of files into examples, in batches of two. Each line is used
// once in each of two epochs. Threads fill the queues until the input has
// ended.
absl::Status ReadFiles(const std::string& target, const Tensor& paths) {
  const Scope root = Scope::Root();
  const auto files = weft::train::StringInputProducer(
      root, paths, {.num_epochs = 2, .shuffle = false});
  const auto line = weft::ops::Reader::TextLine(root, {.skip_header_lines = 1})
                        .Read(root, files);
  const auto fields = weft::ops::DecodeCSV(
      root, line.value,
      {Tensor::Vector<float>({-1}), Tensor::Vector<float>({-1})});
  const std::vector<Output> batch = weft::train::Batch(
      root, {fields[0], fields[1]}, 2, {.allow_smaller_final_batch = true});
  const Operation init = weft::ops::LocalVariablesInitializer(root);
  ASSIGN_OR_RETURN(auto session, weft::Session::Connect(target, root));
  RETURN_IF_ERROR(session->Run(init));

  weft::train::Coordinator coordinator;
  RETURN_IF_ERROR(weft::train::StartQueueRunners(root, *session, coordinator));
  absl::StatusOr<std::vector<Tensor>> values;
  while ((values = session->Run({}, batch)).ok()) {
    std::printf("x [%s], y [%s]\n", Text((*values)[0]).c_str(),
                Text((*values)[1]).c_str());
  }
  PrintCode("after two epochs", values.status());
  coordinator.RequestStop();
  return coordinator.Join();
}

absl::Status ReadFiles(const std::string& target) {
  std::string folder =
      (std::filesystem::temp_directory_path() / "input_queues_XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) {
    return absl::InternalError("cannot create a folder in " + folder);
  }
  std::ofstream(folder + "/a.csv") << "x,y\n1,10\n2,\n";
  std::ofstream(folder + "/b.csv") << "x,y\n3,30\n";
  const absl::Status status = ReadFiles(
      target,
      Tensor::Vector<std::string>({folder + "/a.csv", folder + "/b.csv"}));
  std::filesystem::remove_all(folder);
  return status;
}

absl::Status Main(const std::string& target) {
  RETURN_IF_ERROR(Enqueue(target));
  RETURN_IF_ERROR(Dequeue(target));
  RETURN_IF_ERROR(Shuffle(target));
  RETURN_IF_ERROR(Pad(target));
  return ReadFiles(target);
}

}  // namespace

int main(int argc, char** argv) {
  return weft::examples::RunOnCluster(argc, argv, {{"ps", 1}, {"worker", 1}},
                                      Main);
}
