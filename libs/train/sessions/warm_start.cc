#include "libs/train/sessions/warm_start.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/checkpoint/checkpoint_reader.h"
#include "libs/checkpoint/checkpoint_state.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/fs/local_file_system.h"
#include "libs/ops/array/array_ops.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/state/variable.h"
#include "libs/train/sessions/defaults.h"
#include "re2/re2.h"

namespace weft::train {
namespace {

using checkpoint::CheckpointReader;
using ops::PartitionInfo;
using ops::Variable;

// Parts of a variable, or a whole one, by its name.
using Groups = std::map<std::string, std::vector<Variable>>;

const ops::SaveSliceInfo* SliceOf(const Scope& scope,
                                  const Variable& variable) {
  const auto& slices = VariableStore::Of(scope).slices;
  const auto found = slices.find(variable.handle().node());
  return found == slices.end() ? nullptr : &found->second;
}

std::string WholeName(const Scope& scope, const Variable& variable) {
  const ops::SaveSliceInfo* slice = SliceOf(scope, variable);
  return slice == nullptr ? variable.name() : slice->full_name;
}

// The names, or the first of many.
std::string NamesOf(const std::vector<Variable>& variables) {
  constexpr size_t kMostNames = 10;
  std::vector<std::string> names;
  for (const Variable& variable : variables) {
    if (names.size() == kMostNames) {
      names.push_back(
          absl::StrCat("and ", variables.size() - kMostNames, " more"));
      break;
    }
    names.push_back(absl::StrCat(variable.name(), ":0"));
  }
  return absl::StrJoin(names, ", ");
}

// Adds those of `variables` whose names begin as the expression requires. Warns
// if there are none, because the training would silently begin untrained.
absl::Status AddMatching(const Scope& scope, const std::string& expression,
                         const std::vector<Variable>& variables, Logger& logger,
                         Groups& groups) {
  const RE2 matcher(expression, RE2::Quiet);
  if (!matcher.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat("vars_to_warm_start: '", expression,
                     "' is not a regular expression: ", matcher.error()));
  }
  bool is_used = false;
  for (const Variable& variable : variables) {
    const std::string name = absl::StrCat(variable.name(), ":0");
    if (!matcher.Match(name, 0, name.size(), RE2::ANCHOR_START, nullptr, 0)) {
      continue;
    }
    is_used = true;
    auto& parts = groups[WholeName(scope, variable)];
    if (std::find(parts.begin(), parts.end(), variable) == parts.end()) {
      parts.push_back(variable);
    }
  }
  if (!is_used) {
    logger.Warning(absl::StrCat(
        "vars_to_warm_start: '", expression,
        "' matches the beginning of no variable's name, so it warm-starts "
        "nothing. The names are: [",
        NamesOf(variables), "]"));
  }
  return absl::OkStatus();
}

absl::StatusOr<Groups> GroupsOf(const Scope& scope,
                                const WarmStartSettings& settings,
                                Logger& logger) {
  Groups groups;
  if (const auto* all =
          std::get_if<std::vector<std::string>>(&settings.vars_to_warm_start)) {
    for (const std::string& expression : *all) {
      RETURN_IF_ERROR(AddMatching(scope, expression,
                                  ops::GlobalVariables(scope), logger, groups));
    }
    return groups;
  }
  const auto* one = std::get_if<std::string>(&settings.vars_to_warm_start);
  RETURN_IF_ERROR(AddMatching(scope, one == nullptr ? ".*" : *one,
                              ops::TrainableVariables(scope), logger, groups));
  return groups;
}

absl::Status CheckVocabInfo(const VocabInfo& info) {
  if (info.axis != 0 && info.axis != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("The only supported values for the axis argument are 0 "
                     "and 1.  Provided axis: ",
                     info.axis));
  }
  if (info.new_vocab.empty() || info.old_vocab.empty() ||
      info.new_vocab_size <= 0) {
    return absl::InvalidArgumentError(
        "Must provide all of new_vocab, new_vocab_size and old_vocab.");
  }
  if (info.num_oov_buckets >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "num_oov_buckets must be >= 0, but is ", info.num_oov_buckets));
}

// A part of a matrix whose rows or columns follow a vocabulary.
class RemappedPart {
 public:
  RemappedPart(const Scope& scope, const std::string& prefix,
               const std::string& tensor, const VocabInfo& info)
      : scope_(scope), prefix_(prefix), tensor_(tensor), info_(info) {}

