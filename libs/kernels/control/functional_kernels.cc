// Kernels that call functions at run time: calls that were not expanded when
// the graph was extended.
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "libs/base/status.h"
#include "libs/kernels/control/calling_kernel.h"
#include "libs/kernels/control/control_kernels.h"

namespace weft {
namespace {

absl::Status SetOutputs(OpKernelContext& context, std::vector<Tensor> results) {
  if (static_cast<int>(results.size()) != context.num_outputs()) {
    return absl::InvalidArgumentError(
        absl::StrCat("the function returns ", results.size(), " results, but ",
                     context.num_outputs(), " are expected"));
  }
  for (int i = 0; i < context.num_outputs(); ++i) {
    if (results[i].dtype() != context.output_type(i)) {
      return absl::InvalidArgumentError(
          absl::StrCat("result ", i, " of the function is ",
                       DataTypeName(results[i].dtype()), ", but ",
                       DataTypeName(context.output_type(i)), " is expected"));
    }
    context.SetOutput(i, std::move(results[i]));
  }
  return absl::OkStatus();
}

class Call : public CallingKernel {
 public:
  using CallingKernel::CallingKernel;

  void ComputeAsync(OpKernelContext& context, Done done) override {
    const absl::StatusOr<const RunnableFunction*> function = Function();
    if (!function.ok()) return done(function.status());
    std::vector<Tensor> args;
    for (int i = 0; i < context.num_inputs(); ++i) {
      args.push_back(context.TakeInput(i));
    }
    (*function)->Run(context.step(), std::move(args),
                     [&context, done = std::move(done)](
                         absl::StatusOr<std::vector<Tensor>> results) mutable {
                       done(results.ok()
                                ? SetOutputs(context, *std::move(results))
                                : results.status());
                     });
  }
};

// A scalar is converted as in C; other tensors are true if they have elements.
class ToBool : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext& context) override {
    const Tensor& input = context.input(0);
    bool result = input.num_elements() > 0;
    if (input.shape().IsScalar()) {
      ASSIGN_OR_RETURN(result, IsTrue(input));
    }
    ASSIGN_OR_RETURN(Tensor * output, context.AllocateOutput(0, TensorShape()));
    output->mutable_scalar<bool>() = result;
    return absl::OkStatus();
  }

 private:
  template <typename T>
  static bool IsOther(const Tensor& scalar) {
    return scalar.scalar<T>() != static_cast<T>(0);
  }

  static absl::StatusOr<bool> IsTrue(const Tensor& scalar) {
    switch (scalar.dtype()) {
      case DT_BOOL:
        return scalar.scalar<bool>();
      case DT_STRING:
        return !scalar.scalar<std::string>().empty();
      case DT_FLOAT:
        return IsOther<float>(scalar);
      case DT_DOUBLE:
        return IsOther<double>(scalar);
      case DT_INT32:
        return IsOther<int32_t>(scalar);
      case DT_UINT8:
        return IsOther<uint8_t>(scalar);
      case DT_INT16:
        return IsOther<int16_t>(scalar);
      case DT_INT8:
        return IsOther<int8_t>(scalar);
      case DT_INT64:
        return IsOther<int64_t>(scalar);
      default:
        return absl::InvalidArgumentError(
            absl::StrCat(DataTypeName(scalar.dtype()), " cannot be converted ",
                         "to a boolean"));
    }
  }
};

class RunByExpander : public OpKernel {
 public:
  using OpKernel::OpKernel;
  absl::Status Compute(OpKernelContext&) override {
    return absl::InternalError(
        "this op is expanded where a session's graph is extended, and is not "
        "run");
  }
};

absl::StatusOr<std::unique_ptr<OpKernel>> MakeCall(
    const OpKernelConstruction& construction) {
  ASSIGN_OR_RETURN(NameAttrList function,
                   construction.GetAttr<NameAttrList>("f"));
  return std::make_unique<Call>(construction, std::move(function));
}

}  // namespace

void RegisterFunctionalKernels(KernelRegistry& registry) {
  for (const char* op : {"PartitionedCall", "StatefulPartitionedCall"}) {
    registry.Register({.op = op}, MakeCall);
  }
  registry.Register({.op = "MapDefun"}, MakeMapDefun);
  for (const char* op : {"If", "StatelessIf", "Case", "StatelessCase", "While",
                         "StatelessWhile", "SymbolicGradient"}) {
    registry.Register<RunByExpander>(op);
  }
  registry.Register<ToBool>("ToBool", {}, /*is_cheap=*/true);
}

}  // namespace weft
