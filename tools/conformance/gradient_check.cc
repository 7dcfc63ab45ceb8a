#include "tools/conformance/gradient_check.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/gradients/gradients.h"
#include "libs/graph/import/graph_def.h"
#include "libs/ops/scope.h"

namespace weft::conformance {
namespace {

absl::StatusOr<std::vector<Output>> FindOutputs(
    const Scope& scope, const std::vector<std::string>& names) {
  std::vector<Output> outputs;
  for (const std::string& name : names) {
    ASSIGN_OR_RETURN(const OutputTensor output,
                     scope.graph().FindOutputTensor(name));
    outputs.emplace_back(output);
  }
  return outputs;
}

absl::StatusOr<std::vector<Gradient>> BuildGradients(const Scope& scope,
                                                     const GradientSpec& spec) {
  GradientOptions options;
  ASSIGN_OR_RETURN(const std::vector<Output> ys, FindOutputs(scope, spec.ys));
  ASSIGN_OR_RETURN(const std::vector<Output> xs, FindOutputs(scope, spec.xs));
  ASSIGN_OR_RETURN(options.grad_ys, FindOutputs(scope, spec.grad_ys));
  ASSIGN_OR_RETURN(auto gradients, AddGradients(scope, ys, xs, options));
  RETURN_IF_ERROR(scope.status());
  if (gradients.size() != spec.expect.size()) {
    return absl::UnknownError(absl::StrCat(
        gradients.size(), " gradients, want ", spec.expect.size()));
  }
  return gradients;
}

// Collects the outputs to fetch, and the keys of their expected values.
absl::Status CollectFetches(const Scope& scope, const GradientSpec& spec,
                            const std::vector<Gradient>& gradients,
                            RunRequest& request,
                            std::vector<std::string>& wanted) {
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i].IsNone() != !spec.expect[i].has_value()) {
      return absl::UnknownError(
          absl::StrCat("gradient of ", spec.xs[i],
                       gradients[i].IsNone() ? " is missing" : " exists"));
    }
    if (gradients[i].IsNone()) continue;
    const Output dense = ToDense(scope, gradients[i]);
    RETURN_IF_ERROR(scope.status());
    request.fetches.push_back(dense.name());
    wanted.push_back(*spec.expect[i]);
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> Find(const TensorPack& tensors, const std::string& key) {
  auto it = tensors.find(key);
  if (it != tensors.end()) return it->second;
  return absl::UnknownError(absl::StrCat("tensors.pb lacks the tensor ", key));
}

absl::Status RunAndCompare(const Case& test_case, const TensorPack& tensors,
                           const RunRequest& request,
                           const std::vector<std::string>& wanted,
                           const Scope& scope, SessionFactory& factory) {
  ASSIGN_OR_RETURN(const std::string graph, ExportGraphDef(scope.graph()));
  ASSIGN_OR_RETURN(auto session,
                   factory.NewSession({}, graph, /*keep_placement=*/false));
  ASSIGN_OR_RETURN(const auto got, session->Run(request));
  Comparison how;
  how.tolerance = test_case.tolerance;
  for (size_t i = 0; i < wanted.size(); ++i) {
    ASSIGN_OR_RETURN(const Tensor want, Find(tensors, wanted[i]));
    if (auto difference = Difference(got[i], want, how)) {
      return absl::UnknownError(
          absl::StrCat(request.fetches[i], ": ", *difference));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckOne(const Case& test_case, const TensorPack& tensors,
                      absl::string_view graph_def, const GradientSpec& spec,
                      SessionFactory& factory) {
  const Scope scope = Scope::Root();
  RETURN_IF_ERROR(ImportGraphDef(graph_def, scope.graph()));
  ASSIGN_OR_RETURN(const auto gradients, BuildGradients(scope, spec));
  RunRequest request;
  std::vector<std::string> wanted;
  RETURN_IF_ERROR(CollectFetches(scope, spec, gradients, request, wanted));
  if (wanted.empty()) return absl::OkStatus();
  for (const auto& [name, key] : spec.feeds) {
    ASSIGN_OR_RETURN(Tensor tensor, Find(tensors, key));
    request.feeds.emplace_back(name, std::move(tensor));
  }
  return RunAndCompare(test_case, tensors, request, wanted, scope, factory);
}

}  // namespace

absl::Status CheckGradients(const Case& test_case, const TensorPack& tensors,
                            absl::string_view graph_def,
                            SessionFactory& factory) {
  if (test_case.gradients.empty()) {
    return absl::UnknownError("case.json lists no gradients");
  }
  for (size_t i = 0; i < test_case.gradients.size(); ++i) {
    RETURN_IF_ERROR(Annotate(CheckOne(test_case, tensors, graph_def,
                                      test_case.gradients[i], factory),
                             absl::StrCat("gradient ", i)));
  }
  return absl::OkStatus();
}

}  // namespace weft::conformance