  // Returns its initial value. `all_rows`: of all parts together; `offset`:
  // rows of earlier parts.
  absl::StatusOr<Output> Value(const TensorShape& shape, int64_t offset,
                               int64_t all_rows) const {
    const bool by_rows = info_.axis == 0;
    const int64_t words = info_.new_vocab_size;
    const int64_t columns_wanted =
        by_rows ? shape.dim(1) : words + info_.num_oov_buckets;
    const int64_t rows_wanted =
        by_rows ? words + info_.num_oov_buckets : all_rows;
    if (all_rows != rows_wanted || shape.dim(1) != columns_wanted) {
      return absl::InvalidArgumentError(absl::StrCat(
          "its vocabulary of ", words, " words and ", info_.num_oov_buckets,
          " buckets wants ", by_rows ? rows_wanted : columns_wanted,
          by_rows ? " rows" : " columns", ", but it has shape [", all_rows, ",",
          shape.dim(1), "]"));
    }
    const int64_t named_rows =
        by_rows ? std::clamp<int64_t>(words - offset, 0, shape.dim(0))
                : shape.dim(0);
    if (named_rows == 0) return Backup(shape);
    const int64_t named_columns = by_rows ? shape.dim(1) : words;
    Output value = Named(offset, named_rows, named_columns);
    value = WithMore(value, {shape.dim(0) - named_rows, named_columns}, 0);
    return WithMore(value, {shape.dim(0), shape.dim(1) - named_columns}, 1);
  }

 private:
  Output Backup(const TensorShape& shape) const {
    if (!info_.backup_initializer) {
      return ops::Fill(scope_, ToTensor(shape), 0.0f);
    }
    return info_.backup_initializer(scope_, shape, DT_FLOAT, nullptr);
  }

  static Tensor ToTensor(const TensorShape& shape) {
    return Tensor::Vector<int64_t>(
        std::vector<int64_t>(shape.dims().begin(), shape.dims().end()));
  }

  // Returns the checkpoint's rows of these words.
  Output Named(int64_t offset, int64_t rows, int64_t columns) const {
    Output row_ids, column_ids;
    Output present;  // how many numbers
    if (info_.axis == 0) {
      row_ids = Remapping(offset, rows, columns, present);
      column_ids = scope_.ToOutput(Tensor(DT_INT64, TensorShape({0})));
    } else {
      row_ids = ops::Range(scope_, Tensor::Scalar<int64_t>(offset),
                           Tensor::Scalar<int64_t>(offset + rows),
                           Tensor::Scalar<int64_t>(1));
      column_ids = Remapping(0, columns, rows, present);
    }
    return scope_.AddOutput("LoadAndRemapMatrix",
                            {prefix_, tensor_, row_ids, column_ids,
                             Missing(rows * columns, present)},
                            {{"num_rows", rows}, {"num_cols", columns}});
  }

  // Returns the positions of `count` words of the new vocabulary, from `offset`
  // on, in the old one; each is `width` numbers.
  Output Remapping(int64_t offset, int64_t count, int64_t width,
                   Output& present) const {
    const Node* node = scope_.AddNode(
        "GenerateVocabRemapping", {info_.new_vocab, info_.old_vocab},
        {{"new_vocab_offset", offset},
         {"num_new_vocab", count},
         {"old_vocab_size", info_.old_vocab_size}});
    if (node == nullptr) return Output();
    present = ops::Mul(scope_, ops::Cast(scope_, Output(node, 1), DT_INT64),
                       Tensor::Scalar<int64_t>(width));
    return Output(node, 0);
  }

  // Returns as many new numbers as the checkpoint lacks.
  Output Missing(int64_t all, const Output& present) const {
    const Output count = ops::Reshape(
        scope_, ops::Sub(scope_, Tensor::Scalar<int64_t>(all), present),
        Tensor::Vector<int32_t>({1}));
    if (!info_.backup_initializer) return ops::Fill(scope_, count, 0.0f);
    const Output most = ops::Reshape(scope_, Backup(TensorShape({all, 1})),
                                     Tensor::Vector<int32_t>({-1}));
    return ops::Slice(scope_, most, Tensor::Vector<int64_t>({0}), count);
  }

  // Adds new rows or columns up to `shape`.
  Output WithMore(const Output& value, const TensorShape& shape,
                  int32_t axis) const {
    if (shape.num_elements() == 0) return value;
    return ops::Concat(scope_, {value, Backup(shape)}, axis);
  }

  const Scope scope_;
  const std::string& prefix_;
  const std::string& tensor_;
  const VocabInfo& info_;
};

