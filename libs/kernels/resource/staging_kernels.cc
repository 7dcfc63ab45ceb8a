// Kernels of staging areas. There are no handles: nodes with the same container
// and shared_name (else node name) use the same area, and the first one sets
// its limits. Calls wait in the area without a thread
// (libs/resource/staging_area.h).
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/kernels/resource/resource_kernels.h"
#include "libs/resource/staging_area.h"

namespace weft {
namespace {

// The area of a node, and the options for creating it.
struct StagingNode {
  std::string container, name;
  StagingLimits limits;
  DataTypeVector types;

  static absl::StatusOr<StagingNode> Read(
      const OpKernelConstruction& construction) {
    StagingNode node;
    ASSIGN_OR_RETURN(node.container,
                     construction.GetAttr<std::string>("container"));
    RETURN_IF_ERROR(ValidateContainerName(node.container));
    ASSIGN_OR_RETURN(node.name,
                     construction.GetAttr<std::string>("shared_name"));
    if (absl::StartsWith(node.name, "_")) {
      return absl::InvalidArgumentError(
          absl::StrCat("shared_name cannot start with '_': ", node.name));
    }
    if (node.name.empty()) node.name = construction.node().name();
    ASSIGN_OR_RETURN(node.limits.capacity,
                     construction.GetAttr<int64_t>("capacity"));
    ASSIGN_OR_RETURN(node.limits.memory_limit,
                     construction.GetAttr<int64_t>("memory_limit"));
    ASSIGN_OR_RETURN(node.types,
                     construction.GetAttr<DataTypeVector>("dtypes"));
    return node;
  }
};

absl::StatusOr<std::shared_ptr<StagingArea>> FindStagingArea(
    const OpKernelContext& context, const StagingNode& node) {
  return context.resources().LookupOrCreate<StagingArea>(
      context.cancellation(), node.container, node.name,
      [&]() -> absl::StatusOr<std::shared_ptr<StagingArea>> {
        return std::make_shared<StagingArea>(node.limits);
      });
}

template <typename Map>
absl::StatusOr<std::shared_ptr<StagingMap>> FindStagingMap(
    const OpKernelContext& context, const StagingNode& node) {
  return context.resources().LookupOrCreate<Map>(
      context.cancellation(), node.container, node.name,
      [&]() -> absl::StatusOr<std::shared_ptr<Map>> {
        return std::make_shared<Map>(node.types, node.limits);
      });
}

// Inputs from number `first` on.
StagedTuple TakeTuple(OpKernelContext& context, int first) {
  StagedTuple tuple;
  for (int i = first; i < context.num_inputs(); ++i) {
    tuple.push_back(context.TakeInput(i));
  }
  return tuple;
}

// Sets outputs from number `first` on.
void GiveTuple(OpKernelContext& context, int first, StagedTuple tuple) {
  for (size_t i = 0; i < tuple.size(); ++i) {
    context.SetOutput(first + static_cast<int>(i), std::move(tuple[i]));
  }
}

DataTypeVector OutputTypes(const OpKernelContext& context, int first) {
  DataTypeVector types;
  for (int i = first; i < context.num_outputs(); ++i) {
    types.push_back(context.output_type(i));
  }
  return types;
}

StagingArea::Taken GivingTuple(OpKernelContext& context,
                               AsyncOpKernel::Done done) {
  return [&context, done = std::move(done)](auto tuple) mutable {
    if (!tuple.ok()) return done(tuple.status());
    GiveTuple(context, 0, *std::move(tuple));
    done(absl::OkStatus());
  };
}

StagingMap::Taken GivingItem(OpKernelContext& context, bool with_key,
                             AsyncOpKernel::Done done) {
  return [&context, with_key, done = std::move(done)](auto item) mutable {
    if (!item.ok()) return done(item.status());
    if (with_key) context.SetOutput(0, Tensor::Scalar(item->key));
    GiveTuple(context, with_key ? 1 : 0, std::move(item->values));
    done(absl::OkStatus());
  };
}

absl::StatusOr<int64_t> StagingIndex(const OpKernelContext& context) {
  const Tensor& index = context.input(0);
  if (index.rank() != 0) {
    return absl::InvalidArgumentError("index must be scalar");
  }
  if (index.scalar<int32_t>() >= 0) return index.scalar<int32_t>();
  return absl::InvalidArgumentError(
      absl::StrCat("index must be >= 0 not ", index.scalar<int32_t>()));
}

absl::StatusOr<int64_t> StagingKey(const OpKernelContext& context) {
  const Tensor& key = context.input(0);
  if (key.num_elements() == 0) {
    return absl::InvalidArgumentError("key must not be empty");
  }
  if (key.num_elements() == 1) return key.flat<int64_t>()[0];
  return absl::InvalidArgumentError(
      absl::StrCat("key must be an int64 scalar, got tensor with shape: ",
                   key.shape().ToString()));
}

StagingMap::Indices StagingIndices(const Tensor& indices) {
  const auto values = indices.flat<int32_t>();
  return {values.begin(), values.end()};
}

// The base of these kernels; `Derived` is the kernel.
template <typename Derived>
class StagingKernel : public AsyncOpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(StagingNode node, StagingNode::Read(construction));
    return std::make_unique<Derived>(construction, std::move(node));
  }
  StagingKernel(const OpKernelConstruction& construction, StagingNode node)
      : AsyncOpKernel(construction), node_(std::move(node)) {}

