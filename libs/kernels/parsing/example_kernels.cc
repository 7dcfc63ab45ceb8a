// ParseExample, ParseExampleV2 and ParseSingleExample: the features of
// serialized examples as tensors. They differ in the source of the keys, and in
// whether there is a batch.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"
#include "libs/kernels/op_kernel.h"
#include "libs/kernels/parsing/example_records.h"
#include "libs/kernels/string/string_kernels.h"

namespace weft {
namespace {

using Keys = std::vector<std::string>;

// The features described by a node's attrs.
struct FeatureAttrs {
  DataTypeVector sparse_types, dense_types, ragged_types, split_types;
  std::vector<PartialShape> dense_shapes;

  static absl::StatusOr<FeatureAttrs> Read(
      const OpKernelConstruction& construction, bool has_ragged) {
    FeatureAttrs attrs;
    ASSIGN_OR_RETURN(attrs.sparse_types,
                     construction.GetAttr<DataTypeVector>("sparse_types"));
    ASSIGN_OR_RETURN(attrs.dense_types,
                     construction.GetAttr<DataTypeVector>("Tdense"));
    ASSIGN_OR_RETURN(
        attrs.dense_shapes,
        construction.GetAttr<std::vector<PartialShape>>("dense_shapes"));
    if (has_ragged) {
      ASSIGN_OR_RETURN(attrs.ragged_types, construction.GetAttr<DataTypeVector>(
                                               "ragged_value_types"));
      ASSIGN_OR_RETURN(attrs.split_types, construction.GetAttr<DataTypeVector>(
                                              "ragged_split_types"));
    }
    return attrs;
  }
};

// Parses the records of input 0.
absl::StatusOr<ExampleRecords> ParseRecords(const OpKernelContext& context,
                                            const Tensor& names) {
  return ExampleRecords::Parse(context.scheduler(), context.allocator(),
                               context.input(0), names);
}

struct FeatureKeys {
  Keys sparse, dense, ragged;
};

absl::Status CheckCount(const Keys& keys, size_t count, absl::string_view what,
                        absl::string_view other) {
  if (keys.size() == count) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("Expected len(", what, ") == ", other,
                   " but got: ", keys.size(), " vs. ", count));
}

class ExampleKernel : public OpKernel {
 public:
  ExampleKernel(const OpKernelConstruction& construction, FeatureAttrs attrs)
      : OpKernel(construction), attrs_(std::move(attrs)) {}

 protected:
  const FeatureAttrs& attrs() const { return attrs_; }

  // Sets all outputs in TensorFlow's order: sparse indices, values and shapes,
  // dense values, ragged values and row splits. `first_default` is the first
  // input with a default.
  absl::Status SetOutputs(OpKernelContext& context,
                          const ExampleRecords& records,
                          const FeatureKeys& keys, int first_default) const {
    RETURN_IF_ERROR(CheckCount(keys.sparse, attrs_.sparse_types.size(),
                               "sparse_keys", "num_sparse"));
    RETURN_IF_ERROR(CheckCount(keys.dense, attrs_.dense_types.size(),
                               "dense_keys", "len(dense_types)"));
    RETURN_IF_ERROR(CheckCount(keys.ragged, attrs_.ragged_types.size(),
                               "ragged_keys", "len(ragged_value_types)"));
    int next = 0;
    RETURN_IF_ERROR(SetSparse(context, records, keys.sparse, next));
    RETURN_IF_ERROR(
        SetDense(context, records, keys.dense, first_default, next));
    return SetRagged(context, records, keys.ragged, next);
  }

 private:
  absl::Status SetSparse(OpKernelContext& context,
                         const ExampleRecords& records, const Keys& keys,
                         int& next) const {
    const int count = static_cast<int>(keys.size());
    for (int i = 0; i < count; ++i, ++next) {
      ASSIGN_OR_RETURN(SparseValues sparse,
                       records.Sparse(keys[i], attrs_.sparse_types[i]));
      context.SetOutput(next, std::move(sparse.indices));
      context.SetOutput(next + count, std::move(sparse.values));
      context.SetOutput(next + 2 * count, std::move(sparse.shape));
    }
    next += 2 * count;
    return absl::OkStatus();
  }

  absl::Status SetDense(OpKernelContext& context, const ExampleRecords& records,
                        const Keys& keys, int first_default, int& next) const {
    for (size_t i = 0; i < keys.size(); ++i) {
      const Tensor& value = context.input(first_default + static_cast<int>(i));
      ASSIGN_OR_RETURN(
          Tensor dense,
          records.Dense({keys[i], attrs_.dense_shapes[i], value}, i));
      context.SetOutput(next++, std::move(dense));
    }
    return absl::OkStatus();
  }