class Warmer {
 public:
  Warmer(const Scope& scope, const WarmStartSettings& settings,
         std::string prefix, std::unique_ptr<CheckpointReader> reader)
      : scope_(scope),
        settings_(settings),
        prefix_(std::move(prefix)),
        reader_(std::move(reader)) {}

  absl::StatusOr<int64_t> Warm(const Groups& groups) {
    int64_t count = 0;
    const bool only_vocabularies =
        std::holds_alternative<std::monostate>(settings_.vars_to_warm_start);
    for (const auto& [name, parts] : groups) {
      const auto info = settings_.var_name_to_vocab_info.find(name);
      const bool has_vocabulary =
          info != settings_.var_name_to_vocab_info.end();
      if (only_vocabularies && !has_vocabulary) continue;
      const absl::Status status =
          has_vocabulary ? WarmByVocabulary(name, parts, info->second)
                         : WarmWhole(name, parts);
      RETURN_IF_ERROR(Annotate(
          status, absl::StrCat("Variable '", name, "' can't be warm-started")));
      ++count;
    }
    return count;
  }

  const VariableInitializers& initializers() const { return initializers_; }

 private:
  std::string PreviousName(const std::string& name) const {
    const auto found = settings_.var_name_to_prev_var_name.find(name);
    return found == settings_.var_name_to_prev_var_name.end() ? name
                                                              : found->second;
  }

  absl::StatusOr<std::shared_ptr<const checkpoint::TensorInfo>> FindTensor(
      const std::string& tensor) {
    auto entry = reader_->FindTensor(tensor);
    if (!absl::IsNotFound(entry.status())) return entry;
    return absl::NotFoundError(absl::StrCat(
        "Tensor ", tensor, " is not found in ", prefix_,
        " checkpoint. Set var_name_to_prev_var_name if the variable had "
        "another name, or exclude it by vars_to_warm_start."));
  }

  absl::Status CheckTensor(const std::string& tensor, const TensorShape& shape,
                           DataType dtype) {
    ASSIGN_OR_RETURN(const auto entry, FindTensor(tensor));
    if (entry->shape != shape) {
      return absl::InvalidArgumentError(
          absl::StrCat("its shape ", shape.ToString(),
                       " doesn't match with shape of tensor ", tensor, " (",
                       entry->shape.ToString(), ") from checkpoint ", prefix_));
    }
    if (entry->dtype == dtype) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "it is ", DataTypeName(dtype), ", but tensor ", tensor,
        " of checkpoint ", prefix_, " is ", DataTypeName(entry->dtype)));
  }

  absl::Status WarmWhole(const std::string& name,
                         const std::vector<Variable>& parts) {
    const std::string tensor = PreviousName(name);
    for (const Variable& part : parts) {
      RETURN_IF_ERROR(CheckShape(part));
      const TensorShape shape = part.shape().ToShape();
      const ops::SaveSliceInfo* slice = SliceOf(scope_, part);
      RETURN_IF_ERROR(CheckTensor(
          tensor, slice == nullptr ? shape : slice->full_shape, part.dtype()));
      const std::string text =
          slice == nullptr ? ""
                           : checkpoint::FormatShapeAndSlice(
                                 slice->full_shape, slice->offset, shape);
      Begin(part,
            ReaderScope(part)
                .WithName("checkpoint_initializer")
                .AddOutput("RestoreV2",
                           {prefix_, Tensor::Vector<std::string>({tensor}),
                            Tensor::Vector<std::string>({text})},
                           {{"dtypes", DataTypeVector{part.dtype()}}}));
    }
    return scope_.status();
  }

  absl::Status WarmByVocabulary(const std::string& name,
                                const std::vector<Variable>& parts,
                                const VocabInfo& info) {
    RETURN_IF_ERROR(CheckVocabInfo(info));
    const std::string tensor = PreviousName(name);
    RETURN_IF_ERROR(FindTensor(tensor).status());
    int64_t all_rows = 0;
    for (const Variable& part : parts) {
      RETURN_IF_ERROR(CheckMatrix(part));
      all_rows += part.shape().dim(0);
    }
    for (const Variable& part : parts) {
      const ops::SaveSliceInfo* slice = SliceOf(scope_, part);
      const RemappedPart remapped(ReaderScope(part), prefix_, tensor, info);
      ASSIGN_OR_RETURN(
          const Output value,
          remapped.Value(part.shape().ToShape(),
                         slice == nullptr ? 0 : slice->offset[0], all_rows));
      Begin(part, value);
    }
    return scope_.status();
  }

  static absl::Status CheckShape(const Variable& part) {
    if (part.shape().IsFullyDefined()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("its shape is not known: ", part.shape().ToString()));
  }

  absl::Status CheckMatrix(const Variable& part) const {
    RETURN_IF_ERROR(CheckShape(part));
    const ops::SaveSliceInfo* slice = SliceOf(scope_, part);
    const bool is_by_rows =
        slice == nullptr || (slice->full_shape.rank() == 2 &&
                             slice->full_shape.dim(1) == part.shape().dim(1));
    if (part.shape().rank() == 2 && part.dtype() == DT_FLOAT && is_by_rows) {
      return absl::OkStatus();
    }
    return absl::InvalidArgumentError(absl::StrCat(
        "a vocabulary requires a float matrix partitioned by rows, but ",
        part.name(), " is ", DataTypeName(part.dtype()), " of shape ",
        part.shape().ToString()));
  }

  // Files are read on the variable's task, by its CPU.
  Scope ReaderScope(const Variable& part) const {
    return scope_.WithoutDevice()
        .WithDevice(part.handle().node()->requested_device())
        .WithDevice("/cpu:0");
  }

  // Makes `value` the part's initial value.
  void Begin(const Variable& part, const Output& value) {
    if (!value) return;
    const Scope there =
        scope_.WithoutDevice()
            .WithDevice(part.handle().node()->requested_device())
            .ColocateWith(part.handle())
            .WithName("warm_start");
    const Output checked =
        ops::EnsureShape(ReaderScope(part), value, part.shape());
    const Node* assign =
        there.AddNode(part.is_resource() ? "AssignVariableOp" : "Assign",
                      {part.handle(), checked});
    if (assign == nullptr) return;
    initializers_[part.handle().node()] = Operation(assign);
  }

  const Scope scope_;
  const WarmStartSettings& settings_;
  const std::string prefix_;
  const std::unique_ptr<CheckpointReader> reader_;
  VariableInitializers initializers_;
};

