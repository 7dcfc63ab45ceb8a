// Kernels that process a whole dataset in one step: its cardinality, its only
// element, its reduction by a function.
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "libs/base/exceptions.h"
#include "libs/base/scheduler/scheduler.h"
#include "libs/base/status.h"
#include "libs/kernels/data/captured_function.h"
#include "libs/kernels/data/data_kernels.h"
#include "libs/kernels/data/dataset_kernel.h"

namespace weft {
namespace {

class DatasetCardinalityKernel : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    ASSIGN_OR_RETURN(const DatasetPtr dataset, InputDataset(context, 0));
    context.SetOutput(0, Tensor::Scalar(dataset->Cardinality()));
    return absl::OkStatus();
  }
};

// A walk of a dataset from its beginning.
class WholeWalk {
 public:
  WholeWalk(DatasetPtr dataset, IteratorContext context)
      : dataset_(std::move(dataset)), context_(std::move(context)) {}

  absl::Status Begin() {
    ASSIGN_OR_RETURN(iterator_, dataset_->MakeIterator(context_));
    return absl::OkStatus();
  }
  absl::StatusOr<bool> Next(DatasetElement* element) {
    const absl::StatusOr<bool> has =
        NextUnlessCancelled(*iterator_, context_, element);
    RETURN_IF_ERROR(NotTheEnd(*dataset_, has.status()));
    return *has;
  }

  const Dataset& dataset() const { return *dataset_; }
  IteratorContext& context() { return context_; }

 private:
  const DatasetPtr dataset_;
  IteratorContext context_;
  std::unique_ptr<DatasetIterator> iterator_;
};

// The base of kernels that walk their dataset on a thread that may wait.
class WalkingKernel : public AsyncOpKernel {
 public:
  WalkingKernel(const OpKernelConstruction& construction, DatasetOp op)
      : AsyncOpKernel(construction), op_(std::move(op)) {}

  void ComputeAsync(OpKernelContext& context, Done done) override {
    context.scheduler().Schedule(
        Pool::kUnbounded, [this, &context, done = std::move(done)]() mutable {
          done(CatchExceptions([&] { return Run(context); }));
        });
  }

 protected:
  const DatasetOp& op() const { return op_; }

 private:
  virtual absl::Status Walk(OpKernelContext& context, WholeWalk& walk) = 0;

  absl::Status Run(OpKernelContext& context) {
    RETURN_IF_ERROR(context.cancellation().status());
    ASSIGN_OR_RETURN(DatasetPtr dataset, InputDataset(context, 0));
    WholeWalk walk(std::move(dataset),
                   IteratorContextOf(context, op_.functions).ForWalk());
    RETURN_IF_ERROR(walk.Begin());
    return Walk(context, walk);
  }

  const DatasetOp op_;
};

class SingleElementKernel : public WalkingKernel {
 public:
  using WalkingKernel::WalkingKernel;

 private:
  absl::Status Walk(OpKernelContext& context, WholeWalk& walk) override {
    DatasetElement element, another;
    ASSIGN_OR_RETURN(const bool has, walk.Next(&element));
    if (!has) return absl::InvalidArgumentError("Dataset was empty.");
    ASSIGN_OR_RETURN(const bool has_more, walk.Next(&another));
    if (has_more) {
      return absl::InvalidArgumentError("Dataset had more than one element.");
    }
    RETURN_IF_ERROR(CheckElementTypes(op().element, TypesOfElement(element)));
    for (size_t i = 0; i < element.size(); ++i) {
      context.SetOutput(static_cast<int>(i), std::move(element[i]));
    }
    return absl::OkStatus();
  }
};

class ReduceKernel : public WalkingKernel {
 public:
  using WalkingKernel::WalkingKernel;

 private:
  absl::Status Walk(OpKernelContext& context, WholeWalk& walk) override {
    ASSIGN_OR_RETURN(const auto types, op().Attr<DataTypeVector>("Tstate"));
    const int num_state = static_cast<int>(types.size());
    std::vector<Tensor> state;
    for (int i = 0; i < num_state; ++i) state.push_back(context.input(1 + i));
    ASSIGN_OR_RETURN(const CapturedFunctionPtr function,
                     Reducer(context, walk.dataset(), types));
    DatasetElement element;
    while (true) {
      ASSIGN_OR_RETURN(const bool has, walk.Next(&element));
      if (!has) break;
      std::vector<Tensor> args = std::move(state);
      args.insert(args.end(), element.begin(), element.end());
      // An OUT_OF_RANGE of this function is the step's error, as in TensorFlow.
      ASSIGN_OR_RETURN(state, function->Call(walk.context(), std::move(args)));
    }
    for (int i = 0; i < num_state; ++i) context.SetOutput(i, state[i]);
    return absl::OkStatus();
  }

  absl::StatusOr<CapturedFunctionPtr> Reducer(
      const OpKernelContext& context, const Dataset& dataset,
      const DataTypeVector& state) const {
    DataTypeVector args = state;
    args.insert(args.end(), dataset.output_types().begin(),
                dataset.output_types().end());
    ASSIGN_OR_RETURN(CapturedFunctionPtr function,
                     op().Capture(context, "f", "Targuments",
                                  1 + static_cast<int>(state.size()), args));
    if (function->result_types() == state && op().element.types == state) {
      return function;
    }
    return absl::InvalidArgumentError(
        absl::StrCat(op().name, ": the function must return the new state, ",
                     state.size(), " results of the types of output_types"));
  }
};

template <typename Kernel>
absl::StatusOr<std::unique_ptr<OpKernel>> MakeWalking(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(DatasetOp op, ReadDatasetOp(construction));
  return std::make_unique<Kernel>(construction, std::move(op));
}

}  // namespace

void RegisterWholeDatasetKernels(KernelRegistry& registry) {
  for (const char* op :
       {"DatasetCardinality", "ExperimentalDatasetCardinality"}) {
    registry.Register<DatasetCardinalityKernel>(op);
  }
  registry.Register({.op = "DatasetToSingleElement"},
                    MakeWalking<SingleElementKernel>);
  registry.Register({.op = "ReduceDataset"}, MakeWalking<ReduceKernel>);
}

}  // namespace weft
