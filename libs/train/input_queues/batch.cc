#include "libs/train/input_queues/batch.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/status.h"
#include "libs/ops/math/math_ops.h"
#include "libs/ops/resource/queue.h"
#include "libs/train/input_queues/queue_fullness.h"

namespace weft::train {
namespace {

using OutputLists = std::vector<std::vector<Output>>;

bool FailBatch(const Scope& scope, absl::string_view text) {
  scope.UpdateStatus(absl::InvalidArgumentError(text));
  return false;
}

std::string TypeList(const DataTypeVector& types) {
  return absl::StrJoin(types, ", ", [](std::string* out, DataType type) {
    absl::StrAppend(out, DataTypeName(type));
  });
}

DataTypeVector TypesOf(const std::vector<Output>& tensors) {
  DataTypeVector types;
  for (const Output& tensor : tensors) {
    types.push_back(RemoveRefType(tensor.dtype()));
  }
  return types;
}

// Returns the shape of the queue's component `i`: the shape that tensor `i` has
// in every list, without the first dimension if `enqueue_many`.
absl::StatusOr<PartialShape> ExampleShape(const OutputLists& lists, size_t i,
                                          bool enqueue_many) {
  PartialShape merged;
  for (const auto& tensors : lists) {
    PartialShape shape = tensors[i].shape();
    if (!shape.has_rank()) {
      return absl::InvalidArgumentError(
          absl::StrCat("Cannot infer Tensor's rank: ", tensors[i].name()));
    }
    if (enqueue_many) {
      if (shape.rank() == 0) {
        return absl::InvalidArgumentError(absl::StrCat(
            "Tensor ", tensors[i].name(),
            " is a scalar: with enqueue_many its rows would be examples"));
      }
      shape = PartialShape(Dims(shape.dims().begin() + 1, shape.dims().end()));
    }
    ASSIGN_OR_RETURN(merged, merged.MergeWith(shape));
  }
  return merged;
}

// Batching is the state that ordered and shuffled batches share.
struct Batching {
  bool enqueue_many;
  std::optional<std::vector<PartialShape>> shapes;
  bool allow_smaller_final_batch;

  // Converts the inputs to outputs. Returns false, with an error in the scope,
  // if a tensor is null or invalid.
  bool Convert(const Scope& scope, const std::vector<InputList>& inputs,
               OutputLists& lists) const {
    for (const InputList& list : inputs) {
      lists.emplace_back();
      for (const Input& input : list) {
        lists.back().push_back(scope.ToOutput(input));
        if (!scope.ok()) return false;
        if (!lists.back().back()) {
          return FailBatch(scope, "a tensor of a batch is null");
        }
      }
    }
    // Creates TensorFlow's constant for its default mask `keep_input` = true,
    // so that node names match.
    scope.ToOutput(Tensor::Scalar(true));
    return scope.ok();
  }

  bool CheckTypes(const Scope& scope, const OutputLists& lists) const {
    const DataTypeVector types = TypesOf(lists[0]);
    for (const auto& tensors : lists) {
      const DataTypeVector other = TypesOf(tensors);
      if (other == types) continue;
      return FailBatch(
          scope, absl::StrCat("Expected types to be consistent: ",
                              TypeList(types), " vs. ", TypeList(other), "."));
    }
    return true;
  }

  bool ShapesOf(const Scope& scope, const OutputLists& lists,
                std::vector<PartialShape>& result) const {
    if (shapes.has_value()) {
      result = *shapes;
      return true;
    }
    for (size_t i = 0; i < lists[0].size(); ++i) {
      auto shape = ExampleShape(lists, i, enqueue_many);
      if (!shape.ok()) return FailBatch(scope, shape.status().message());
      result.push_back(*std::move(shape));
    }
    return true;
  }

  Operation Enqueue(const Scope& scope, const ops::Queue& queue,
                    const std::vector<Output>& tensors) const {
    const InputList inputs(tensors.begin(), tensors.end());
    return enqueue_many ? queue.EnqueueMany(scope, inputs)
                        : queue.Enqueue(scope, inputs);
  }

