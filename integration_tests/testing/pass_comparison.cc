#include "integration_tests/testing/pass_comparison.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "integration_tests/testing/small_graph.h"
#include "libs/base/text_proto.h"
#include "libs/protocol/master/graph_options.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

using Outcome = GraphSession::Outcome;

// Returns whether the values of the tensor can be compared. Handles contain the
// identity of their resource, which differs between sessions.
bool HasValue(const Tensor& tensor) {
  return tensor.dtype() != DT_RESOURCE && tensor.dtype() != DT_VARIANT;
}

bool AreSame(const Outcome& a, const Outcome& b) {
  if (a.status.code() != b.status.code()) return false;
  if (!a.status.ok()) return true;
  for (size_t i = 0; i < a.fetches.size(); ++i) {
    if (a.fetches[i].dtype() != b.fetches[i].dtype()) return false;
    if (HasValue(a.fetches[i]) && !SameBits(a.fetches[i], b.fetches[i])) {
      return false;
    }
  }
  return true;
}

// Returns whether a deadline or the memory ended the step. A rewritten graph
// may take another time and use other memory, so these results are not
// compared.
bool IsInconclusive(const Outcome& outcome) {
  return absl::IsDeadlineExceeded(outcome.status) ||
         absl::IsResourceExhausted(outcome.status);
}

std::string ToString(const Outcome& outcome) {
  if (!outcome.status.ok()) return outcome.status.ToString();
  return absl::StrJoin(outcome.fetches, ", ",
                       [](std::string* out, const Tensor& tensor) {
                         absl::StrAppend(out, tensor.ToString());
                       });
}

// One way to run the steps: a graph and its options.
struct Side {
  absl::string_view name;
  const SmallGraph& graph;
  GraphOptions options;
};

// Runs the same steps on both sides: those of the graph of `plain`, which also
// gives the expected results.
class Comparison {
 public:
  Comparison(Side changed, Side plain)
      : changed_(std::move(changed)),
        plain_(std::move(plain)),
        specs_(plain_.graph.Specs()) {}

  PassComparison Run() const {
    PassComparison result;
    GraphSession session(changed_.graph, changed_.options);
    session.CountFused();
    const std::vector<Outcome> with = session.RunAll(specs_);
    const std::vector<Outcome> without = RunSide(plain_);
    for (size_t i = 0; i < std::min(with.size(), without.size()); ++i) {
      if (IsInconclusive(with[i]) || IsInconclusive(without[i])) break;
      if (!AreSame(with[i], without[i])) {
        // Later results may depend on this one, so the comparison stops here.
        if (!IsChance(i, with[i], without[i])) {
          result.difference = Describe(i, with[i], without[i]);
        }
        break;
      }
      if (with[i].status.ok() && !with[i].fetches.empty()) {
        ++result.equal_values;
        if (with[i].fused_nodes > 0) ++result.fused_steps;
      }
    }
    return result;
  }

 private:
  std::vector<Outcome> RunSide(const Side& side) const {
    return GraphSession(side.graph, side.options).RunAll(specs_);
  }

  // Returns whether repeated runs of one side differ. Then the passes are not
  // the cause of a difference.
  bool IsChance(size_t i, const Outcome& with, const Outcome& without) const {
    constexpr int kTries = 4;
    for (int n = 0; n < kTries; ++n) {
      const std::vector<Outcome> again = RunSide(plain_);
      if (i >= again.size() || !AreSame(again[i], without)) return true;
      const std::vector<Outcome> passes_again = RunSide(changed_);
      if (i >= passes_again.size() || AreSame(passes_again[i], without)) {
        return true;
      }
    }
    return !with.status.ok() && !without.status.ok() &&
           FailuresOfNodes().count(with.status.code()) > 0;
  }

  // Returns the error codes of the nodes when they run alone. If several nodes
  // fail in a step, it is unspecified which fails first, but the code must be
  // one of these.
  std::set<absl::StatusCode> FailuresOfNodes() const {
    std::set<absl::StatusCode> codes;
    GraphSession session(plain_.graph, plain_.options);
    for (const protocol::CallableSpec& spec : plain_.graph.NodeSpecs()) {
      codes.insert(session.Run(spec).status.code());
    }
    return codes;
  }

  std::string Describe(size_t i, const Outcome& with,
                       const Outcome& without) const {
    return absl::StrCat("step ", i, ", targets ",
                        absl::StrJoin(specs_[i].targets, " "), "\n  ",
                        changed_.name, ": ", ToString(with), "\n  ",
                        plain_.name, ": ", ToString(without));
  }

  const Side changed_;
  const Side plain_;
  const std::vector<protocol::CallableSpec> specs_;
};

std::unique_ptr<SmallGraph> Parse(absl::string_view graph) {
  tf::GraphDef def;
  if (!ParseTextProto(graph, def, {.allow_unknown_fields = true}).ok()) {
    return nullptr;
  }
  return SmallGraph::Of(def);
}

}  // namespace

PassComparison ComparePasses(absl::string_view graph) {
  const std::unique_ptr<SmallGraph> small = Parse(graph);
  if (small == nullptr) return {};
  return Comparison({"with passes", *small, AllRewrites()},
                    {"without passes", *small, NoRewrites()})
      .Run();
}

PassComparison CompareGraphs(absl::string_view changed,
                             absl::string_view plain) {
  const std::unique_ptr<SmallGraph> a = Parse(changed);
  const std::unique_ptr<SmallGraph> b = Parse(plain);
  if (a == nullptr || b == nullptr) return {};
  return Comparison({"changed", *a, AllRewrites()}, {"plain", *b, NoRewrites()})
      .Run();
}

}  // namespace weft