  absl::Status SetRagged(OpKernelContext& context,
                         const ExampleRecords& records, const Keys& keys,
                         int next) const {
    const int count = static_cast<int>(keys.size());
    for (int i = 0; i < count; ++i, ++next) {
      ASSIGN_OR_RETURN(RaggedValues ragged,
                       records.Ragged(keys[i], attrs_.ragged_types[i],
                                      attrs_.split_types[i]));
      context.SetOutput(next, std::move(ragged.values));
      context.SetOutput(next + count, std::move(ragged.row_splits));
    }
    return absl::OkStatus();
  }

  const FeatureAttrs attrs_;
};

Keys KeysOf(const Tensor& tensor) {
  const auto keys = tensor.flat<std::string>();
  return Keys(keys.begin(), keys.end());
}

// Keys are inputs, one for each feature.
class ParseExampleKernel : public ExampleKernel {
 public:
  using ExampleKernel::ExampleKernel;
  absl::Status Compute(OpKernelContext& context) override {
    if (!context.input(0).shape().IsVector()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected serialized to be a vector, got shape: ",
                       context.input(0).shape().ToString()));
    }
    FeatureKeys keys;
    int next = 2;
    RETURN_IF_ERROR(
        ReadKeys(context, attrs().sparse_types.size(), next, keys.sparse));
    RETURN_IF_ERROR(
        ReadKeys(context, attrs().dense_types.size(), next, keys.dense));
    ASSIGN_OR_RETURN(const ExampleRecords records,
                     ParseRecords(context, context.input(1)));
    return SetOutputs(context, records, keys, next);
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
      keys.push_back(key.scalar<std::string>());
    }
    return absl::OkStatus();
  }
};

// Keys are three inputs; a single example needs no batch.
class ParseExampleV2Kernel : public ExampleKernel {
 public:
  using ExampleKernel::ExampleKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const FeatureKeys keys = {KeysOf(context.input(2)),
                              KeysOf(context.input(3)),
                              KeysOf(context.input(4))};
    ASSIGN_OR_RETURN(const ExampleRecords records,
                     ParseRecords(context, context.input(1)));
    constexpr int kFirstDefault = 5;
    return SetOutputs(context, records, keys, kFirstDefault);
  }
};

// Keys are attrs.
class ParseSingleExampleKernel : public ExampleKernel {
 public:
  ParseSingleExampleKernel(const OpKernelConstruction& construction,
                           FeatureAttrs attrs, FeatureKeys keys)
      : ExampleKernel(construction, std::move(attrs)), keys_(std::move(keys)) {}

  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(FeatureAttrs attrs,
                     FeatureAttrs::Read(construction, false));
    FeatureKeys keys;
    ASSIGN_OR_RETURN(keys.sparse, construction.GetAttr<Keys>("sparse_keys"));
    ASSIGN_OR_RETURN(keys.dense, construction.GetAttr<Keys>("dense_keys"));
    return std::make_unique<ParseSingleExampleKernel>(
        construction, std::move(attrs), std::move(keys));
  }

  absl::Status Compute(OpKernelContext& context) override {
    if (!context.input(0).shape().IsScalar()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Expected serialized to be a scalar, got shape: ",
                       context.input(0).shape().ToString()));
    }
    const Tensor no_names(DT_STRING, {0});
    ASSIGN_OR_RETURN(const ExampleRecords records,
                     ParseRecords(context, no_names));
    return SetOutputs(context, records, keys_, 1);
  }

 private:
  const FeatureKeys keys_;
};

template <typename Kernel, bool has_ragged>
absl::StatusOr<std::unique_ptr<OpKernel>> Make(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(FeatureAttrs attrs,
                   FeatureAttrs::Read(construction, has_ragged));
  return std::make_unique<Kernel>(construction, std::move(attrs));
}

void Register(KernelRegistry& registry, const char* op, KernelFactory factory) {
  KernelDef def;
  def.op = op;
  registry.Register(std::move(def), std::move(factory));
}

}  // namespace

void RegisterExampleKernels(KernelRegistry& registry) {
  Register(registry, "ParseExample", Make<ParseExampleKernel, false>);
  Register(registry, "ParseExampleV2", Make<ParseExampleV2Kernel, true>);
  Register(registry, "ParseSingleExample", ParseSingleExampleKernel::Make);
}

}  // namespace weft
