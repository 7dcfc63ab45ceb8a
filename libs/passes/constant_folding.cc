#include "libs/passes/constant_folding.h"

#include <optional>
#include <utility>

namespace weft {
namespace {

int64_t Bytes(const Tensor& tensor) {
  auto bytes = static_cast<int64_t>(tensor.num_bytes());
  if (tensor.dtype() != DT_STRING) return bytes;
  for (const std::string& text : tensor.flat<std::string>()) {
    bytes += static_cast<int64_t>(text.size());
  }
  return bytes;
}

class Folder {
 public:
  Folder(const ConstantFoldingOptions& options, GraphRewrite& rewrite)
      : options_(options),
        rewrite_(rewrite),
        bytes_left_(options.max_total_bytes) {}

  void Fold(const Node& node) {
    if (!MayFold(node)) return;
    const std::optional<std::vector<Tensor>> inputs = Inputs(node);
    if (!inputs) return;
    absl::StatusOr<std::vector<Tensor>> outputs =
        options_.evaluate(node, *inputs);
    if (outputs.ok() && MayKeep(node, *outputs)) {
      rewrite_.Fold(node, *std::move(outputs));
    }
  }

 private:
  bool MayFold(const Node& node) const {
    if (!rewrite_.IsPure(node) || rewrite_.IsGone(node)) return false;
    if (node.num_inputs() == 0 || node.num_outputs() == 0) return false;
    // The constants of several outputs have names of their own.
    if (node.num_outputs() > 1 && rewrite_.IsPinned(node)) return false;
    for (int i = 0; i < node.num_outputs(); ++i) {
      if (IsSurelyTooLarge(node, i)) return false;
    }
    return true;
  }

  bool IsSurelyTooLarge(const Node& node, int i) const {
    const PartialShape& shape = node.output_shape(i);
    return shape.IsFullyDefined() && shape.num_elements() > options_.max_bytes;
  }

  std::optional<std::vector<Tensor>> Inputs(const Node& node) const {
    std::vector<Tensor> inputs;
    int64_t bytes = 0;
    for (int i = 0; i < node.num_inputs(); ++i) {
      const Tensor* value = rewrite_.ConstantValue(rewrite_.Input(node, i));
      if (value == nullptr) return std::nullopt;
      bytes += static_cast<int64_t>(value->num_bytes());
      if (bytes > options_.max_input_bytes) return std::nullopt;
      inputs.push_back(*value);
    }
    return inputs;
  }

  bool MayKeep(const Node& node, const std::vector<Tensor>& outputs) {
    if (static_cast<int>(outputs.size()) != node.num_outputs()) return false;
    int64_t total = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i].dtype() != node.output_type(static_cast<int>(i))) {
        return false;
      }
      const int64_t bytes = Bytes(outputs[i]);
      if (bytes > options_.max_bytes) return false;
      total += bytes;
    }
    if (total > bytes_left_) return false;
    bytes_left_ -= total;
    return true;
  }

  const ConstantFoldingOptions& options_;
  GraphRewrite& rewrite_;
  int64_t bytes_left_;
};

}  // namespace

void FoldConstants(const ConstantFoldingOptions& options,
                   GraphRewrite& rewrite) {
  Folder folder(options, rewrite);
  for (const Node* node : rewrite.graph().nodes()) folder.Fold(*node);
}

}  // namespace weft