 protected:
  const StagingNode& node() const { return node_; }

 private:
  const StagingNode node_;
};

template <typename Derived>
class StagingAreaKernel : public StagingKernel<Derived> {
 public:
  using StagingKernel<Derived>::StagingKernel;
  void ComputeAsync(OpKernelContext& context,
                    AsyncOpKernel::Done done) override {
    auto area = FindStagingArea(context, this->node());
    if (!area.ok()) return done(area.status());
    static_cast<Derived*>(this)->Run(context, **area, std::move(done));
  }
};

struct StageKernel : StagingAreaKernel<StageKernel> {
  using StagingAreaKernel::StagingAreaKernel;
  void Run(OpKernelContext& context, StagingArea& area, Done done) {
    area.Put(context.mutable_cancellation(), TakeTuple(context, 0),
             std::move(done));
  }
};

struct UnstageKernel : StagingAreaKernel<UnstageKernel> {
  using StagingAreaKernel::StagingAreaKernel;
  void Run(OpKernelContext& context, StagingArea& area, Done done) {
    area.Take(context.mutable_cancellation(), OutputTypes(context, 0),
              GivingTuple(context, std::move(done)));
  }
};

struct StagePeekKernel : StagingAreaKernel<StagePeekKernel> {
  using StagingAreaKernel::StagingAreaKernel;
  void Run(OpKernelContext& context, StagingArea& area, Done done) {
    const auto index = StagingIndex(context);
    if (!index.ok()) return done(index.status());
    area.Peek(context.mutable_cancellation(), *index, OutputTypes(context, 0),
              GivingTuple(context, std::move(done)));
  }
};

struct StageClearKernel : StagingAreaKernel<StageClearKernel> {
  using StagingAreaKernel::StagingAreaKernel;
  void Run(OpKernelContext& context, StagingArea& area, Done done) {
    area.Clear(context.mutable_cancellation(), std::move(done));
  }
};

struct StageSizeKernel : StagingAreaKernel<StageSizeKernel> {
  using StagingAreaKernel::StagingAreaKernel;
  void Run(OpKernelContext& context, StagingArea& area, Done done) {
    context.SetOutput(0, Tensor::Scalar(static_cast<int32_t>(area.size())));
    done(absl::OkStatus());
  }
};

// `Map` is StagingMap or OrderedStagingMap.
template <typename Map, typename Derived>
class StagingMapKernel : public StagingKernel<Derived> {
 public:
  using StagingKernel<Derived>::StagingKernel;
  void ComputeAsync(OpKernelContext& context,
                    AsyncOpKernel::Done done) override {
    auto map = FindStagingMap<Map>(context, this->node());
    if (!map.ok()) return done(map.status());
    static_cast<Derived*>(this)->Run(context, **map, std::move(done));
  }
};

template <typename Map>
struct MapStageKernel : StagingMapKernel<Map, MapStageKernel<Map>> {
  using StagingMapKernel<Map, MapStageKernel<Map>>::StagingMapKernel;
  void Run(OpKernelContext& context, StagingMap& map,
           AsyncOpKernel::Done done) {
    const auto key = StagingKey(context);
    if (!key.ok()) return done(key.status());
    map.Put(context.mutable_cancellation(), *key,
            StagingIndices(context.input(1)), TakeTuple(context, 2),
            std::move(done));
  }
};

template <typename Map>
struct MapUnstageKernel : StagingMapKernel<Map, MapUnstageKernel<Map>> {
  using StagingMapKernel<Map, MapUnstageKernel<Map>>::StagingMapKernel;
  void Run(OpKernelContext& context, StagingMap& map,
           AsyncOpKernel::Done done) {
    const auto key = StagingKey(context);
    if (!key.ok()) return done(key.status());
    map.Take(context.mutable_cancellation(), *key,
             StagingIndices(context.input(1)), OutputTypes(context, 0),
             GivingItem(context, /*with_key=*/false, std::move(done)));
  }
};

