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
                   .Doc("An iterator to be initialized.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("IteratorV2")
                   .Output("handle: resource")
                   .Attr("shared_name: string")
                   .Attr("container: string")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Stateful()
                   .Doc("An iterator to be initialized.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("AnonymousIterator")
                   .Output("handle: resource")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Stateful()
                   .Doc("An iterator that nobody finds by name.")
                   .Shape(shapes::Scalar));
  registry.Add(
      OpDefBuilder("AnonymousIteratorV2")
          .Output("handle: resource")
          .Output("deleter: variant")
          .Attr("output_types: list(type) >= 1")
          .Attr("output_shapes: list(shape) >= 1")
          .Stateful()
          .Doc("An iterator that nobody finds by name, and what deletes it.")
          .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("AnonymousIteratorV3")
                   .Output("handle: resource")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Stateful()
                   .Doc("An iterator that nobody finds by name.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("OneShotIterator")
                   .Output("handle: resource")
                   .Attr("dataset_factory: func")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("container: string = ''")
                   .Attr("shared_name: string = ''")
                   .Stateful()
                   .Doc("An iterator over the data set that a function makes.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("MakeIterator")
                   .Input("dataset: variant")
                   .Input("iterator: resource")
                   .Stateful()
                   .Doc("Makes the iterator begin with that data set.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("DeleteIterator")
                   .Input("handle: resource")
                   .Input("deleter: variant")
                   .Stateful()
                   .Doc("Deletes an iterator that nobody finds by name.")
                   .Shape(shapes::NoOutputs));
}

void AddUsers(OpRegistry& registry) {
  registry.Add(OpDefBuilder("IteratorGetNext")
                   .Input("iterator: resource")
                   .Output("components: output_types")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Stateful()
                   .Doc("The next element.")
                   .Shape(ComponentShapes));
  registry.Add(OpDefBuilder("IteratorGetNextSync")
                   .Input("iterator: resource")
                   .Output("components: output_types")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Stateful()
                   .Doc("The next element.")
                   .Shape(ComponentShapes));
  registry.Add(OpDefBuilder("IteratorGetNextAsOptional")
                   .Input("iterator: resource")
                   .Output("optional: variant")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Stateful()
                   .Doc("The next element, or none at the end.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("IteratorToStringHandle")
                   .Input("resource_handle: resource")
                   .Output("string_handle: string")
                   .Stateful()
                   .Doc("A text that stands for the iterator.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("IteratorFromStringHandle")
                   .Input("string_handle: string")
                   .Output("resource_handle: resource")
                   .Attr("output_types: list(type) >= 0 = []")
                   .Attr("output_shapes: list(shape) >= 0 = []")
                   .Stateful()
                   .Doc("The iterator that a text stands for.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("IteratorFromStringHandleV2")
                   .Input("string_handle: string")
                   .Output("resource_handle: resource")
                   .Attr("output_types: list(type) >= 0 = []")
                   .Attr("output_shapes: list(shape) >= 0 = []")
                   .Stateful()
                   .Doc("The iterator that a text stands for.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("SerializeIterator")
                   .Input("resource_handle: resource")
                   .Output("serialized: variant")
                   .Attr("external_state_policy: int = 0")
                   .Stateful()
                   .Doc("How far an iterator has come.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("DeserializeIterator")
                   .Input("resource_handle: resource")
                   .Input("serialized: variant")
                   .Stateful()
                   .Doc("Makes an iterator go on where another was.")
                   .Shape(shapes::NoOutputs));
}

void AddWholeDatasets(OpRegistry& registry) {
  registry.Add(
      OpDefBuilder("DatasetCardinality")
          .Input("input_dataset: variant")
          .Output("cardinality: int64")
          .Attr("cardinality_options: string = ''")
          .Doc("How many elements there are; -1 for endless, -2 for unknown.")
          .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("DatasetToSingleElement")
                   .Input("dataset: variant")
                   .Output("components: output_types")
                   .Attr("output_types: list(type) >= 1")
                   .Attr("output_shapes: list(shape) >= 1")
                   .Attr("metadata: string = ''")
                   .Stateful()
                   .Doc("The only element.")
                   .Shape(ComponentShapes));
  registry.Add(
      OpDefBuilder("ReduceDataset")
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
          .Doc("What f makes of a state and all elements, one after the other.")
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
                   .Doc("A generator of seeds for shuffles.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("AnonymousRandomSeedGenerator")
                   .Input("seed: int64")
                   .Input("seed2: int64")
                   .Output("handle: resource")
                   .Output("deleter: variant")
                   .Stateful()
                   .Doc("A generator of seeds for shuffles.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("DummySeedGenerator")
                   .Output("handle: resource")
                   .Stateful()
                   .Doc("A handle of no generator of seeds.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("DeleteSeedGenerator")
                   .Input("handle: resource")
                   .Input("deleter: variant")
                   .Stateful()
                   .Doc("Deletes a generator of seeds.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("DeleteRandomSeedGenerator")
                   .Input("handle: resource")
                   .Input("deleter: variant")
                   .Stateful()
                   .Doc("Deletes a generator of seeds.")
                   .Shape(shapes::NoOutputs));
  registry.Add(OpDefBuilder("AnonymousMemoryCache")
                   .Output("handle: resource")
                   .Output("deleter: variant")
                   .Stateful()
                   .Doc("A cache of elements.")
                   .Shape(shapes::Scalar));
  registry.Add(OpDefBuilder("DummyMemoryCache")
                   .Output("handle: resource")
                   .Stateful()
                   .Doc("A handle of no cache of elements.")
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
