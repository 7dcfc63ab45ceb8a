#include "libs/ops/data/iterator.h"

#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/cluster/device_name.h"
#include "libs/ops/data/dataset_maker.h"

namespace weft::ops {
namespace {

// Copies the nodes of a value into the body of a function, as TensorFlow's
// capture by value does.
class ValueCopier {
 public:
  explicit ValueCopier(const Scope& body) : body_(body) {}

  absl::StatusOr<Output> Copy(const Output& value) {
    std::vector<const Node*> open = {value.node()};
    while (!open.empty()) {
      const Node* node = open.back();
      if (copies_.contains(node)) {
        open.pop_back();
        continue;
      }
      RETURN_IF_ERROR(Check(*node));
      const size_t before = open.size();
      for (const OutputTensor& input : node->inputs()) Want(input.node, open);
      for (const Node* control : node->control_inputs()) Want(control, open);
      if (open.size() > before) continue;
      RETURN_IF_ERROR(Add(*node));
      open.pop_back();
    }
    return Output(copies_.at(value.node()), value.index());
  }

 private:
  void Want(const Node* node, std::vector<const Node*>& open) const {
    if (!copies_.contains(node)) open.push_back(node);
  }

  // TensorFlow marks sources of datasets as stateful, but they share no state.
  static absl::Status Check(const Node& node) {
    const bool is_dataset = absl::StrContains(node.type(), "Dataset");
    const char* what = nullptr;
    if (absl::StartsWith(node.type(), "Placeholder")) {
      what = "Cannot capture a placeholder";
    } else if (node.op().is_stateful && !is_dataset) {
      what = "Cannot capture a stateful node";
    } else if (node.type() == "Merge" || node.type() == "Enter") {
      what = "Cannot capture a loop";
    } else {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        what, " (name:", node.name(), ", type:", node.type(),
        ") by value: a one-shot iterator captures its dataset in a function. "
        "Use an initializable iterator"));
  }

  absl::Status Add(const Node& node) {
    InputList inputs;
    for (const OutputTensor& input : node.inputs()) {
      inputs.emplace_back(Output(copies_.at(input.node), input.index));
    }
    std::vector<Operation> controls;
    for (const Node* control : node.control_inputs()) {
      controls.emplace_back(copies_.at(control));
    }
    copies_[&node] = body_.WithName(node.name())
                         .WithControlDependencies(controls)
                         .AddNode(node.type(), inputs, node.attrs());
    return body_.status();
  }

  const Scope& body_;
  absl::flat_hash_map<const Node*, const Node*> copies_;
};

AttrMap AttrsOf(const Scope& scope, absl::string_view op,
                const ElementSpec& element) {
  AttrMap attrs;
  DatasetMaker::AddElementAttrs(scope, op, element, attrs);
  return attrs;
}

// The task of the node's requested device, as far as it is specified.
absl::StatusOr<std::string> TaskOf(const Node& node) {
  ASSIGN_OR_RETURN(DeviceName device,
                   DeviceName::Parse(node.requested_device()));
  device.type.reset();
  device.index.reset();
  return device.ToString();
}

absl::Status CheckSameTask(const Node& iterator, const Node& dataset) {
  ASSIGN_OR_RETURN(const std::string own, TaskOf(iterator));
  ASSIGN_OR_RETURN(const std::string other, TaskOf(dataset));
  if (own == other) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the iterator is on '", own, "', the dataset '", dataset.name(), "' on '",
      other,
      "': a dataset is not sent between tasks. Make both in scopes of one "
      "device"));
}

absl::Status CheckElements(const ElementSpec& own, const ElementSpec& other) {
  bool fits = own.size() == other.size();
  for (size_t i = 0; fits && i < own.size(); ++i) {
    fits = own[i].dtype == other[i].dtype &&
           own[i].shape.IsCompatibleWith(other[i].shape);
  }
  if (fits) return absl::OkStatus();
  const auto text = [](const ElementSpec& element) {
    std::string result;
    for (const Component& c : element) {
      absl::StrAppend(&result, result.empty() ? "" : ", ",
                      DataTypeName(c.dtype), c.shape.ToString());
    }
    return result;
  };
  return absl::InvalidArgumentError(
      absl::StrCat("Expected output types and shapes (", text(own),
                   ") but got those of the dataset (", text(other), ")"));
}

}  // namespace

