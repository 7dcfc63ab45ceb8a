// ParseSequenceExample, ParseSequenceExampleV2 and ParseSingleSequenceExample:
// the features of serialized sequences as tensors. They differ in the source of
// the keys, in whether there is a batch, and in that only V2 has ragged
// features.
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"
#include "libs/kernels/op_kernel.h"
#include "libs/kernels/parsing/parsing_kernels.h"
#include "libs/kernels/parsing/sequence_records.h"

namespace weft {
namespace {

using Keys = std::vector<std::string>;
using Part = SequenceRecords::Part;

// The features of one part described by a node's attrs.
struct PartAttrs {
  DataTypeVector sparse_types, dense_types, ragged_types, split_types;
  std::vector<PartialShape> dense_shapes;
};

absl::StatusOr<PartAttrs> ReadPart(const OpKernelConstruction& construction,
                                   const std::string& prefix,
                                   const char* dense_types, bool has_ragged) {
  PartAttrs attrs;
  ASSIGN_OR_RETURN(attrs.sparse_types, construction.GetAttr<DataTypeVector>(
                                           prefix + "sparse_types"));
  ASSIGN_OR_RETURN(attrs.dense_types,
                   construction.GetAttr<DataTypeVector>(dense_types));
  ASSIGN_OR_RETURN(
      attrs.dense_shapes,
      construction.GetAttr<std::vector<PartialShape>>(prefix + "dense_shapes"));
  if (has_ragged) {
    ASSIGN_OR_RETURN(attrs.ragged_types, construction.GetAttr<DataTypeVector>(
                                             prefix + "ragged_value_types"));
    ASSIGN_OR_RETURN(attrs.split_types, construction.GetAttr<DataTypeVector>(
                                            prefix + "ragged_split_types"));
  }
  return attrs;
}

struct PartKeys {
  Keys sparse, dense, ragged;
};

struct SequenceKeys {
  PartKeys context, lists;
  // For each dense key of the lists, in order.
  std::vector<char> may_be_missing;
};

absl::Status CheckKeyCount(size_t keys, size_t types, absl::string_view what) {
  if (keys == types) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Expected ", types, " of ", what, ", but got: ", keys));
}

absl::Status CheckKeyCounts(const PartKeys& keys, const PartAttrs& attrs,
                            const std::string& prefix) {
  RETURN_IF_ERROR(CheckKeyCount(keys.sparse.size(), attrs.sparse_types.size(),
                                prefix + "sparse_keys"));
  RETURN_IF_ERROR(CheckKeyCount(keys.dense.size(), attrs.dense_types.size(),
                                prefix + "dense_keys"));
  return CheckKeyCount(keys.ragged.size(), attrs.ragged_types.size(),
                       prefix + "ragged_keys");
}

Keys KeysIn(const Tensor& tensor) {
  const auto keys = tensor.flat<std::string>();
  return Keys(keys.begin(), keys.end());
}

std::vector<char> AreAmong(const Keys& keys, const Keys& some) {
  const std::set<std::string> all(some.begin(), some.end());
  std::vector<char> are;
  for (const std::string& key : keys) are.push_back(all.count(key) > 0);
  return are;
}

class SequenceExampleKernel : public OpKernel {
 public:
  explicit SequenceExampleKernel(const OpKernelConstruction& construction)
      : OpKernel(construction) {}

  absl::Status ReadAttrs(const OpKernelConstruction& construction,
                         bool has_lengths, bool has_ragged) {
    has_lengths_ = has_lengths;
    ASSIGN_OR_RETURN(context_, ReadPart(construction, kContext,
                                        "Tcontext_dense", has_ragged));
    ASSIGN_OR_RETURN(lists_, ReadPart(construction, kLists,
                                      "feature_list_dense_types", has_ragged));
    return absl::OkStatus();
  }

 protected:
  static constexpr char kContext[] = "context_";
  static constexpr char kLists[] = "feature_list_";

  const PartAttrs& context() const { return context_; }
  const PartAttrs& lists() const { return lists_; }

