// Kernels of iterators: those that create handles, and those that use them.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/exceptions.h"
#include "libs/base/status.h"
#include "libs/kernels/control/nesting.h"
#include "libs/kernels/control/optional_value.h"
#include "libs/kernels/data/anonymous_resource.h"
#include "libs/kernels/data/captured_function.h"
#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"
#include "libs/kernels/data/iterator_resource.h"
#include "libs/kernels/data/iterator_state.h"
#include "libs/kernels/data/seed_generator.h"
#include "libs/kernels/resource/resource_lookup.h"
#include "libs/tensor/heap_charge.h"
#include "libs/tensor/tensor_proto.h"

namespace weft {
namespace {

absl::StatusOr<ElementSpec> ReadElementSpec(
    const OpKernelConstruction& construction) {
  ElementSpec spec;
  ASSIGN_OR_RETURN(spec.types,
                   construction.GetAttr<DataTypeVector>("output_types"));
  ASSIGN_OR_RETURN(spec.shapes, construction.GetAttr<std::vector<PartialShape>>(
                                    "output_shapes"));
  if (spec.types.size() == spec.shapes.size()) return spec;
  return absl::InvalidArgumentError(
      absl::StrCat("attr output_types has ", spec.types.size(),
                   " entries, but output_shapes ", spec.shapes.size()));
}

// ---- Handles ----

// Iterator and IteratorV2; OneShotIterator, whose function returns the dataset.
class IteratorHandleKernel : public ResourceHandleKernel<IteratorResource> {
 public:
  template <bool kIsOneShot>
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<IteratorHandleKernel>(construction);
    RETURN_IF_ERROR(kernel->ReadName(construction));
    ASSIGN_OR_RETURN(kernel->element_, ReadElementSpec(construction));
    if (kIsOneShot) {
      ASSIGN_OR_RETURN(auto function,
                       construction.GetAttr<NameAttrList>("dataset_factory"));
      kernel->new_factory_ = NewFactory(
          absl::StrCat("OneShotIterator:", construction.node().name()),
          PersistentFunctions(construction), std::move(function));
    }
    return kernel;
  }
  explicit IteratorHandleKernel(const OpKernelConstruction& construction)
      : ResourceHandleKernel<IteratorResource>(construction) {}

 private:
  // The iterator keeps the functions alive, which may keep this kernel alive.
  static std::function<IteratorResource::Factory()> NewFactory(
      std::string name, FunctionRuntime* functions, NameAttrList function) {
    return [name = std::move(name), functions, function = std::move(function)] {
      return FactoryOf(name, functions, function);
    };
  }
  static IteratorResource::Factory FactoryOf(std::string name,
                                             FunctionRuntime* functions,
                                             NameAttrList function) {
    auto runtime =
        functions == nullptr ? nullptr : functions->shared_from_this();
    return [name = std::move(name), runtime = std::move(runtime),
            function = std::move(function)](
               IteratorContext& context) -> absl::StatusOr<DatasetPtr> {
      ASSIGN_OR_RETURN(
          const CapturedFunctionPtr factory,
          CapturedFunction::Create(name, runtime.get(), function, {}, {}));
      ASSIGN_OR_RETURN(const std::vector<Tensor> results,
                       factory->Call(context, {}));
      if (results.size() == 1) return DatasetFrom(results[0]);
      return absl::InvalidArgumentError(absl::StrCat(
          "The `dataset_factory` function must return a single dataset, but "
          "gave ",
          results.size(), " results"));
    };
  }

  std::shared_ptr<IteratorResource> Create(const std::string& name) override {
    return std::make_shared<IteratorResource>(
        name, element_, new_factory_ ? new_factory_() : nullptr);
  }
  absl::Status CheckShared(const IteratorResource& iterator) const override {
    RETURN_IF_ERROR(CheckElementTypes(element_, iterator.element().types));
    return CheckElementShapes(element_, iterator.element().shapes);
  }

