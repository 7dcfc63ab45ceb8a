#include "libs/kernels/data/dataset_kernel.h"

#include <utility>

#include "libs/kernels/control/nesting.h"

namespace weft {
namespace {

class PlainDatasetKernel : public DatasetKernel {
 public:
  PlainDatasetKernel(const OpKernelConstruction& construction, DatasetOp op,
                     MakeDataset make)
      : DatasetKernel(construction, std::move(op)), make_(make) {}

 private:
  absl::StatusOr<DatasetPtr> Make(OpKernelContext& context) override {
    return make_(op(), context);
  }

  const MakeDataset make_;
};

}  // namespace

absl::StatusOr<CapturedFunctionPtr> DatasetOp::Capture(
    const OpKernelContext& context, absl::string_view attr,
    absl::string_view captured, int first_input,
    const DataTypeVector& arg_types) const {
  ASSIGN_OR_RETURN(const auto function, Attr<NameAttrList>(attr));
  ASSIGN_OR_RETURN(const auto types, Attr<DataTypeVector>(captured));
  const int end = first_input + static_cast<int>(types.size());
  if (end > context.num_inputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": attr ", captured, " has ", types.size(),
                     " types, more than there are inputs"));
  }
  std::vector<Tensor> values;
  for (int i = first_input; i < end; ++i) values.push_back(context.input(i));
  return CapturedFunction::Create(name, functions, function, arg_types,
                                  std::move(values));
}

absl::StatusOr<CapturedFunctionPtr> FunctionsInTurn::Next(
    absl::string_view name, const DataTypeVector& arg_types) {
  const std::string captured = absl::StrCat("T", name, "_other_arguments");
  ASSIGN_OR_RETURN(
      CapturedFunctionPtr function,
      op_.Capture(context_, name, captured, first_input_, arg_types));
  ASSIGN_OR_RETURN(const auto types, op_.Attr<DataTypeVector>(captured));
  first_input_ += static_cast<int>(types.size());
  return function;
}

absl::StatusOr<DatasetOp> ReadDatasetOp(
    const OpKernelConstruction& construction) {
  const Node& node = construction.node();
  DatasetOp op;
  op.name = absl::StrCat(node.type(), ":", node.name());
  op.attrs = node.attrs();
  for (const char* attr : {"output_types", "Toutput_types"}) {
    const auto* types = node.attr<DataTypeVector>(attr);
    if (types != nullptr) op.element.types = *types;
  }
  const auto* shapes = node.attr<std::vector<PartialShape>>("output_shapes");
  if (shapes != nullptr) op.element.shapes = *shapes;
  op.functions = PersistentFunctions(construction);
  op.random = &construction.random();
  return op;
}

void RegisterDataset(KernelRegistry& registry, absl::string_view op,
                     MakeDataset make) {
  registry.Register({.op = std::string(op)},
                    [make](const OpKernelConstruction& construction)
                        -> absl::StatusOr<std::unique_ptr<OpKernel>> {
                      ASSIGN_OR_RETURN(DatasetOp read,
                                       ReadDatasetOp(construction));
                      return std::make_unique<PlainDatasetKernel>(
                          construction, std::move(read), make);
                    });
}

absl::Status DatasetKernel::Compute(OpKernelContext& context) {
  // A dataset only holds its inputs.
  int64_t nesting = 1;
  for (int i = 0; i < context.num_inputs(); ++i) {
    RETURN_IF_ERROR(Nest(context.input(i), nesting));
  }
  ASSIGN_OR_RETURN(DatasetPtr dataset, Make(context));
  // The cardinalities of the inputs are computed already, so this does not
  // recurse.
  dataset->Cardinality();
  context.SetOutput(0, ToTensor(std::move(dataset), nesting));
  return absl::OkStatus();
}

absl::StatusOr<DatasetPtr> InputDataset(const OpKernelContext& context, int i) {
  return DatasetFrom(context.input(i));
}

absl::StatusOr<int64_t> ReadBatchSize(const OpKernelContext& context) {
  ASSIGN_OR_RETURN(const auto size,
                   ScalarInput<int64_t>(context, 1, "batch_size"));
  if (size > 0) return size;
  return absl::InvalidArgumentError("Batch size must be greater than zero.");
}

int64_t CardinalityOfBatches(const Dataset& input, int64_t batch_size,
                             bool drops_remainder) {
  const int64_t size = input.Cardinality();
  if (size < 0) return size;
  const int64_t rest = size % batch_size;
  return size / batch_size + (rest > 0 && !drops_remainder ? 1 : 0);
}

int64_t CardinalityIfInfinite(const Dataset& input) {
  return input.Cardinality() == Dataset::kInfiniteCardinality
             ? Dataset::kInfiniteCardinality
             : Dataset::kUnknownCardinality;
}

FunctionRuntime* PersistentFunctions(const OpKernelConstruction& construction) {
  FunctionRuntime* functions = construction.functions();
  auto* of_session = dynamic_cast<SessionFunctions*>(functions);
  return of_session == nullptr ? functions : &of_session->Persistent();
}

IteratorContext IteratorContextOf(const OpKernelContext& context,
                                  FunctionRuntime* functions) {
  return IteratorContext(context.step(), functions == nullptr
                                             ? nullptr
                                             : functions->shared_from_this());
}

}  // namespace weft
