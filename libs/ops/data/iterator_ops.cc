// Ops on iterators, and on resources shared by datasets.
#include "libs/graph/inference_context.h"
#include "libs/ops/control/op_groups.h"
#include "libs/ops/data/op_groups.h"

namespace weft {
namespace {

void AddMakers(OpRegistry& registry) {
  registry.Add(OpDefBuilder("Iterator")
                   .Output("handle: resource")
                   .Attr("shared_name: string")
                   .Attr("container: string")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Stateful()
                   .Doc("Creates an uninitialized iterator.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("IteratorV2")
                   .Output("handle: resource")
                   .Attr("shared_name: string")
                   .Attr("container: string")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Stateful()
                   .Doc("Creates an uninitialized iterator.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("AnonymousIterator")
                   .Output("handle: resource")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Stateful()
                   .Doc("Creates an iterator without a shared name.")
                   .Shape(shapes::Scalar));
  registry.Add(
      OpDefBuilder("AnonymousIteratorV2")
          .Output("handle: resource")
          .Output("deleter: variant")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Stateful()
          .Doc("Creates an iterator without a shared name, and its deleter.")
          .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("AnonymousIteratorV3")
                   .Output("handle: resource")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Stateful()
                   .Doc("Creates an iterator without a shared name.")
                   .Shape(shapes::Scalar));
  registry.Add(
      OpDefBuilder("OneShotIterator")
          .Output("handle: resource")
          .Attr("dataset_factory: func")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Attr("container: string = ''")
          .Attr("shared_name: string = ''")
          .Stateful()
          .Doc("Creates an iterator over the dataset that a function returns.")
          .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("MakeIterator")
                   .Input("dataset: variant")
                   .Input("iterator: resource")
                   .Stateful()
                   .Doc("Initializes an iterator with a dataset.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("DeleteIterator")
                   .Input("handle: resource")
                   .Input("deleter: variant")
                   .Stateful()
                   .Doc("Deletes an iterator without a shared name.")
                   .Shape(shapes::NoOutputs));
}

void AddUsers(OpRegistry& registry) {
  registry.Add(OpDefBuilder("IteratorGetNext")
                   .Input("iterator: resource")
                   .Output("components: output_types")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Stateful()
                   .Doc("Returns the next element.")
                   .Shape(ComponentShapes));
  registry.Add(OpDefBuilder("IteratorGetNextSync")
                   .Input("iterator: resource")
                   .Output("components: output_types")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Stateful()
                   .Doc("Returns the next element.")
                   .Shape(ComponentShapes));
  registry.Add(OpDefBuilder("IteratorGetNextAsOptional")
                   .Input("iterator: resource")
                   .Output("optional: variant")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Stateful()
                   .Doc("Returns the next element, or none at the end.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("IteratorToStringHandle")
                   .Input("resource_handle: resource")
                   .Output("string_handle: string")
                   .Stateful()
                   .Doc("Returns a string handle of an iterator.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("IteratorFromStringHandle")
                   .Input("string_handle: string")
                   .Output("resource_handle: resource")
                   .Attr("output_types: list(type) >= 0 = []")
                   .Attr("output_shapes: list(shape) >= 0 = []")
                   .Stateful()
                   .Doc("Returns the iterator of a string handle.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("IteratorFromStringHandleV2")
                   .Input("string_handle: string")
                   .Output("resource_handle: resource")
                   .Attr("output_types: list(type) >= 0 = []")
                   .Attr("output_shapes: list(shape) >= 0 = []")
                   .Stateful()
                   .Doc("Returns the iterator of a string handle.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("SerializeIterator")
                   .Input("resource_handle: resource")
                   .Output("serialized: variant")
                   .Attr("external_state_policy: int = 0")
                   .Stateful()
                   .Doc("Returns the position of an iterator.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("DeserializeIterator")
                   .Input("resource_handle: resource")
                   .Input("serialized: variant")
                   .Stateful()
                   .Doc("Restores the position of an iterator.")
                   .Shape(shapes::NoOutputs));
}

void AddWholeDatasets(OpRegistry& registry) {
  registry.Add(
      OpDefBuilder("DatasetCardinality")
          .Input("input_dataset: variant")
          .Output("cardinality: int64")
          .Attr("cardinality_options: string = ''")
          .Doc("Returns the number of elements; -1 if infinite, -2 if unknown.")
          .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("DatasetToSingleElement")
                   .Input("dataset: variant")
                   .Output("components: output_types")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Stateful()
                   .Doc("Returns the only element.")
                   .Shape(ComponentShapes));
  registry.Add(OpDefBuilder("ReduceDataset")
                   .Input("input_dataset: variant")
                   .Input("initial_state: Tstate")
                   .Input("other_arguments: Targuments")
                   .Output("components: output_types")
                   .Attr("f: func")
                   .Attr("Tstate: list(type) >= 1")
                   .Attr("Targuments: list(type) >= 0")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("use_inter_op_parallelism: bool = true")
                   .Attr("metadata: string = ''")
                   .Stateful()
                   .Doc("Reduces the elements with f, from an initial state.")
                   .Shape(ComponentShapes));
}

void AddShared(OpRegistry& registry) {
  registry.Add(OpDefBuilder("AnonymousSeedGenerator")
                   .Input("seed: int64")
                   .Input("seed2: int64")
                   .Input("reshuffle: bool")
                   .Output("handle: resource")
                   .Output("deleter: variant")
                   .Stateful()
                   .Doc("Creates a seed generator for shuffles.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("AnonymousRandomSeedGenerator")
                   .Input("seed: int64")
                   .Input("seed2: int64")
                   .Output("handle: resource")
                   .Output("deleter: variant")
                   .Stateful()
                   .Doc("Creates a seed generator for shuffles.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("DummySeedGenerator")
                   .Output("handle: resource")
                   .Stateful()
                   .Doc("Returns a handle of no seed generator.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("DeleteSeedGenerator")
                   .Input("handle: resource")
                   .Input("deleter: variant")
                   .Stateful()
                   .Doc("Deletes a seed generator.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("DeleteRandomSeedGenerator")
                   .Input("handle: resource")
                   .Input("deleter: variant")
                   .Stateful()
                   .Doc("Deletes a seed generator.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("AnonymousMemoryCache")
                   .Output("handle: resource")
                   .Output("deleter: variant")
                   .Stateful()
                   .Doc("Creates a cache of elements.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("DummyMemoryCache")
                   .Output("handle: resource")
                   .Stateful()
                   .Doc("Returns a handle of no cache.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("DeleteMemoryCache")
                   .Input("handle: resource")
                   .Input("deleter: variant")
                   .Stateful()
                   .Doc("Deletes a cache of elements.")
                   .Shape(shapes::NoOutputs));
}

}  // namespace

void RegisterIteratorOps(OpRegistry& registry) {
  AddMakers(registry);
  AddUsers(registry);
  AddWholeDatasets(registry);
  AddShared(registry);
}

}  // namespace weft
