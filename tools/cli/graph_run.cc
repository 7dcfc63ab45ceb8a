#include "tools/cli/graph_run.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/graph/graph.h"
#include "libs/graph/import/graph_def.h"
#include "libs/graph/near_nodes.h"
#include "libs/ops/scope.h"
#include "libs/session/feed_shapes.h"
#include "libs/session/session.h"
#include "tools/cli/json_text.h"
#include "tools/cli/table.h"
#include "tools/cli/tensor_json.h"

namespace weft::tools {
namespace {

// The parsed names and values of a run. Tensor names include the output index,
// so that "x" and "x:0" are equal.
struct Step {
  std::vector<std::pair<std::string, Tensor>> feeds;
  std::vector<std::string> inits;
  std::vector<std::string> fetches;
  std::vector<std::string> targets;
};

// Gives an empty list the sizes that its elements would have. For a tensor of
// shape [?, 2], the list [] becomes a batch of shape [0, 2]. Unknown sizes
// become 0.
Tensor WithSizesOf(const PartialShape& shape, Tensor value) {
  const int rank = value.rank();
  if (rank == 0 || value.dim(rank - 1) != 0 || !shape.has_rank()) return value;
  TensorShape whole = value.shape();
  for (int i = rank; i < shape.rank(); ++i) {
    whole.AddDim(std::max<int64_t>(shape.dim(i), 0));
  }
  absl::StatusOr<Tensor> reshaped = value.Reshaped(whole);
  return reshaped.ok() ? *std::move(reshaped) : value;
}

absl::StatusOr<std::pair<std::string, Tensor>> FeedOf(const Graph& graph,
                                                      const std::string& name,
                                                      const std::string& text) {
  ASSIGN_OR_RETURN(const OutputTensor fed, FindTensorOrSuggest(graph, name));
  ASSIGN_OR_RETURN(
      Tensor value,
      TensorFromJson(text, RemoveRefType(fed.node->output_type(fed.index))));
  const PartialShape& shape = fed.node->output_shape(fed.index);
  value = WithSizesOf(shape, std::move(value));
  RETURN_IF_ERROR(CheckFeedShape(TensorName(fed), shape, value));
  return std::make_pair(TensorName(fed), std::move(value));
}

absl::Status AddFetch(const Graph& graph, const std::string& name, Step& step) {
  const Node* node = graph.FindNode(name);
  if (node != nullptr && node->num_outputs() == 0) {
    step.targets.push_back(name);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const OutputTensor fetch, FindTensorOrSuggest(graph, name));
  step.fetches.push_back(TensorName(fetch));
  return absl::OkStatus();
}

absl::StatusOr<Step> StepOf(const Graph& graph, const Invocation& invocation) {
  Step step;
  for (const auto& [name, text] : invocation.feeds) {
    auto feed = FeedOf(graph, name, text);
    if (!feed.ok()) {
      return Annotate(feed.status(), absl::StrCat("--feed ", name));
    }
    step.feeds.push_back(*std::move(feed));
  }
  for (const std::string& name : invocation.inits) {
    if (graph.FindNode(name) == nullptr) {
      return absl::NotFoundError(absl::StrCat("--init ", name, ": node '", name,
                                              "' is not in the graph.",
                                              SuggestNodes(graph, name)));
    }
    step.inits.push_back(name);
  }
  for (const std::string& name : invocation.fetches) {
    const absl::Status added = AddFetch(graph, name, step);
    if (!added.ok()) return Annotate(added, absl::StrCat("--fetch ", name));
  }
  return step;
}

absl::StatusOr<std::vector<Tensor>> RunStep(Session& session, const Step& step,
                                            const Invocation& invocation) {
  RunOptions options;
  if (invocation.timeout_given) options.timeout = invocation.timeout;
  for (const std::string& init : step.inits) {
    const auto ran = session.RunNamed(step.feeds, {}, {init}, options);
    if (!ran.ok()) {
      return Annotate(ran.status(), absl::StrCat("--init ", init));
    }
  }
  if (step.fetches.empty() && step.targets.empty()) {
    return std::vector<Tensor>();
  }
  return session.RunNamed(step.feeds, step.fetches, step.targets, options);
}

// Appends `json` with each innermost list on its own line.
void AppendRows(const Json& json, const std::string& indent,
                std::string& text) {
  const bool is_nested = json.is_array() && !json.empty() && json[0].is_array();
  if (!is_nested) {
    if (!json.is_array()) {
      text += json.dump(-1, ' ', false, Json::error_handler_t::replace);
      return;
    }
    absl::StrAppend(&text, "[",
                    absl::StrJoin(json, ", ",
                                  [](std::string* out, const Json& element) {
                                    *out += element.dump(
                                        -1, ' ', false,
                                        Json::error_handler_t::replace);
                                  }),
                    "]");
    return;
  }
  text += "[";
  for (size_t i = 0; i < json.size(); ++i) {
    if (i > 0) absl::StrAppend(&text, ",\n", indent, " ");
    AppendRows(json[i], indent + " ", text);
  }
  text += "]";
}

std::string ValueText(const Tensor& value) {
  constexpr int64_t kMaxShown = 1000;
  if (value.num_elements() > kMaxShown) {
    return absl::StrCat(value.ToString(), " (all of it with --json)");
  }
  std::string text;
  AppendRows(TensorToJson(value), "", text);
  return text;
}

std::string ValuesText(const std::vector<std::string>& names,
                       const std::vector<Tensor>& values) {
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    absl::StrAppend(
        &text, Printable(names[i]), ": ", DataTypeName(values[i].dtype()), " ",
        values[i].shape().ToString(), "\n", ValueText(values[i]), "\n");
  }
  return text;
}

std::string ValuesJson(const std::vector<std::string>& names,
                       const std::vector<Tensor>& values) {
  Json json = Json::array();
  for (size_t i = 0; i < values.size(); ++i) {
    const auto dims = values[i].shape().dims();
    json.push_back({{"name", names[i]},
                    {"dtype", DataTypeName(values[i].dtype())},
                    {"shape", std::vector<int64_t>(dims.begin(), dims.end())},
                    {"value", TensorToJson(values[i])}});
  }
  return JsonText(json);
}

}  // namespace

absl::StatusOr<std::string> RunGraph(Process& process, const GraphFile& file,
                                     const Invocation& invocation) {
  const Scope scope = Scope::Root();
  RETURN_IF_ERROR(ImportGraphDef(file.graph_def, scope.graph()));
  ASSIGN_OR_RETURN(const Step step, StepOf(scope.graph(), invocation));
  SessionOptions options;
  options.process = &process;
  options.allow_soft_placement = invocation.allow_soft_placement;
  options.connect_timeout = invocation.timeout;
  // WEFT_TARGET alone does not select a cluster here, because it may be set for
  // other commands.
  const std::string target = invocation.target_given ? invocation.target : "";
  ASSIGN_OR_RETURN(const auto session,
                   Session::Connect(target, scope, options));
  ASSIGN_OR_RETURN(const std::vector<Tensor> values,
                   RunStep(*session, step, invocation));
  return invocation.format == Format::kJson ? ValuesJson(step.fetches, values)
                                            : ValuesText(step.fetches, values);
}

}  // namespace weft::tools
