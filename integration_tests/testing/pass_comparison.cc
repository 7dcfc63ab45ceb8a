#include "integration_tests/testing/pass_comparison.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "integration_tests/testing/small_graph.h"
#include "libs/base/text_proto.h"
#include "libs/protocol/graph_options.h"
#include "schemas/tf/graph.pb.h"

namespace weft {
namespace {

using Outcome = GraphSession::Outcome;

// Handles name what they stand for, which is another thing in every session.
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

// A rewritten graph takes another time and other memory.
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

class Comparison {
 public:
  explicit Comparison(const SmallGraph& graph)
      : graph_(graph), specs_(graph.Specs()) {}

  PassComparison Run() const {
    PassComparison result;
    const std::vector<Outcome> with = RunWith({});
    const std::vector<Outcome> without = RunWith(NoRewrites());
    for (size_t i = 0; i < std::min(with.size(), without.size()); ++i) {
      if (IsInconclusive(with[i]) || IsInconclusive(without[i])) break;
      if (!AreSame(with[i], without[i])) {
        // What follows may depend on it.
        if (!IsChance(i, with[i], without[i])) {
          result.difference = Describe(i, with[i], without[i]);
        }
        break;
      }
      if (with[i].status.ok() && !with[i].fetches.empty()) {
        ++result.equal_values;
      }
    }
    return result;
  }

 private:
  std::vector<Outcome> RunWith(const GraphOptions& options) const {
    return GraphSession(graph_, options).RunAll(specs_);
  }

  // Whether runs without passes differ from each other, or sometimes give what
  // the run with passes gave, or the other way round.
  bool IsChance(size_t i, const Outcome& with, const Outcome& without) const {
    constexpr int kTries = 4;
    for (int n = 0; n < kTries; ++n) {
      const std::vector<Outcome> again = RunWith(NoRewrites());
      if (i >= again.size() || !AreSame(again[i], without)) return true;
      const std::vector<Outcome> passes_again = RunWith({});
      if (i >= passes_again.size() || AreSame(passes_again[i], without)) {
        return true;
      }
    }
    return !with.status.ok() && !without.status.ok() &&
           FailuresOfNodes().count(with.status.code()) > 0;
  }

  // Which of several nodes fails first is nobody's promise; but some node must
  // fail like that.
  std::set<absl::StatusCode> FailuresOfNodes() const {
    std::set<absl::StatusCode> codes;
    GraphSession session(graph_, NoRewrites());
    for (const protocol::CallableSpec& spec : graph_.NodeSpecs()) {
      codes.insert(session.Run(spec).status.code());
    }
    return codes;
  }

  std::string Describe(size_t i, const Outcome& with,
                       const Outcome& without) const {
    return absl::StrCat("step ", i, ", targets ",
                        absl::StrJoin(specs_[i].targets, " "),
                        "\n  with passes:    ", ToString(with),
                        "\n  without passes: ", ToString(without));
  }

  const SmallGraph& graph_;
  const std::vector<protocol::CallableSpec> specs_;
};

}  // namespace

PassComparison ComparePasses(absl::string_view graph) {
  tf::GraphDef def;
  if (!ParseTextProto(graph, def, {.allow_unknown_fields = true}).ok()) {
    return {};
  }
  const std::unique_ptr<SmallGraph> small = SmallGraph::Of(def);
  return small == nullptr ? PassComparison() : Comparison(*small).Run();
}

}  // namespace weft
