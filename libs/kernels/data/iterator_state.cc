#include "libs/kernels/data/iterator_state.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "libs/base/status.h"

namespace weft {
namespace {

constexpr char kStateType[] = "weft::IteratorState";

absl::Status CheckHasNoObject(const std::string& name, const Tensor& tensor) {
  if (tensor.dtype() == DT_VARIANT) {
    for (const Variant& value : tensor.flat<Variant>()) {
      if (value.object == nullptr) continue;
      return absl::UnimplementedError(
          absl::StrCat("the state of the iterator can't be saved: '", name,
                       "' holds a data set, or another object of the process"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Variant> EncodeIteratorState(
    const IteratorStateWriter::Values& values) {
  Variant state;
  state.type_name = kStateType;
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : values) {
    RETURN_IF_ERROR(CheckHasNoObject(name, tensor));
    absl::StrAppend(&state.metadata, name, "\n");
    tensors.push_back(tensor);
  }
  state.tensors =
      std::make_shared<const std::vector<Tensor>>(std::move(tensors));
  return state;
}

absl::StatusOr<IteratorStateReader::Values> DecodeIteratorState(
    const Variant& state) {
  if (state.type_name != kStateType || state.tensors == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("a state of an iterator is wanted, which SerializeIterator"
                     " has given, not a '",
                     state.type_name, "'"));
  }
  IteratorStateReader::Values values;
  size_t next = 0;
  const std::vector<Tensor>& tensors = *state.tensors;
  for (absl::string_view name :
       absl::StrSplit(state.metadata, '\n', absl::SkipEmpty())) {
    if (next == tensors.size()) break;
    values.insert_or_assign(std::string(name), tensors[next++]);
  }
  if (next == tensors.size() && values.size() == tensors.size()) return values;
  return absl::InvalidArgumentError(
      absl::StrCat("a state of an iterator has ", tensors.size(),
                   " tensors, and names for ", values.size()));
}

}  // namespace weft