  ElementSpec element_;
  std::function<IteratorResource::Factory()> new_factory_;  // may be null
};

class AnonymousIteratorKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    ASSIGN_OR_RETURN(ElementSpec element, ReadElementSpec(construction));
    return std::make_unique<AnonymousIteratorKernel>(construction,
                                                     std::move(element));
  }
  AnonymousIteratorKernel(const OpKernelConstruction& construction,
                          ElementSpec element)
      : OpKernel(construction), element_(std::move(element)) {}

  absl::Status Compute(OpKernelContext& context) override {
    return SetAnonymous(
        context, std::make_shared<IteratorResource>(
                     std::string(context.node_name()), element_, nullptr));
  }

 private:
  const ElementSpec element_;
};

template <bool kHasReshuffle>
class AnonymousSeedGeneratorKernel : public OpKernel {
 public:
  explicit AnonymousSeedGeneratorKernel(
      const OpKernelConstruction& construction)
      : OpKernel(construction), random_(construction.random()) {}

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const auto seed, ScalarInput<int64_t>(context, 0, "seed"));
    ASSIGN_OR_RETURN(const auto seed2,
                     ScalarInput<int64_t>(context, 1, "seed2"));
    bool reshuffles = true;
    if (kHasReshuffle) {
      ASSIGN_OR_RETURN(reshuffles, ScalarInput<bool>(context, 2, "reshuffle"));
    }
    return SetAnonymous(context,
                        std::make_shared<SeedGenerator>(
                            SeedPair::From(seed, seed2, random_), reshuffles));
  }

 private:
  Random& random_;
};

// ---- Use of iterators ----

class IteratorKernel : public AsyncOpKernel {
 public:
  explicit IteratorKernel(const OpKernelConstruction& construction)
      : AsyncOpKernel(construction),
        functions_(PersistentFunctions(construction)) {}

 protected:
  IteratorContext ContextFor(const OpKernelContext& context) const {
    return IteratorContextOf(context, functions_);
  }

 private:
  FunctionRuntime* const functions_;
};

class MakeIteratorKernel : public IteratorKernel {
 public:
  using IteratorKernel::IteratorKernel;

  void ComputeAsync(OpKernelContext& context, Done done) override {
    auto dataset = InputDataset(context, 0);
    if (!dataset.ok()) return done(dataset.status());
    auto iterator = FindResource<IteratorResource>(context, 1);
    if (!iterator.ok()) return done(iterator.status());
    (*iterator)->Initialize(ContextFor(context), *std::move(dataset),
                            std::move(done));
  }
};

class IteratorGetNextKernel : public IteratorKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<IteratorGetNextKernel>(construction);
    ASSIGN_OR_RETURN(kernel->element_, ReadElementSpec(construction));
    return kernel;
  }
  using IteratorKernel::IteratorKernel;

  void ComputeAsync(OpKernelContext& context, Done done) override {
    auto iterator = FindResource<IteratorResource>(context, 0);
    if (!iterator.ok()) return done(iterator.status());
    (*iterator)->GetNext(
        ContextFor(context),
        [this, &context, done = std::move(done)](auto next) mutable {
          if (!next.ok()) return done(next.status());
          if (!next->has_value()) {
            return done(absl::OutOfRangeError("End of sequence"));
          }
          done(CatchExceptions(
              [&] { return SetComponents(context, **std::move(next)); }));
        });
  }

 private:
  absl::Status SetComponents(OpKernelContext& context,
                             DatasetElement element) const {
    if (element.size() != element_.types.size()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Number of components does not match: expected ",
          element_.types.size(), " types but got ", element.size(), "."));
    }
    for (size_t i = 0; i < element.size(); ++i) {
      if (element[i].dtype() == element_.types[i] &&
          element_.shapes[i].IsCompatibleWith(element[i].shape())) {
        context.SetOutput(static_cast<int>(i), std::move(element[i]));
        continue;
      }
      return absl::InvalidArgumentError(absl::StrCat(
          "Component ", i, " of the element is ",
          DataTypeName(element[i].dtype()), " ", element[i].shape().ToString(),
          ", but ", DataTypeName(element_.types[i]), " ",
          element_.shapes[i].ToString(), " is expected."));
    }
    return absl::OkStatus();
  }

  ElementSpec element_;
};