template <typename Map>
struct MapPeekKernel : StagingMapKernel<Map, MapPeekKernel<Map>> {
  using StagingMapKernel<Map, MapPeekKernel<Map>>::StagingMapKernel;
  void Run(OpKernelContext& context, StagingMap& map,
           AsyncOpKernel::Done done) {
    const auto key = StagingKey(context);
    if (!key.ok()) return done(key.status());
    map.Peek(context.mutable_cancellation(), *key,
             StagingIndices(context.input(1)), OutputTypes(context, 0),
             GivingItem(context, /*with_key=*/false, std::move(done)));
  }
};

template <typename Map>
struct MapUnstageNoKeyKernel
    : StagingMapKernel<Map, MapUnstageNoKeyKernel<Map>> {
  using StagingMapKernel<Map, MapUnstageNoKeyKernel<Map>>::StagingMapKernel;
  void Run(OpKernelContext& context, StagingMap& map,
           AsyncOpKernel::Done done) {
    map.TakeAny(context.mutable_cancellation(),
                StagingIndices(context.input(0)), OutputTypes(context, 1),
                GivingItem(context, /*with_key=*/true, std::move(done)));
  }
};

template <typename Map>
struct MapClearKernel : StagingMapKernel<Map, MapClearKernel<Map>> {
  using StagingMapKernel<Map, MapClearKernel<Map>>::StagingMapKernel;
  void Run(OpKernelContext& context, StagingMap& map,
           AsyncOpKernel::Done done) {
    map.Clear(context.mutable_cancellation(), std::move(done));
  }
};

template <typename Map>
struct MapSizeKernel : StagingMapKernel<Map, MapSizeKernel<Map>> {
  using StagingMapKernel<Map, MapSizeKernel<Map>>::StagingMapKernel;
  void Run(OpKernelContext& context, StagingMap& map,
           AsyncOpKernel::Done done) {
    context.SetOutput(0, Tensor::Scalar(static_cast<int32_t>(map.size())));
    done(absl::OkStatus());
  }
};

template <typename Map>
struct MapIncompleteSizeKernel
    : StagingMapKernel<Map, MapIncompleteSizeKernel<Map>> {
  using StagingMapKernel<Map, MapIncompleteSizeKernel<Map>>::StagingMapKernel;
  void Run(OpKernelContext& context, StagingMap& map,
           AsyncOpKernel::Done done) {
    context.SetOutput(
        0, Tensor::Scalar(static_cast<int32_t>(map.incomplete_size())));
    done(absl::OkStatus());
  }
};

}  // namespace

void RegisterStagingKernels(KernelRegistry& registry) {
  const auto add = [&](const char* op, const KernelFactory& make) {
    registry.Register({.op = op, .is_cheap = true}, make);
  };
  add("Stage", StageKernel::Make);
  add("Unstage", UnstageKernel::Make);
  add("StagePeek", StagePeekKernel::Make);
  add("StageClear", StageClearKernel::Make);
  add("StageSize", StageSizeKernel::Make);
  using Ordered = OrderedStagingMap;
  add("MapStage", MapStageKernel<StagingMap>::Make);
  add("OrderedMapStage", MapStageKernel<Ordered>::Make);
  add("MapUnstage", MapUnstageKernel<StagingMap>::Make);
  add("OrderedMapUnstage", MapUnstageKernel<Ordered>::Make);
  add("MapPeek", MapPeekKernel<StagingMap>::Make);
  add("OrderedMapPeek", MapPeekKernel<Ordered>::Make);
  add("MapUnstageNoKey", MapUnstageNoKeyKernel<StagingMap>::Make);
  add("OrderedMapUnstageNoKey", MapUnstageNoKeyKernel<Ordered>::Make);
  add("MapClear", MapClearKernel<StagingMap>::Make);
  add("OrderedMapClear", MapClearKernel<Ordered>::Make);
  add("MapSize", MapSizeKernel<StagingMap>::Make);
  add("OrderedMapSize", MapSizeKernel<Ordered>::Make);
  add("MapIncompleteSize", MapIncompleteSizeKernel<StagingMap>::Make);
  add("OrderedMapIncompleteSize", MapIncompleteSizeKernel<Ordered>::Make);
}

}  // namespace weft