// Rejects misspelled names, which would have no effect.
template <typename Map>
absl::Status CheckUsed(const Map& by_name, absl::string_view field,
                       const Groups& groups) {
  std::set<std::string> unused, known;
  for (const auto& [name, value] : by_name) {
    if (groups.find(name) == groups.end()) unused.insert(name);
  }
  if (unused.empty()) return absl::OkStatus();
  for (const auto& [name, parts] : groups) known.insert(name);
  return absl::InvalidArgumentError(absl::StrCat(
      "You provided the following variables in ", field,
      " that were not used: ", absl::StrJoin(unused, ", "),
      ".  Perhaps you misspelled them?  Here is the list of viable variable "
      "names: ",
      absl::StrJoin(known, ", ")));
}

}  // namespace

absl::StatusOr<VariableInitializers> WarmStart(
    const Scope& scope, const WarmStartSettings& settings, FileSystem* files,
    Logger* logger) {
  RETURN_IF_ERROR(scope.status());
  const std::string& path = settings.ckpt_to_initialize_from;
  if (path.empty()) {
    return absl::InvalidArgumentError(
        "ckpt_to_initialize_from must be given: a checkpoint, or a folder of "
        "some.");
  }
  const DefaultLogger log(logger);
  log->Info(absl::StrCat("Warm-starting from: ", path));
  LocalFileSystem local;
  FileSystem& file_system = files == nullptr ? local : *files;
  const auto prefix = checkpoint::CheckpointPrefix(file_system, path);
  RETURN_IF_ERROR(
      Annotate(prefix.status(), absl::StrCat("warm start from ", path)));
  ASSIGN_OR_RETURN(const Groups groups, GroupsOf(scope, settings, *log));
  RETURN_IF_ERROR(CheckUsed(settings.var_name_to_prev_var_name,
                            "var_name_to_prev_var_name", groups));
  RETURN_IF_ERROR(CheckUsed(settings.var_name_to_vocab_info,
                            "var_name_to_vocab_info", groups));
  auto reader = CheckpointReader::Open(file_system, *prefix);
  RETURN_IF_ERROR(
      Annotate(reader.status(), absl::StrCat("warm start from ", path)));
  Warmer warmer(scope.ReenterScope(""), settings, *prefix, *std::move(reader));
  ASSIGN_OR_RETURN(const int64_t count, warmer.Warm(groups));
  RETURN_IF_ERROR(scope.status());
  log->Info(absl::StrCat("Warm-started ", count, " variables."));
  return warmer.initializers();
}

}  // namespace weft::train