  // Sets all outputs in TensorFlow's order: the context's, then the lists'.
  // `first_default` is the first input with a default.
  absl::Status Parse(OpKernelContext& context, const Tensor& names,
                     const SequenceKeys& keys, int first_default) const {
    RETURN_IF_ERROR(CheckKeyCounts(keys.context, context_, kContext));
    RETURN_IF_ERROR(CheckKeyCounts(keys.lists, lists_, kLists));
    RETURN_IF_ERROR(CheckKeyCount(keys.may_be_missing.size(),
                                  lists_.dense_types.size(),
                                  "feature_list_dense_missing_assumed_empty"));
    ASSIGN_OR_RETURN(
        const SequenceRecords records,
        SequenceRecords::Parse(context.scheduler(), context.allocator(),
                               context.input(0), names));
    Outputs outputs(context, records);
    RETURN_IF_ERROR(
        outputs.SetSparse(Part::kContext, keys.context.sparse, context_));
    RETURN_IF_ERROR(
        outputs.SetContextDense(keys.context.dense, context_, first_default));
    RETURN_IF_ERROR(
        outputs.SetRagged(Part::kContext, keys.context.ragged, context_));
    RETURN_IF_ERROR(outputs.SetSparse(Part::kLists, keys.lists.sparse, lists_));
    RETURN_IF_ERROR(outputs.SetListsDense(keys, lists_, has_lengths_));
    return outputs.SetRagged(Part::kLists, keys.lists.ragged, lists_);
  }

 private:
  // Sets one kind of feature after another.
  class Outputs {
   public:
    Outputs(OpKernelContext& context, const SequenceRecords& records)
        : context_(context), records_(records) {}

    absl::Status SetSparse(Part part, const Keys& keys,
                           const PartAttrs& attrs) {
      const int count = static_cast<int>(keys.size());
      for (int i = 0; i < count; ++i) {
        ASSIGN_OR_RETURN(SparseValues sparse,
                         records_.Sparse(part, keys[i], attrs.sparse_types[i]));
        context_.SetOutput(next_ + i, std::move(sparse.indices));
        context_.SetOutput(next_ + count + i, std::move(sparse.values));
        context_.SetOutput(next_ + 2 * count + i, std::move(sparse.shape));
      }
      next_ += 3 * count;
      return absl::OkStatus();
    }

    absl::Status SetContextDense(const Keys& keys, const PartAttrs& attrs,
                                 int first_default) {
      for (size_t i = 0; i < keys.size(); ++i) {
        const Tensor& value =
            context_.input(first_default + static_cast<int>(i));
        ASSIGN_OR_RETURN(
            Tensor dense,
            records_.ContextDense({keys[i], attrs.dense_shapes[i], value}));
        context_.SetOutput(next_++, std::move(dense));
      }
      return absl::OkStatus();
    }

    absl::Status SetListsDense(const SequenceKeys& keys, const PartAttrs& attrs,
                               bool has_lengths) {
      const Keys& dense = keys.lists.dense;
      const int count = static_cast<int>(dense.size());
      for (int i = 0; i < count; ++i) {
        ASSIGN_OR_RETURN(SequenceRecords::Steps steps,
                         records_.ListsDense(dense[i], attrs.dense_types[i],
                                             attrs.dense_shapes[i],
                                             keys.may_be_missing[i] != 0));
        context_.SetOutput(next_ + i, std::move(steps.values));
        if (!has_lengths) continue;
        context_.SetOutput(next_ + count + i, std::move(steps.lengths));
      }
      next_ += has_lengths ? 2 * count : count;
      return absl::OkStatus();
    }

    // Values and splits; for lists the outer splits, then the inner ones.
    absl::Status SetRagged(Part part, const Keys& keys,
                           const PartAttrs& attrs) {
      const int count = static_cast<int>(keys.size());
      for (int i = 0; i < count; ++i) {
        ASSIGN_OR_RETURN(
            SequenceRecords::Ragged ragged,
            records_.RaggedRows(part, keys[i], attrs.ragged_types[i],
                                attrs.split_types[i]));
        context_.SetOutput(next_ + i, std::move(ragged.values));
        context_.SetOutput(next_ + count + i, std::move(ragged.outer_splits));
        if (part == Part::kContext) continue;
        context_.SetOutput(next_ + 2 * count + i,
                           std::move(ragged.inner_splits));
      }
      next_ += part == Part::kContext ? 2 * count : 3 * count;
      return absl::OkStatus();
    }

   private:
    OpKernelContext& context_;
    const SequenceRecords& records_;
    int next_ = 0;
  };