class IteratorGetNextAsOptionalKernel : public IteratorKernel {
 public:
  using IteratorKernel::IteratorKernel;

  void ComputeAsync(OpKernelContext& context, Done done) override {
    auto iterator = FindResource<IteratorResource>(context, 0);
    if (!iterator.ok()) return done(iterator.status());
    (*iterator)->GetNext(ContextFor(context),
                         [&context, done = std::move(done)](auto next) mutable {
                           if (!next.ok()) return done(next.status());
                           auto optional = CatchExceptions(
                               [&] { return OptionalFrom(*std::move(next)); });
                           if (!optional.ok()) return done(optional.status());
                           context.SetOutput(0, *std::move(optional));
                           done(absl::OkStatus());
                         });
  }

 private:
  static absl::StatusOr<Tensor> OptionalFrom(
      std::optional<DatasetElement> element) {
    Tensor optional(DT_VARIANT, TensorShape());
    Variant& variant = optional.mutable_scalar<Variant>();
    variant = NoOptional();
    if (!element.has_value()) return optional;
    int64_t nesting = 1;
    for (const Tensor& component : *element) {
      RETURN_IF_ERROR(Nest(component, nesting));
    }
    variant = OptionalOf(*std::move(element), nesting);
    return optional;
  }
};

// ---- Positions ----

class SerializeIteratorKernel : public IteratorKernel {
 public:
  using IteratorKernel::IteratorKernel;

  void ComputeAsync(OpKernelContext& context, Done done) override {
    auto iterator = FindResource<IteratorResource>(context, 0);
    if (!iterator.ok()) return done(iterator.status());
    auto values = std::make_shared<IteratorStateWriter::Values>();
    (*iterator)->Save(ContextFor(context), values,
                      [&context, values,
                       done = std::move(done)](absl::Status status) mutable {
                        if (status.ok()) {
                          status = CatchExceptions(
                              [&] { return SetState(context, *values); });
                        }
                        done(std::move(status));
                      });
  }

 private:
  static absl::Status SetState(OpKernelContext& context,
                               const IteratorStateWriter::Values& values) {
    ASSIGN_OR_RETURN(Variant state, EncodeIteratorState(values));
    Tensor serialized(DT_VARIANT, TensorShape());
    serialized.mutable_scalar<Variant>() = std::move(state);
    context.SetOutput(0, std::move(serialized));
    return absl::OkStatus();
  }
};

class DeserializeIteratorKernel : public IteratorKernel {
 public:
  using IteratorKernel::IteratorKernel;

  void ComputeAsync(OpKernelContext& context, Done done) override {
    auto iterator = FindResource<IteratorResource>(context, 0);
    if (!iterator.ok()) return done(iterator.status());
    const Tensor& serialized = context.input(1);
    if (serialized.num_elements() != 1) {
      return done(absl::InvalidArgumentError(
          absl::StrCat("the state of one iterator is wanted, not ",
                       serialized.shape().ToString())));
    }
    auto values = DecodeIteratorState(serialized.flat<Variant>()[0]);
    if (!values.ok()) return done(values.status());
    (*iterator)->Restore(
        ContextFor(context),
        std::make_shared<const IteratorStateReader::Values>(*std::move(values)),
        std::move(done));
  }
};

// ---- String handles ----

class IteratorToStringKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    RETURN_IF_ERROR(FindResource<IteratorResource>(context, 0).status());
    context.SetOutput(0,
                      Tensor::Scalar(SerializeTensorProto(context.input(0))));
    return absl::OkStatus();
  }
};