Iterator Iterator::FromStructure(const Scope& scope, ElementSpec element,
                                 const IteratorOptions& options) {
  Iterator iterator;
  AttrMap attrs = AttrsOf(scope, "IteratorV2", element);
  attrs["shared_name"] = options.shared_name;
  attrs["container"] = "";
  iterator.resource_ = scope.AddOutput("IteratorV2", {}, std::move(attrs));
  iterator.element_ = std::move(element);
  return iterator;
}

Iterator Iterator::FromStringHandle(const Scope& scope, const Input& handle,
                                    ElementSpec element) {
  Iterator iterator;
  iterator.resource_ =
      scope.AddOutput("IteratorFromStringHandleV2", {handle},
                      AttrsOf(scope, "IteratorFromStringHandleV2", element));
  iterator.element_ = std::move(element);
  return iterator;
}

Operation Iterator::MakeInitializer(const Scope& scope,
                                    const Dataset& dataset) const {
  if (!*this || !dataset || !scope.ok()) return Operation();
  absl::Status status = CheckElements(element_, dataset.element());
  if (status.ok()) {
    status = CheckSameTask(*resource_.node(), *dataset.variant().node());
  }
  if (!status.ok()) {
    scope.UpdateStatus(Annotate(
        status, absl::StrCat("Iterator '", resource_.node()->name(), "'")));
    return Operation();
  }
  return scope.ColocateWith(resource_).AddNode("MakeIterator",
                                               {dataset.variant(), resource_});
}

std::vector<Output> Iterator::GetNext(const Scope& scope) const {
  const Node* node = *this ? scope.ColocateWith(resource_).AddNode(
                                 "IteratorGetNext", {resource_},
                                 AttrsOf(scope, "IteratorGetNext", element_))
                           : nullptr;
  return ComponentsOf(node, element_.size());
}

Output Iterator::StringHandle(const Scope& scope) const {
  if (!*this) return Output();
  return scope.ColocateWith(resource_).AddOutput("IteratorToStringHandle",
                                                 {resource_});
}

void Iterator::MakeSaveable(const Scope& scope) const {
  if (!*this || !scope.ok()) return;
  if (absl::StartsWith(resource_.node()->type(), "IteratorFromStringHandle")) {
    scope.UpdateStatus(absl::InvalidArgumentError(absl::StrCat(
        "Iterator '", resource_.node()->name(),
        "' refers to another iterator, and has no position of its own to save. "
        "Make the other iterator saveable")));
    return;
  }
  const Scope outside = scope.OutsideFunctions();
  for (const Output& known :
       outside.GetCollection(collection::kSaveableIterators)) {
    if (known == resource_) return;
  }
  outside.AddToCollection(collection::kSaveableIterators, resource_);
}

std::map<std::string, Output> Iterator::ByName(
    const std::vector<Output>& components) const {
  std::map<std::string, Output> result;
  for (size_t i = 0; i < components.size() && i < element_.size(); ++i) {
    if (!element_[i].name.empty()) result[element_[i].name] = components[i];
  }
  return result;
}

Iterator Dataset::MakeOneShotIterator() const {
  Iterator iterator;
  iterator.element_ = element_;
  if (!*this) return iterator;
  const Function factory(
      *scope_, "make_dataset", {},
      [&](const Scope& s, const std::vector<Output>&) {
        absl::StatusOr<Output> copy = ValueCopier(s).Copy(variant_);
        if (!copy.ok()) s.UpdateStatus(copy.status());
        return std::vector<Output>{copy.ok() ? *copy : Output()};
      });
  if (!factory) return iterator;
  AttrMap attrs = AttrsOf(*scope_, "OneShotIterator", element_);
  attrs["dataset_factory"] = factory.attr();
  iterator.resource_ = scope_->ColocateWith(variant_).AddOutput(
      "OneShotIterator", {}, std::move(attrs));
  return iterator;
}

Iterator Dataset::MakeInitializableIterator(
    const IteratorOptions& options) const {
  Iterator iterator;
  iterator.element_ = element_;
  if (!*this) return iterator;
  iterator = Iterator::FromStructure(scope_->ColocateWith(variant_), element_,
                                     options);
  iterator.initializer_ = iterator.MakeInitializer(*scope_, *this);
  if (options.initialize_with_tables) {
    scope_->OutsideFunctions().AddToCollection(collection::kTableInitializers,
                                               iterator.initializer_);
  }
  return iterator;
}

}  // namespace weft::ops