  std::vector<Output> Dequeue(const Scope& scope, const ops::Queue& queue,
                              const Input& batch_size) const {
    const Scope named = scope.WithName(scope.prefix());
    return allow_smaller_final_batch ? queue.DequeueUpTo(named, batch_size)
                                     : queue.DequeueMany(named, batch_size);
  }
};

// Adds one enqueue operation per list, `num_threads` times.
void AddEnqueues(const Scope& scope, const ops::Queue& queue,
                 const Batching& batching, const OutputLists& lists,
                 int64_t num_threads) {
  std::vector<Operation> operations;
  for (const auto& tensors : lists) {
    const Operation enqueue = batching.Enqueue(scope, queue, tensors);
    operations.insert(operations.end(), static_cast<size_t>(num_threads),
                      enqueue);
  }
  AddRunner(scope, queue, std::move(operations), Operation());
}

bool CheckLists(const Scope& scope, const std::vector<InputList>& lists,
                int64_t num_threads) {
  if (lists.empty()) {
    return FailBatch(scope, "Expected at least one set of tensors");
  }
  if (lists[0].empty()) {
    return FailBatch(scope, "Expected at least one tensor in batch().");
  }
  constexpr int64_t kMostThreads = 1024;
  if (num_threads < 1 || num_threads > kMostThreads) {
    return FailBatch(scope, absl::StrCat("num_threads must be in [1, ",
                                         kMostThreads, "] not ", num_threads));
  }
  return scope.ok();
}

// Returns null outputs, one per tensor, for use after an error.
std::vector<Output> NullBatch(const std::vector<InputList>& inputs) {
  return std::vector<Output>(inputs.empty() ? 0 : inputs[0].size());
}

// Builds a batch from all lists. All nodes are in one scope, named
// `default_name` unless `scope` has a name.
std::vector<Output> BatchAll(const Scope& scope, const char* default_name,
                             const std::vector<InputList>& inputs,
                             const Input& batch_size,
                             const BatchOptions& options, int64_t num_threads) {
  if (!CheckLists(scope, inputs, num_threads) ||
      !CheckCapacity(scope, options.capacity)) {
    return NullBatch(inputs);
  }
  const Batching batching{options.enqueue_many, options.shapes,
                          options.allow_smaller_final_batch};
  const Scope inner = scope.CompositeScope(default_name);
  OutputLists lists;
  std::vector<PartialShape> shapes;
  if (!batching.Convert(inner, inputs, lists) ||
      !batching.CheckTypes(inner, lists) ||
      !batching.ShapesOf(inner, lists, shapes)) {
    return NullBatch(inputs);
  }
  const ops::QueueAttrs attrs{.shapes = std::move(shapes),
                              .capacity = options.capacity,
                              .shared_name = options.shared_name};
  const DataTypeVector types = TypesOf(lists[0]);
  const ops::Queue queue =
      options.dynamic_pad
          ? ops::Queue::PaddingFifo(inner.WithName("padding_fifo_queue"), types,
                                    attrs)
          : ops::Queue::Fifo(QueueScope(inner).WithName("fifo_queue"), types,
                             attrs);
  if (!scope.ok()) return NullBatch(inputs);
  AddEnqueues(inner, queue, batching, lists, num_threads);
  AddFullness(inner, absl::StrCat("fraction_of_", options.capacity, "_full"),
              queue.Size(inner), options.capacity);
  return batching.Dequeue(inner, queue, batch_size);
}

std::vector<Output> ShuffleAll(const Scope& scope, const char* default_name,
                               const std::vector<InputList>& inputs,
                               const Input& batch_size,
                               const ShuffleBatchOptions& options,
                               int64_t num_threads) {
  const int64_t kept = options.min_after_dequeue;
  if (!CheckLists(scope, inputs, num_threads)) return NullBatch(inputs);
  constexpr int64_t kMostKept = std::numeric_limits<int32_t>::max();
  if (kept < 0 || kept > kMostKept || options.capacity <= kept) {
    FailBatch(scope, absl::StrCat("capacity ", options.capacity,
                                  " must be bigger than min_after_dequeue ",
                                  kept, "."));
    return NullBatch(inputs);
  }
  const Batching batching{options.enqueue_many, options.shapes,
                          options.allow_smaller_final_batch};
  const Scope inner = scope.CompositeScope(default_name);
  OutputLists lists;
  ops::RandomShuffleQueueAttrs attrs;
  if (!batching.Convert(inner, inputs, lists) ||
      !batching.CheckTypes(inner, lists) ||
      !batching.ShapesOf(inner, lists, attrs.shapes)) {
    return NullBatch(inputs);
  }
  attrs.capacity = options.capacity;
  attrs.shared_name = options.shared_name;
  attrs.min_after_dequeue = kept;
  const ops::Queue queue = ops::Queue::RandomShuffle(
      inner.WithName("random_shuffle_queue").WithoutControlDependencies(),
      TypesOf(lists[0]), attrs, options.seed);
  if (!scope.ok()) return NullBatch(inputs);
  AddEnqueues(inner, queue, batching, lists, num_threads);
  const Output beyond =
      ops::Maximum(inner, 0,
                   ops::Sub(inner.WithName("sub"), queue.Size(inner),
                            static_cast<int32_t>(kept)));
  const int64_t room = options.capacity - kept;
  AddFullness(inner,
              absl::StrCat("fraction_over_", kept, "_of_", room, "_full"),
              beyond, room);
  return batching.Dequeue(inner, queue, batch_size);
}

}  // namespace

std::vector<Output> Batch(const Scope& scope, const InputList& tensors,
                          const Input& batch_size,
                          const BatchOptions& options) {
  return BatchAll(scope, "batch", {tensors}, batch_size, options,
                  options.num_threads);
}

std::vector<Output> BatchJoin(const Scope& scope,
                              const std::vector<InputList>& tensors_list,
                              const Input& batch_size,
                              const BatchOptions& options) {
  return BatchAll(scope, "batch_join", tensors_list, batch_size, options, 1);
}

std::vector<Output> ShuffleBatch(const Scope& scope, const InputList& tensors,
                                 const Input& batch_size,
                                 const ShuffleBatchOptions& options) {
  return ShuffleAll(scope, "shuffle_batch", {tensors}, batch_size, options,
                    options.num_threads);
}

std::vector<Output> ShuffleBatchJoin(const Scope& scope,
                                     const std::vector<InputList>& tensors_list,
                                     const Input& batch_size,
                                     const ShuffleBatchOptions& options) {
  return ShuffleAll(scope, "shuffle_batch_join", tensors_list, batch_size,
                    options, 1);
}

}  // namespace weft::train
