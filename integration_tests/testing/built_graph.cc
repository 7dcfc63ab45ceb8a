// Builds a graph of functions and pipelines, writes it as a GraphDef, runs
// steps of it, and prints one line for each step:
//   run NAME            an operation was run
//   get NAME VALUE ...  a float tensor was fetched
//   end NAME            a fetch was OUT_OF_RANGE
//
//   built_graph GRAPH_FILE
//
// tensorflow_runs_built_graphs_test runs the same graph in TensorFlow.
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/api/weft.h"
#include "libs/graph/import/graph_def.h"

namespace weft {
namespace {

using ops::Dataset;
using Values = std::vector<Output>;

struct Built {
  Scope root = Scope::Root();
  Operation init;
  std::vector<Output> once;  // fetched once, one after the other
  std::vector<Operation> initializers;
  std::vector<Output> next;  // fetched repeatedly, until the end of their input

  Scope Named(const char* name) { return root.WithName(name); }
};

void AddFunctions(Built& graph) {
  const Scope& root = graph.root;
  const ops::Variable w(root.WithName("w"), 2.0f);
  const Output offset = ops::Const(root.WithName("offset"), 0.5f);
  const ops::Function affine(
      root, "affine", {DT_FLOAT}, [&](const Scope& s, const Values& v) {
        const ops::Function scale(s, "scale", {DT_FLOAT},
                                  [&](const Scope& t, const Values& u) {
                                    return Values{ops::Mul(t, u[0], w)};
                                  });
        return Values{ops::Add(s, scale(s, {v[0]})[0], offset)};
      });
  const ops::Function count(root, "count", {},
                            [&](const Scope& s, const Values&) {
                              ops::AssignAdd(s, w, 1);
                              return Values{ops::Const(s, 7.0f)};
                            });
  graph.once.push_back(affine(graph.Named("call"), {3.0f})[0]);
  graph.once.push_back(count(graph.Named("counted"), {})[0]);
  graph.once.push_back(affine(graph.Named("call_again"), {3.0f})[0]);
  for (const bool taken : {true, false}) {
    graph.once.push_back(ops::If(
        graph.Named("branch"), Tensor::Scalar(taken),
        [&](const Scope& s) { return affine(s, {1.0f}); },
        [&](const Scope& s) { return Values{ops::Neg(s, offset)}; })[0]);
  }
  graph.once.push_back(ops::SwitchCase(
      graph.Named("chosen"), 1,
      {[&](const Scope& s) { return Values{ops::Neg(s, offset)}; },
       [&](const Scope& s) { return Values{ops::Mul(s, offset, w)}; }})[0]);
  graph.once.push_back(ops::While(
      graph.Named("loop"), {0, 1.0f},
      [](const Scope& s, const Values& v) { return ops::Less(s, v[0], 4); },
      [&](const Scope& s, const Values& v) {
        return Values{ops::Add(s, v[0], 1), ops::Mul(s, v[1], w)};
      })[1]);
  graph.init = w.initializer();
}

Values AsFloat(const Scope& s, const Values& v) {
  return {ops::Cast(s, v[0], DT_FLOAT)};
}

void AddPipelines(Built& graph) {
  const Scope& root = graph.root;
  const auto numbers = [&](int64_t n) { return Dataset::Range(root, n); };
  const Output ten = ops::Const(root, 10.0f);
  const std::vector<Dataset> pipelines = {
      numbers(5)
          .Map(AsFloat)
          .Map([&](const Scope& s,
                   const Values& v) { return Values{ops::Mul(s, v[0], ten)}; },
               {.num_parallel_calls = 2})
          .Batch(2)
          .Prefetch(1),
      numbers(10)
          .Shuffle(10, {.seed = 7})
          .Repeat(2)
          .Filter([](const Scope& s, const Values& v) {
            return ops::Less(s, v[0], 6);
          })
          .Map(AsFloat)
          .Batch(4, {.drop_remainder = true}),
      numbers(4)
          .FlatMap([](const Scope& s, const Values& v) {
            return Dataset::Range(s, v[0]);
          })
          .Map(AsFloat),
      numbers(4)
          .Interleave(
              [](const Scope& s, const Values& v) {
                return Dataset::FromTensors(s, {v[0]}).Repeat(3);
              },
              {.cycle_length = 2, .block_length = 2})
          .Skip(1)
          .Shard(2, 0)
          .Map(AsFloat),
      Dataset::FromTensorSlices(root, {Tensor::Vector<float>({1, 2, 3})})
          .Concatenate(Dataset::FromTensors(root, {ops::Const(root, 9.0f)}))
          .Cache()
          .Repeat(2)
          .Take(7),
      numbers(7)
          .Map(AsFloat)
          .Window(3, {.shift = 2})
          .FlatMap([](const Scope& s, const Values& v) {
            return Dataset::FromVariant(s, v[0],
                                        {{DT_FLOAT, PartialShape::Scalar()}})
                .Batch(3);
          }),
      numbers(3)
          .Map([](const Scope& s, const Values& v) {
            return Values{ops::Fill(s, ops::ExpandDims(s, v[0], 0), 1.0f)};
          })
          .PaddedBatch(2, {.padded_shapes = {{-1}}})};
  for (const Dataset& pipeline : pipelines) {
    const ops::Iterator iterator = pipeline.MakeInitializableIterator();
    graph.initializers.push_back(iterator.initializer());
    graph.next.push_back(iterator.GetNext(root)[0]);
  }
  graph.next.push_back(
      numbers(3).Map(AsFloat).MakeOneShotIterator().GetNext(root)[0]);
}

absl::Status Get(Session& session, const Output& fetch) {
  ASSIGN_OR_RETURN(const Tensor value, session.Run(fetch));
  std::printf("get %s %s\n", fetch.name().c_str(),
              absl::StrJoin(value.flat<float>(), " ").c_str());
  return absl::OkStatus();
}

absl::Status RunOperation(Session& session, const Operation& operation) {
  std::printf("run %s\n", operation.name().c_str());
  return session.Run(operation);
}

absl::Status RunAll(Session& session, const Built& graph) {
  RETURN_IF_ERROR(RunOperation(session, graph.init));
  for (const Output& fetch : graph.once) RETURN_IF_ERROR(Get(session, fetch));
  for (const Operation& initializer : graph.initializers) {
    RETURN_IF_ERROR(RunOperation(session, initializer));
  }
  for (const Output& fetch : graph.next) {
    absl::Status status;
    while (status.ok()) status = Get(session, fetch);
    if (!absl::IsOutOfRange(status)) return status;
    std::printf("end %s\n", fetch.name().c_str());
  }
  return absl::OkStatus();
}

absl::Status Main(const std::string& path) {
  Built graph;
  AddFunctions(graph);
  AddPipelines(graph);
  RETURN_IF_ERROR(graph.root.status());
  std::ofstream(path, std::ios::binary)
      << ExportGraphDef(graph.root.graph()).value();
  ASSIGN_OR_RETURN(auto session, Session::Connect("", graph.root));
  return RunAll(*session, graph);
}

}  // namespace
}  // namespace weft

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: built_graph GRAPH_FILE\n");
    return 2;
  }
  const absl::Status status = weft::Main(argv[1]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return status.ok() ? 0 : 1;
}
