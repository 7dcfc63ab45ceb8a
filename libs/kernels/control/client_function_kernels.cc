#include <cstdint>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "libs/base/exceptions.h"
#include "libs/base/status.h"
#include "libs/kernels/control/control_kernels.h"

namespace weft {
namespace {

absl::Status NotThere(const std::string& name, absl::string_view device,
                      const ClientFunctions& functions) {
  const std::string known =
      functions.empty()
          ? "none"
          : absl::StrJoin(functions, ", ", [](std::string* out, const auto& f) {
              absl::StrAppend(out, "'", f.first, "'");
            });
  return absl::NotFoundError(absl::StrCat(
      "client function '", name, "' is not registered on ", device,
      " (registered: ", known,
      "). A client function only exists in the program that passes it to its "
      "Server, Process or Session (client_functions): pin the node to the task "
      "of that program"));
}

// Never OUT_OF_RANGE, which ends a training normally: an index out of bounds is
// an error, in C++ as in Python, whose IndexError does not end a TensorFlow
// training either.
absl::StatusCode CodeOf(const std::exception& exception) {
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) {
    return absl::StatusCode::kResourceExhausted;
  }
  if (dynamic_cast<const std::logic_error*>(&exception) != nullptr) {
    return absl::StatusCode::kInvalidArgument;
  }
  return absl::StatusCode::kUnknown;
}

// Calls `function` and converts any exception to an error.
absl::StatusOr<std::vector<Tensor>> CallCaught(const ClientFunction& function,
                                               const ClientFunctionCall& call) {
  try {
    return function(call);
  } catch (const std::exception& exception) {
    return absl::Status(CodeOf(exception),
                        absl::StrCat("an exception: ", exception.what()));
  } catch (...) {
    return absl::UnknownError("an exception that is not a std::exception");
  }
}

class ClientFunctionKernel : public AsyncOpKernel {
 public:
  ClientFunctionKernel(const OpKernelConstruction& construction,
                       std::string name, ClientFunction function)
      : AsyncOpKernel(construction),
        name_(std::move(name)),
        function_(std::move(function)) {}

  void ComputeAsync(OpKernelContext& context, Done done) override {
    context.scheduler().Schedule(
        Pool::kBlocking, [this, &context, done = std::move(done)]() mutable {
          done(CatchExceptions([&] { return Run(context); }));
        });
  }

 private:
  absl::Status Run(OpKernelContext& context) const {
    RETURN_IF_ERROR(context.cancellation().status());
    std::vector<Tensor> inputs;
    for (int i = 0; i < context.num_inputs(); ++i) {
      inputs.push_back(context.TakeInput(i));
    }
    auto results =
        CallCaught(function_, {.inputs = inputs,
                               .node = context.node_name(),
                               .cancellation = context.mutable_cancellation()});
    if (!results.ok()) {
      return Annotate(results.status(),
                      absl::StrCat("Client function '", name_, "'"));
    }
    return SetOutputs(context, *std::move(results));
  }

  absl::Status SetOutputs(OpKernelContext& context,
                          std::vector<Tensor> results) const {
    const int count = static_cast<int>(results.size());
    if (count != context.num_outputs()) {
      return absl::InvalidArgumentError(absl::StrCat(
          name_, " returns ", count, " values, but expects to see ",
          context.num_outputs(), " values."));
    }
    for (int i = 0; i < count; ++i) {
      if (results[i].dtype() != context.output_type(i)) {
        return absl::InvalidArgumentError(
            absl::StrCat(i, "-th value returned by ", name_, " is ",
                         DataTypeName(results[i].dtype()), ", but expects ",
                         DataTypeName(context.output_type(i))));
      }
    }
    for (int i = 0; i < count; ++i) context.SetOutput(i, std::move(results[i]));
    return absl::OkStatus();
  }

  const std::string name_;
  const ClientFunction function_;
};

}  // namespace

void RegisterClientFunctionKernels(
    KernelRegistry& registry,
    std::shared_ptr<const ClientFunctions> functions) {
  const auto make = [functions = std::move(functions)](
                        const OpKernelConstruction& construction)
      -> absl::StatusOr<std::unique_ptr<OpKernel>> {
    ASSIGN_OR_RETURN(std::string name,
                     construction.GetAttr<std::string>("token"));
    const auto found = functions->find(name);
    if (found == functions->end() || found->second == nullptr) {
      return NotThere(name, construction.device().name(), *functions);
    }
    return std::make_unique<ClientFunctionKernel>(construction, std::move(name),
                                                  found->second);
  };
  for (const char* op : {"PyFunc", "PyFuncStateless", "EagerPyFunc"}) {
    registry.Register({.op = op}, make);
  }
}

}  // namespace weft