class IteratorFromStringKernel : public OpKernel {
 public:
  static absl::StatusOr<std::unique_ptr<OpKernel>> Make(
      const OpKernelConstruction& construction) {
    auto kernel = std::make_unique<IteratorFromStringKernel>(construction);
    ASSIGN_OR_RETURN(kernel->element_, ReadElementSpec(construction));
    return kernel;
  }
  using OpKernel::OpKernel;

  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const auto text,
                     ScalarInput<std::string>(context, 0, "string_handle"));
    ASSIGN_OR_RETURN(Tensor tensor, Parse(text, context));
    const ResourceHandle& handle = tensor.scalar<ResourceHandle>();
    if (handle.device != context.device().name()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "Attempted create an iterator on device \"", context.device().name(),
          "\" from handle defined on device \"", handle.device, "\""));
    }
    ASSIGN_OR_RETURN(const auto iterator,
                     context.resources().Lookup<IteratorResource>(
                         handle.container, handle.name));
    if (!element_.types.empty()) {
      RETURN_IF_ERROR(CheckElementTypes(element_, iterator->element().types));
    }
    if (!element_.shapes.empty()) {
      RETURN_IF_ERROR(CheckElementShapes(element_, iterator->element().shapes));
    }
    context.SetOutput(0, std::move(tensor));
    return absl::OkStatus();
  }

 private:
  static absl::StatusOr<Tensor> Parse(const std::string& text,
                                      const OpKernelContext& context) {
    HeapCharge charge(context.host_allocator());
    absl::StatusOr<Tensor> tensor =
        ParseTensorProto(text, context.allocator(), charge);
    if (tensor.ok() && tensor->dtype() == DT_RESOURCE && tensor->rank() == 0 &&
        tensor->scalar<ResourceHandle>().type_name ==
            IteratorResource::kTypeName) {
      return tensor;
    }
    return absl::InvalidArgumentError(
        "Could not parse string_handle as a valid ResourceHandle");
  }

  ElementSpec element_;
};

}  // namespace

void RegisterIteratorKernels(KernelRegistry& registry) {
  for (const char* op : {"Iterator", "IteratorV2"}) {
    registry.Register({.op = op, .is_cheap = true},
                      IteratorHandleKernel::Make<false>);
  }
  registry.Register({.op = "OneShotIterator", .is_cheap = true},
                    IteratorHandleKernel::Make<true>);
  for (const char* op :
       {"AnonymousIterator", "AnonymousIteratorV2", "AnonymousIteratorV3"}) {
    registry.Register({.op = op}, AnonymousIteratorKernel::Make);
  }
  registry.Register<AnonymousSeedGeneratorKernel<true>>(
      "AnonymousSeedGenerator");
  registry.Register<AnonymousSeedGeneratorKernel<false>>(
      "AnonymousRandomSeedGenerator");
  registry.Register<DummyHandleKernel<SeedGenerator>>("DummySeedGenerator");
  registry.Register<DeleteAnonymousKernel<SeedGenerator>>(
      "DeleteSeedGenerator");
  registry.Register<DeleteAnonymousKernel<SeedGenerator>>(
      "DeleteRandomSeedGenerator");
  registry.Register<DeleteAnonymousKernel<IteratorResource>>("DeleteIterator");
  registry.Register<MakeIteratorKernel>("MakeIterator");
  registry.Register<SerializeIteratorKernel>("SerializeIterator");
  registry.Register<DeserializeIteratorKernel>("DeserializeIterator");
  registry.Register({.op = "IteratorGetNext"}, IteratorGetNextKernel::Make);
  registry.Register({.op = "IteratorGetNextSync"}, IteratorGetNextKernel::Make);
  registry.Register<IteratorGetNextAsOptionalKernel>(
      "IteratorGetNextAsOptional");
  registry.Register<IteratorToStringKernel>("IteratorToStringHandle");
  for (const char* op :
       {"IteratorFromStringHandle", "IteratorFromStringHandleV2"}) {
    registry.Register({.op = op}, IteratorFromStringKernel::Make);
  }
}

}  // namespace weft
