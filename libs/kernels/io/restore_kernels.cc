// Kernels of RestoreV2, and of Restore and RestoreSlice, which occur in graphs
// older than TensorFlow 1.0. All read checkpoints of both formats.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "libs/base/status.h"
#include "libs/checkpoint/checkpoint_reader.h"
#include "libs/checkpoint/tensor_slice.h"
#include "libs/kernels/io/checkpoint_request.h"
#include "libs/kernels/io/file_kernel.h"
#include "libs/kernels/io/io_kernels.h"
#include "libs/ops/io/restore_attrs.h"

namespace weft {
namespace {

using checkpoint::CheckpointReader;
using checkpoint::ParseShapeAndSlice;
using checkpoint::ShapeAndSlice;

absl::StatusOr<std::unique_ptr<CheckpointReader>> Open(
    const OpKernelContext& context, const std::string& prefix) {
  auto reader =
      CheckpointReader::Open(context.file_system(), prefix,
                             &context.cancellation(), context.host_allocator());
  if (!absl::IsNotFound(reader.status())) return reader;
  return absl::NotFoundError(absl::StrCat(
      "Unsuccessful TensorSliceReader constructor: Failed to find any "
      "matching files for ",
      prefix, ": ", reader.status().message()));
}

absl::Status Check(CheckpointReader& reader, const std::string& name,
                   const std::string& text, DataType expected) {
  ASSIGN_OR_RETURN(const auto found, reader.FindTensor(name));
  if (found->dtype != expected) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tensor_name = ", name, "; expected dtype ", DataTypeName(expected),
        " does not equal original dtype ", DataTypeName(found->dtype)));
  }
  if (text.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ShapeAndSlice parsed, ParseShapeAndSlice(text));
  if (parsed.shape == found->shape) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("tensor_name = ", name, "; shape in shape_and_slice spec ",
                   parsed.shape.ToString(),
                   " does not match the shape stored in checkpoint: ",
                   found->shape.ToString()));
}

absl::StatusOr<Tensor> Read(CheckpointReader& reader, const std::string& name,
                            const std::string& text, Allocator& allocator) {
  if (text.empty()) return reader.Read(name, allocator);
  ASSIGN_OR_RETURN(const ShapeAndSlice parsed, ParseShapeAndSlice(text));
  return reader.ReadSlice(name, parsed.slice, allocator);
}

class RestoreKernel : public FileKernel {
 public:
  using FileKernel::FileKernel;

 private:
  virtual absl::StatusOr<CheckpointRequest> ReadRequest(
      OpKernelContext& context) const = 0;
  // The name of output `i` in the checkpoint; `name` is the preferred one.
  virtual std::string NameIn(CheckpointReader&, int,
                             const std::string& name) const {
    return name;
  }

  absl::Status Run(OpKernelContext& context) const override {
    const MeasuredCheckpoint measured(context,
                                      &CheckpointMetrics::restore_seconds,
                                      &CheckpointMetrics::restore_errors);
    return measured.Ended(Restore(context));
  }

  absl::Status Restore(OpKernelContext& context) const {
    constexpr int kMaxReplaced = 3;
    ASSIGN_OR_RETURN(const CheckpointRequest request, ReadRequest(context));
    bool looked_again = false;
    for (int tries = 0;; ++tries) {
      const auto reader = Open(context, request.prefix);
      const absl::Status status =
          reader.ok() ? ReadAll(context, request, **reader) : reader.status();
      if (tries == kMaxReplaced) return status;
      // The error of object stores for a file that was replaced.
      if (absl::IsFailedPrecondition(status)) continue;
      const bool may_be_replaced =
          absl::IsNotFound(status) || absl::IsDataLoss(status);
      if (!reader.ok() || !may_be_replaced) return status;
      // Another save to that prefix deletes the data of the one it replaces,
      // whose files have another number; after two saves the numbers are equal,
      // so a checkpoint that looks damaged is opened and read again.
      const auto newer = Open(context, request.prefix);
      if (absl::IsFailedPrecondition(newer.status())) continue;
      RETURN_IF_ERROR(newer.status());
      if ((*newer)->num_data_files() == (*reader)->num_data_files() &&
          std::exchange(looked_again, true)) {
        return status;
      }
    }
  }

  absl::Status ReadAll(OpKernelContext& context,
                       const CheckpointRequest& request,
                       CheckpointReader& reader) const {
    // All names are checked before the first tensor is read.
    std::vector<std::string> names;
    for (int i = 0; i < context.num_outputs(); ++i) {
      names.push_back(NameIn(reader, i, request.names[i]));
      RETURN_IF_ERROR(Check(reader, names.back(), request.slices[i],
                            context.output_type(i)));
    }
    for (int i = 0; i < context.num_outputs(); ++i) {
      RETURN_IF_ERROR(context.cancellation().status());
      ASSIGN_OR_RETURN(Tensor tensor, Read(reader, names[i], request.slices[i],
                                           context.allocator()));
      if (CheckpointMetrics* const metrics = context.checkpoint_metrics()) {
        metrics->restored_bytes.Add(tensor.num_bytes());
      }
      context.SetOutput(i, std::move(tensor));
    }
    return absl::OkStatus();
  }
};

class RestoreV2Kernel : public RestoreKernel {
 public:
  explicit RestoreV2Kernel(const OpKernelConstruction& construction)
      : RestoreKernel(construction),
        other_names_(
            construction.GetAttr<std::vector<std::string>>(kOtherNamesAttr)
                .value_or(std::vector<std::string>())) {}

 private:
  std::string NameIn(CheckpointReader& reader, int i,
                     const std::string& name) const override {
    const auto output = static_cast<size_t>(i);
    if (output >= other_names_.size() || other_names_[output].empty() ||
        !absl::IsNotFound(reader.FindTensor(name).status())) {
      return name;
    }
    for (const absl::string_view other :
         absl::StrSplit(other_names_[output], '\n')) {
      if (reader.FindTensor(other).ok()) return std::string(other);
    }
    return name;
  }

  absl::StatusOr<CheckpointRequest> ReadRequest(
      OpKernelContext& context) const override {
    return ReadCheckpointRequest(context, context.num_outputs());
  }

  const std::vector<std::string> other_names_;  // empty, or for each output
};

// Restore, and RestoreSlice, which has a third input. Attribute preferred_shard
// names the file to search first; all are searched anyway.
class RestoreOneKernel : public RestoreKernel {
 public:
  using RestoreKernel::RestoreKernel;

 private:
  absl::StatusOr<CheckpointRequest> ReadRequest(
      OpKernelContext& context) const override {
    CheckpointRequest request;
    ASSIGN_OR_RETURN(request.prefix, StringInput(context, 0, "file_pattern"));
    RETURN_IF_ERROR(StringInput(context, 1, "tensor_name").status());
    request.names = context.input(1).flat<std::string>();
    request.slices = absl::MakeConstSpan(&whole_, 1);
    if (context.num_inputs() == 2) return request;
    RETURN_IF_ERROR(StringInput(context, 2, "shape_and_slice").status());
    request.slices = context.input(2).flat<std::string>();
    return request;
  }

  const std::string whole_;
};

}  // namespace

void RegisterRestoreKernels(KernelRegistry& registry) {
  registry.Register<RestoreV2Kernel>("RestoreV2");
  registry.Register<RestoreOneKernel>("Restore");
  registry.Register<RestoreOneKernel>("RestoreSlice");
}

}  // namespace weft