  PartAttrs context_, lists_;
  bool has_lengths_ = false;
};

// Keys are attrs.
class ParseSequenceExampleKernel : public SequenceExampleKernel {
 public:
  using SequenceExampleKernel::SequenceExampleKernel;

  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<ParseSequenceExampleKernel>(construction);
    RETURN_IF_ERROR(kernel->ReadAttrs(construction, /*has_lengths=*/true,
                                      /*has_ragged=*/false));
    SequenceKeys& keys = kernel->keys_;
    const auto read = [&](const std::string& name) {
      return construction.GetAttr<Keys>(name);
    };
    ASSIGN_OR_RETURN(keys.context.sparse, read("context_sparse_keys"));
    ASSIGN_OR_RETURN(keys.context.dense, read("context_dense_keys"));
    ASSIGN_OR_RETURN(keys.lists.sparse, read("feature_list_sparse_keys"));
    ASSIGN_OR_RETURN(keys.lists.dense, read("feature_list_dense_keys"));
    ASSIGN_OR_RETURN(const Keys missing,
                     read("feature_list_dense_missing_assumed_empty"));
    keys.may_be_missing = AreAmong(keys.lists.dense, missing);
    return kernel;
  }

  absl::Status Compute(OpKernelContext& context) override {
    constexpr int kFirstDefault = 2;
    if (context.input(0).shape().IsVector()) {
      return Parse(context, context.input(1), keys_, kFirstDefault);
    }
    return absl::InvalidArgumentError(
        absl::StrCat("Expected serialized to be a vector, got shape: ",
                     context.input(0).shape().ToString()));
  }

 private:
  SequenceKeys keys_;
};

// Keys are inputs, a vector for each kind; a single sequence needs no batch.
class ParseSequenceExampleV2Kernel : public SequenceExampleKernel {
 public:
  using SequenceExampleKernel::SequenceExampleKernel;

  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<ParseSequenceExampleV2Kernel>(construction);
    RETURN_IF_ERROR(kernel->ReadAttrs(construction, /*has_lengths=*/true,
                                      /*has_ragged=*/true));
    return kernel;
  }

  absl::Status Compute(OpKernelContext& context) override {
    SequenceKeys keys;
    int next = 2;
    for (PartKeys* part : {&keys.context, &keys.lists}) {
      part->sparse = KeysIn(context.input(next++));
      part->dense = KeysIn(context.input(next++));
      part->ragged = KeysIn(context.input(next++));
    }
    const auto may_be_missing = context.input(next++).flat<bool>();
    keys.may_be_missing.assign(may_be_missing.begin(), may_be_missing.end());
    return Parse(context, context.input(1), keys, next);
  }
};

// Keys are inputs, one for each feature; there is one sequence.
class ParseSingleSequenceExampleKernel : public SequenceExampleKernel {
 public:
  using SequenceExampleKernel::SequenceExampleKernel;

  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel =
        std::make_unique<ParseSingleSequenceExampleKernel>(construction);
    RETURN_IF_ERROR(kernel->ReadAttrs(construction, /*has_lengths=*/false,
                                      /*has_ragged=*/false));
    return kernel;
  }

  absl::Status Compute(OpKernelContext& context) override {
    if (!context.input(0).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected serialized to be a scalar, got shape: ",
                       context.input(0).shape().ToString()));
    }
    SequenceKeys keys;
    int next = 2;
    const auto read = [&](size_t count, Keys& list) {
      return ReadKeys(context, count, next, list);
    };
    RETURN_IF_ERROR(
        read(this->context().sparse_types.size(), keys.context.sparse));
    RETURN_IF_ERROR(
        read(this->context().dense_types.size(), keys.context.dense));
    RETURN_IF_ERROR(read(lists().sparse_types.size(), keys.lists.sparse));
    RETURN_IF_ERROR(read(lists().dense_types.size(), keys.lists.dense));
    keys.may_be_missing = AreAmong(keys.lists.dense, KeysIn(context.input(1)));
    const Tensor& name = context.input(context.num_inputs() - 1);
    return Parse(context, name, keys, next);
  }

 private:
  static absl::Status ReadKeys(const OpKernelContext& context, size_t count,
                               int& next, Keys& keys) {
    for (size_t i = 0; i < count; ++i) {
      const Tensor& key = context.input(next++);
      if (key.num_elements() != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat("Expected a key to be a scalar, got shape: ",
                         key.shape().ToString()));
      }
      keys.push_back(key.flat<std::string>()[0]);
    }
    return absl::OkStatus();
  }
};

}  // namespace

void RegisterSequenceExampleKernels(KernelRegistry& registry) {
  registry.Register({.op = "ParseSequenceExample"},
                    ParseSequenceExampleKernel::Make);
  registry.Register({.op = "ParseSequenceExampleV2"},
                    ParseSequenceExampleV2Kernel::Make);
  registry.Register({.op = "ParseSingleSequenceExample"},
                    ParseSingleSequenceExampleKernel::Make);
}

}  // namespace weft
