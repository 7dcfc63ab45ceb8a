// DatasetOp and RegisterDataset turn a function that creates a dataset into a
// kernel.
//
//   absl::StatusOr<DatasetPtr> MakeTake(const DatasetOp& op,
//                                       OpKernelContext& context) {
//     ASSIGN_OR_RETURN(DatasetPtr input, InputDataset(context, 0));
//     ASSIGN_OR_RETURN(int64_t count, ScalarInput<int64_t>(context, 1,
//                                                          "count"));
//     return std::make_shared<TakeDataset>(op, std::move(input), count);
//   }
//   RegisterDataset(registry, "TakeDataset", MakeTake);
#ifndef WEFT_LIBS_KERNELS_DATA_DATASET_KERNEL_H_
#define WEFT_LIBS_KERNELS_DATA_DATASET_KERNEL_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"
#include "libs/graph/attr_value.h"
#include "libs/kernels/data/captured_function.h"
#include "libs/kernels/data/dataset.h"
#include "libs/kernels/kernel_registry.h"
#include "libs/kernels/op_kernel.h"

namespace weft {

// DatasetOp is the information that a dataset's kernel has about its node.
struct DatasetOp {
  std::string name;  // "TakeDataset:node", for error texts
  AttrMap attrs;
  // From output_types (or Toutput_types) and output_shapes; empty if the op has
  // neither.
  ElementSpec element;
  FunctionRuntime* functions = nullptr;  // PersistentFunctions
  Random* random = nullptr;              // outlives the session

  template <typename T>
  absl::StatusOr<T> Attr(absl::string_view attr) const {
    const auto it = attrs.find(attr);
    const T* value = it == attrs.end() ? nullptr : it->second.Get<T>();
    if (value != nullptr) return *value;
    return absl::InvalidArgumentError(
        absl::StrCat(name, " has no attr ", attr, " of the expected kind"));
  }
  // The function of attr `attr` with its captured inputs: one for each type in
  // attr `captured`, starting at `first_input`. It takes `arg_types` followed
  // by these.
  absl::StatusOr<CapturedFunctionPtr> Capture(
      const OpKernelContext& context, absl::string_view attr,
      absl::string_view captured, int first_input,
      const DataTypeVector& arg_types) const;
};

// FunctionsInTurn returns the functions of an op with several functions in
// order. Their captured values are consecutive inputs after the dataset.
class FunctionsInTurn {
 public:
  // `op` and `context` must outlive this object.
  FunctionsInTurn(const DatasetOp& op, const OpKernelContext& context)
      : op_(op), context_(context) {}

  // Returns the next function, of attr `name`; attr "T" + name +
  // "_other_arguments" has its captured types.
  absl::StatusOr<CapturedFunctionPtr> Next(absl::string_view name,
                                           const DataTypeVector& arg_types);

 private:
  const DatasetOp& op_;
  const OpKernelContext& context_;
  int first_input_ = 1;
};

// The base of datasets that transform the elements of one input.
class UnaryDataset : public Dataset {
 public:
  UnaryDataset(const DatasetOp& op, DatasetPtr input)
      : Dataset(op.name, op.element), input_(std::move(input)) {}

  const Dataset& input() const { return *input_; }

 private:
  const DatasetPtr input_;
};

// The base of its iterators, which walk the input.
template <typename Set>
class UnaryIteratorOf : public IteratorOf<Set> {
 public:
  UnaryIteratorOf(const Set& dataset, std::unique_ptr<DatasetIterator> input)
      : IteratorOf<Set>(dataset), input_(std::move(input)) {}

  // Suffices for iterators without state beyond that of their input.
  absl::Status Save(IteratorContext& context,
                    IteratorStateWriter writer) override {
    return input_->Save(context, writer.Within("input"));
  }
  absl::Status Restore(IteratorContext& context,
                       const IteratorStateReader& reader) override {
    return input_->Restore(context, reader.Within("input"));
  }

 protected:
  DatasetIterator& input() { return *input_; }
  const DatasetIterator& input() const { return *input_; }
  void set_input(std::unique_ptr<DatasetIterator> input) {
    input_ = std::move(input);
  }

 private:
  std::unique_ptr<DatasetIterator> input_;
};

// Creates an iterator of class `Iterator` over `dataset`, and one over its
// input.
template <typename Iterator, typename Set>
absl::StatusOr<std::unique_ptr<DatasetIterator>> MakeUnaryIterator(
    const Set& dataset, IteratorContext& context) {
  ASSIGN_OR_RETURN(std::unique_ptr<DatasetIterator> input,
                   dataset.input().MakeIterator(context));
  return std::make_unique<Iterator>(dataset, std::move(input));
}

absl::StatusOr<DatasetOp> ReadDatasetOp(const OpKernelConstruction&);

// Runs once for each run of the node. Thread-safe.
using MakeDataset = absl::StatusOr<DatasetPtr> (*)(const DatasetOp& op,
                                                   OpKernelContext& context);
void RegisterDataset(KernelRegistry& registry, absl::string_view op,
                     MakeDataset make);

// DatasetKernel is the base of dataset kernels that keep state between runs.
class DatasetKernel : public OpKernel {
 public:
  DatasetKernel(const OpKernelConstruction& construction, DatasetOp op)
      : OpKernel(construction), op_(std::move(op)) {}

  absl::Status Compute(OpKernelContext& context) final;

 protected:
  const DatasetOp& op() const { return op_; }

 private:
  virtual absl::StatusOr<DatasetPtr> Make(OpKernelContext& context) = 0;

  const DatasetOp op_;
};

// Input `i` as a dataset; otherwise INVALID_ARGUMENT, naming it.
absl::StatusOr<DatasetPtr> InputDataset(const OpKernelContext& context, int i);

template <typename T>
absl::StatusOr<T> ScalarInput(const OpKernelContext& context, int i,
                              absl::string_view name) {
  const Tensor& tensor = context.input(i);
  if (tensor.dtype() == DataTypeOf<T>::value && tensor.rank() == 0) {
    return tensor.scalar<T>();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must be a ", DataTypeName(DataTypeOf<T>::value),
                   " scalar, but is ", DataTypeName(tensor.dtype()), " ",
                   tensor.shape().ToString()));
}

// Returns input 1 of a batching dataset, which must be positive.
absl::StatusOr<int64_t> ReadBatchSize(const OpKernelContext& context);
// Returns the Dataset::Cardinality of a dataset of batches of `input`.
int64_t CardinalityOfBatches(const Dataset& input, int64_t batch_size,
                             bool drops_remainder);

// Dataset::Cardinality of a dataset that is infinite if its input is, and
// otherwise may have any number of elements.
int64_t CardinalityIfInfinite(const Dataset& input);

template <typename T>
absl::StatusOr<std::vector<T>> VectorInput(const OpKernelContext& context,
                                           int i, absl::string_view name) {
  const Tensor& tensor = context.input(i);
  if (tensor.dtype() == DataTypeOf<T>::value && tensor.rank() <= 1) {
    const auto values = tensor.flat<T>();
    return std::vector<T>(values.begin(), values.end());
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, " must be a ", DataTypeName(DataTypeOf<T>::value),
                   " scalar or vector, but is ", DataTypeName(tensor.dtype()),
                   " ", tensor.shape().ToString()));
}

// The runtime for objects that outlive the kernel's step; null if there is
// none.
FunctionRuntime* PersistentFunctions(const OpKernelConstruction& construction);

// The context in which a kernel creates iterators; may outlive the step.
IteratorContext IteratorContextOf(const OpKernelContext& context,
                                  FunctionRuntime* functions);

}  // namespace weft

#endif  // WEFT_LIBS_KERNELS_DATA_DATASET_KERNEL_H_
